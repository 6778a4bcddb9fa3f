"""Sensitivity: a metric over the values of one parameter at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bes.bench.figures import drawing
from bes.bench.figures.drawing import DASHES, MARKERS, SMALL, TEXT, WIDE
from bes.bench.fill import FilledSheet
from bes.errors import InputError
from bes.report.figures import COLORS
from bes.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels beside one another, at most.
ACROSS = 4

#: Share of a step by which lines stand apart, so that their error bars do not cover one another.
APART = 0.07

#: Colours that carry a line on white.
LINES = (COLORS[0], COLORS[5], COLORS[2], COLORS[3], COLORS[1], COLORS[4], COLORS[7])


#: How parameters are written.
GREEK = {"tau": r"$\tau$", "delta": r"$\delta$", "alpha": r"$\alpha$", "beta": r"$\beta$"}


def sensitivity(
    filled: Sequence[FilledSheet],
    defaults: Mapping[str, str] | None = None,
    *,
    against: str | None = "no shaping",
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """A panel a parameter, a line a data set, bars of one standard error; values stand at even steps.

    Args:
        filled: A sheet a parameter: rows are data sets, columns its values.
        defaults: By the name of the sheet the column that is the default, which is marked by a star.
        against: The column of the control: differences to it are drawn, paired by seed. Where no sheet has it, or it
            is None, values are drawn as they are.
        labels: What stands below a panel, by the name of its sheet; the parameter where nothing is said.
    """
    if not filled:
        raise InputError("There is no sheet to draw: give at least one parameter.")
    defaults, labels = defaults or {}, labels or {}
    if not any(against in one.sheet.columns for one in filled):
        against = None
    rows = list(dict.fromkeys(row for one in filled for row in one.sheet.rows))
    columns = min(ACROSS, len(filled))
    height = math.ceil(len(filled) / columns)
    figure = drawing.new_figure(max(drawing.COLUMN, WIDE / ACROSS * columns), 0.3 + 1.75 * height)
    axes = figure.subplots(height, columns, squeeze=False, sharey=against is not None).ravel()
    for ax, one in zip(axes, filled, strict=False):
        _panel(ax, one, rows, defaults.get(one.sheet.name), against)
        ax.set_xlabel(labels.get(one.sheet.name, _parameter(one)), fontsize=TEXT, labelpad=2)
    for ax in axes[::columns]:
        ax.set_ylabel(_measured(filled[0], against), fontsize=SMALL, labelpad=2)
    for ax in axes[len(filled) :]:
        ax.set_axis_off()
    _legend(figure, rows, stars=any(one.sheet.name in defaults for one in filled))
    return figure


def _panel(ax: Axes, one: FilledSheet, rows: Sequence[str], default: str | None, against: str | None) -> None:
    columns = [column for column in one.sheet.columns if column != against]
    if default is not None and default not in columns:
        raise InputError(f"The default {default} of {one.sheet.name} is none of its columns: {', '.join(columns)}.")
    if against is not None:
        ax.axhline(0.0, color=drawing.SOFT, linewidth=0.6, zorder=1)
    for row in one.sheet.rows:
        place = rows.index(row)
        shift = APART * (place - (len(rows) - 1) / 2)
        found = [(x, column, _summary(one, row, column, against)) for x, column in enumerate(columns)]
        seen = [(x + shift, s.mean, s.error or 0.0, column == default) for x, column, s in found if s.mean is not None]
        if not seen:
            continue
        at, mean, error, stars = zip(*seen, strict=True)
        ax.errorbar(at, mean, error, elinewidth=0.7, capsize=1.5, capthick=0.6, gid=row, **_look(place))
        star: dict[str, Any] = {"color": LINES[place % len(LINES)], "markeredgecolor": "white", "markeredgewidth": 0.4}
        if any(stars):
            here = stars.index(True)
            ax.plot([at[here]], [mean[here]], marker="*", markersize=9, zorder=5, gid="default", **star)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_xlim(-0.4, len(columns) - 0.6)
    drawing.open_frame(ax)
    ax.locator_params(axis="y", nbins=5)


def _summary(one: FilledSheet, row: str, column: str, against: str | None) -> Summary:
    """Of a cell's values, or of their differences to the control in the seeds that both have."""
    values = _values(one, row, column)
    if against is not None:
        control = _values(one, row, against)
        values = {seed: value - control[seed] for seed, value in values.items() if seed in control}
    return Summary.of([values[seed] for seed in sorted(values)])


def _values(one: FilledSheet, row: str, column: str) -> dict[int, float]:
    cell = one.at(row, column)
    return {} if cell is None else cell.values


def _parameter(one: FilledSheet) -> str:
    name = one.sheet.name.rpartition("-")[2]
    return GREEK.get(name, one.sheet.title)


def _look(place: int) -> dict[str, Any]:
    color, marker = LINES[place % len(LINES)], MARKERS[place % (len(MARKERS) - 1)]  # the star is the default
    return {
        "color": color,
        "linestyle": DASHES[place % len(DASHES)],
        "linewidth": 1.0,
        "marker": marker,
        "markersize": 3.2,
    }


def _measured(one: FilledSheet, against: str | None) -> str:
    """What is drawn, with its unit where that is percent."""
    metric = next((cell.ask.metric for cell in one.sheet.cells if cell.ask is not None), None)
    name, percent = ("value", False) if metric is None else (metric.name, metric.scale == 100.0)
    if against is not None:
        return f"{name} against\n{against}" + (", points" if percent else "")
    return f"{name}, %" if percent else name


def _legend(figure: Figure, rows: Sequence[str], *, stars: bool) -> None:
    line = drawing.need("matplotlib.lines").Line2D
    keys = [line([], [], label=row, **_look(place)) for place, row in enumerate(rows)]
    if stars:
        keys.append(line([], [], linestyle="none", marker="*", markersize=7, color=drawing.SOFT, label="default"))
    ncols = min(6, len(keys))
    drawing.legend(figure, keys, "outside upper center", ncols=ncols, handlelength=2.4, handletextpad=0.5)
