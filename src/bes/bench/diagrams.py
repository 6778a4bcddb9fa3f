"""The critical-difference diagram: mean ranks on a line, with bars over methods that cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bes.bench.ranks import Ranks
from bes.errors import InputError
from bes.report.figures import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colours of the bars, and of the marked method's leader.
BAR, MARK = COLORS[0], COLORS[5]

#: Inches: from row to row, from bar to bar, around all, along which a leader runs outside the ranks, and up to a text.
ROW, LEVEL, MARGIN, RUN, GAP = 0.24, 0.1, 0.12, 0.42, 0.06

#: Inches of the ranks' line: at least, and for each step of one rank.
LINE, STEP = 3.4, 0.3

#: Points of the letters: of names and title, and of numbers.
NAMES, NUMBERS = 9, 7.5


@dataclass(frozen=True)
class Layout:
    """Where things stand, in inches: `line` is the height of the ranks' line, `rows` that of the first label."""

    width: float
    height: float
    left: float
    step: float
    right: float
    line: float
    rows: float

    def x(self, rank: float) -> float:
        return self.left + (rank - 1) * self.step


def critical_difference(ranks: Ranks, title: str = "", mark: str | None = None) -> Figure:
    """A matplotlib `Figure` of the ranks; the name of the method `mark` is bold.

    Best methods stand left and top. A bar joins each group of methods that do not differ by more than the critical
    difference, which is drawn above the line.
    """
    if mark is not None and mark not in ranks.methods:
        raise InputError(f"mark is {mark!r}, which was not ranked: give one of {', '.join(ranks.methods)}.")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(
            "critical_difference draws with matplotlib, which is not installed: pip install 'bes-graph[figures]'."
        ) from error
    figure = Figure()
    FigureCanvasAgg(figure)
    levels = bar_levels(ranks)
    at = _layout(figure, ranks, title, mark, 1 + max(levels, default=-1))
    figure.set_size_inches(at.width, at.height)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, at.width), ylim=(0, at.height))
    axes.set_axis_off()
    _line(axes, at, ranks, title)
    for place, method in enumerate(ranks.methods):
        _leader(axes, at, ranks, place, method == mark)
    for group, level in zip(ranks.groups, levels, strict=True):
        height = at.line - LEVEL * (level + 1)
        ends = _ends(at, ranks, group)
        axes.plot(ends, [height] * 2, color=BAR, lw=3.2, solid_capstyle="butt", zorder=3, gid="group")
    return figure


def bar_levels(ranks: Ranks) -> list[int]:
    """The level of each group's bar under the line: the first where it touches no other."""
    room = 0.16 / _step(ranks)  # the ends of two bars on one level stay apart
    reached: list[float] = []
    levels = []
    for group in ranks.groups:
        low, high = ranks.average[group[0]], ranks.average[group[-1]]
        level = next((i for i, end in enumerate(reached) if end + room < low), len(reached))
        reached[level : level + 1] = [high]
        levels.append(level)
    return levels


def _ends(at: Layout, ranks: Ranks, group: tuple[str, ...]) -> tuple[float, float]:
    """Where a bar ends: a little outside its group, and short of the next method's leader."""
    low, high = (at.x(ranks.average[method]) for method in (group[0], group[-1]))
    others = [at.x(average) for method, average in ranks.average.items() if method not in group]
    before = min((low - x for x in others if x < low), default=1.0)
    after = min((x - high for x in others if x > high), default=1.0)
    return low - min(0.04, before / 2), high + min(0.04, after / 2)


def _step(ranks: Ranks) -> float:
    """Inches from one rank to the next."""
    return max(STEP, LINE / max(len(ranks.methods) - 1, 1))


def _layout(figure: Any, ranks: Ranks, title: str, mark: str | None, levels: int) -> Layout:
    k = len(ranks.methods)
    half = (k + 1) // 2
    wide = [_wide(figure, method, method == mark) for method in ranks.methods]
    step = _step(ranks)
    line = step * (k - 1)
    left = MARGIN + max(wide[:half]) + GAP + RUN
    right = max(wide[half:], default=0) + GAP + RUN + MARGIN
    beyond = (ranks.critical or 0) * step - line + 0.1  # few data sets: the critical difference is longer than the line
    width = left + line + max(right, beyond)
    spare = max(0.0, _wide(figure, title, True) + 2 * MARGIN - width)  # a title wider than all else: in the middle
    left += spare / 2
    rows = LEVEL * levels + 0.26
    line_height = MARGIN + ROW * half + rows - ROW / 2
    above = 0.3 + (0.3 if ranks.critical is not None else 0) + (0.22 + 0.16 * title.count("\n") if title else 0)
    height = line_height + above + MARGIN
    return Layout(width + spare, height, left, step, left + line, line_height, line_height - rows)


def _wide(figure: Any, text: str, bold: bool) -> float:
    """Inches that a text takes: margins are as wide as the longest name, so that none is cut."""
    drawn = figure.text(0, 0, text, size=NAMES, weight="bold" if bold else "normal", parse_math=False)
    width = float(drawn.get_window_extent(figure.canvas.get_renderer()).width / figure.dpi)
    drawn.remove()
    return width


def _line(axes: Any, at: Layout, ranks: Ranks, title: str) -> None:
    """The ranks' line with its ticks, and above it the critical difference and the title."""
    axes.plot([at.left, at.right], [at.line] * 2, color="black", lw=1, solid_capstyle="projecting")
    for rank in range(1, len(ranks.methods) + 1):
        axes.plot([at.x(rank)] * 2, [at.line, at.line + 0.07], color="black", lw=1)
        axes.text(at.x(rank), at.line + 0.1, str(rank), ha="center", va="bottom", size=NUMBERS)
    top = at.line + 0.36
    if ranks.critical is not None:
        _ruler(axes, at.left, at.x(1 + ranks.critical), top)
        label = f"CD = {ranks.critical:.2f}"
        axes.text((at.left + at.x(1 + ranks.critical)) / 2, top + 0.05, label, ha="center", va="bottom", size=NUMBERS)
    if title:
        height = at.height - MARGIN
        axes.text(at.width / 2, height, title, ha="center", va="top", size=NAMES, weight="bold", parse_math=False)


def _ruler(axes: Any, low: float, high: float, height: float) -> None:
    axes.plot([low, high], [height] * 2, color="black", lw=1.4, gid="critical")
    for end in (low, high):
        axes.plot([end] * 2, [height - 0.04, height + 0.04], color="black", lw=1.4)


def _leader(axes: Any, at: Layout, ranks: Ranks, place: int, bold: bool) -> None:
    """From a rank down and out to its name: the outermost stand highest on either side, so that no two cross."""
    method, k = ranks.methods[place], len(ranks.methods)
    side, row = (-1, place) if place < (k + 1) // 2 else (1, k - 1 - place)
    x, y = at.x(ranks.average[method]), at.rows - ROW * row
    end = at.left - RUN if side < 0 else at.right + RUN
    style = {"color": MARK if bold else "black", "lw": 1.5 if bold else 0.8, "zorder": 2 if bold else 1}
    axes.plot([x, x, end], [at.line, y, y], solid_joinstyle="miter", gid="leader", **style)
    near, far = ("right", "left") if side < 0 else ("left", "right")
    weight = "bold" if bold else "normal"
    axes.text(end + side * GAP, y, method, ha=near, va="center_baseline", size=NAMES, weight=weight, parse_math=False)
    axes.text(end, y + 0.02, f"{ranks.average[method]:.2f}", ha=far, va="bottom", size=NUMBERS - 1, color="0.3")
