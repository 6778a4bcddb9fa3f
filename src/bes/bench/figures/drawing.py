"""What all figures share: sizes of a printed page, points by class, rings, legends beside the points."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bes.errors import InputError
from bes.graph.arrays import Array
from bes.report.figures import COLORS, class_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: a page's text, and one of its two columns.
WIDE, COLUMN = 6.75, 3.25

#: Points: of text, and of what stands beside axes.
TEXT, SMALL = 8.0, 7.0

#: Symbols in the order of the report's page, and what joins the points of a line.
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")

INK, SOFT, PALE = "#000000", "#808080", "#D9D9D9"

#: Points of a class are drawn in turns, so that no class lies on top of the others.
TURNS = 8

#: Above so many points an SVG holds them as an image of 300 dpi: its text and lines stay as they are.
AS_IMAGE = 1_000

#: Names in a legend that are longer are cut.
LONGEST = 22


def need(module: str) -> Any:
    """An optional module, or a sentence on how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(f"Figures need {package}, which is not here: pip install 'bes-graph[figures]'.") from None


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, whose panels make room for their labels."""
    engine = need("matplotlib.layout_engine").ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)
    figure: Figure = need("matplotlib.figure").Figure(figsize=(width, height), layout=engine)
    return figure


def style(c: int) -> dict[str, Any]:
    """Colour and symbol of class `c` as matplotlib wants them; unknown classes are pale dots."""
    if c < 0:
        return {"c": PALE, "marker": "o", "linewidths": 0.0}
    color, symbol = class_style(c)
    light = COLORS[color] == "#F0E442"  # yellow is lost on white without an edge
    edge = {"edgecolors": "#A89C00", "linewidths": 0.2} if light else {"linewidths": 0.0}
    return {"c": COLORS[color], "marker": MARKERS[symbol], **edge}


def dot_size(n: int) -> float:
    """Area of a point in square points where a panel shows `n`."""
    return float(np.clip(9_000 / max(1, n), 3.5, 14.0))


def points(ax: Axes, at: Array, y: Array, *, size: float | None = None, alpha: float = 0.8) -> None:
    """Points `[n, 2]` by the look of their class `[n]`; unknown classes first, below the others."""
    size = dot_size(len(y)) if size is None else size
    turn = np.random.default_rng(0).integers(TURNS, size=len(y))
    turn[y < 0] = -1
    for part in np.unique(turn):
        for c in np.unique(y[turn == part]):
            here = at[(turn == part) & (y == c)]
            look = {**style(int(c)), "alpha": alpha, "rasterized": len(y) > AS_IMAGE}
            ax.scatter(here[:, 0], here[:, 1], s=size, zorder=2, gid="points", **look)


def rings(ax: Axes, at: Array, size: float) -> None:
    """A ring around each of the points `[n, 2]`, whose own area is `size`."""
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.55}
    ax.scatter(at[:, 0], at[:, 1], s=4 * size + 4, marker="o", zorder=4, gid="rings", **look)


def bare(ax: Axes) -> None:
    """No ticks, a thin frame: positions of a map have no unit."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color=SOFT, linewidth=0.5)


def open_frame(ax: Axes) -> None:
    """Left and bottom axes only, in the small text."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_linewidth(0.6)
    ax.tick_params(labelsize=SMALL, width=0.6, length=2.5, which="major")
    ax.tick_params(width=0.4, length=1.5, which="minor")


def square(panels: Sequence[Axes], stages: Sequence[Array]) -> None:
    """The same square limits around all stages in all panels."""
    every = np.concatenate(list(stages))
    low, high = every.min(0), every.max(0)
    middle, half = (low + high) / 2, 0.53 * float((high - low).max() or 1.0)
    for ax in panels:
        ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), box_aspect=1)


def class_keys(names: Sequence[str], classes: Sequence[int]) -> list[Any]:
    """The legend's keys of these classes; a bare number is called a class."""
    return [key(_called(names[c] if c < len(names) else str(c)), **style(c)) for c in classes]


def ring_key(label: str = "boundary node") -> Any:
    return key(label, marker="o", facecolors="none", edgecolors=INK, linewidths=0.7)


def key(label: str, **look: Any) -> Any:
    """A symbol with its meaning, for a legend; its look is told as to `scatter`."""
    face = look.get("facecolors", look.get("c", INK))
    edge = look.get("edgecolors", face)
    width = look.get("linewidths", 0.0)
    marked = {"markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": width}
    line = need("matplotlib.lines").Line2D
    return line([], [], linestyle="none", marker=look["marker"], markersize=4.5, label=label, **marked)


def legend(where: Any, keys: Sequence[Any], loc: str, **more: Any) -> Any:
    """A legend without frame; `where` is a figure, or axes beside which it stands."""
    look: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "handletextpad": 0.2, "borderaxespad": 0.2, **more}
    look.setdefault("handlelength", 1.2)
    return where.legend(handles=list(keys), loc=loc, **look)


def beside(ax: Axes, keys: Sequence[Any]) -> None:
    """The legend to the right of the panel, in two columns where it is long."""
    legend(ax, keys, "center left", bbox_to_anchor=(1.01, 0.5), ncols=1 + len(keys) // 14, labelspacing=0.35)


def _called(name: str) -> str:
    name = f"class {name}" if name.isdigit() else name
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
