"""Convergence: what validation says and what the shaper loses, by the second."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bes.bench.figures import drawing
from bes.bench.figures.drawing import DASHES, SMALL, TEXT, WIDE
from bes.errors import InputError
from bes.graph.arrays import Array
from bes.report.figures import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels beside one another, at most.
ACROSS = 4

#: Seconds are drawn on a logarithmic axis where the last is so many times the first.
LONG = 20.0

CONTROL = "control"


def convergence(runs: Mapping[str, Mapping[str, dict[str, Any]]]) -> Figure:
    """By data set: above, the decoder's score on validation; below, the loss of the shaping; both by the second.

    Seconds are those of the arm itself: what its run spent on the other arm before is taken off.

    A line a setting. One called `control` is read from the decoder of the arm without shaping; where there is none,
    the first setting that recorded such a decoder gives it.

    Args:
        runs: Curves by panel and by setting, such as `runs["Cora NC"]["L1"]`. Curves have `stages`, each with `name`,
            `seconds` since the run began, `loss` and `score`, whose entries may be None.
    """
    if not runs:
        raise InputError("There are no curves to draw: give at least one data set.")
    columns = min(ACROSS, len(runs))
    bands = math.ceil(len(runs) / columns)
    figure = drawing.new_figure(max(drawing.COLUMN, WIDE / ACROSS * columns), 0.25 + 2.6 * bands)
    axes = figure.subplots(2 * bands, columns, squeeze=False, height_ratios=[1.2, 1.0] * bands)
    settings = list(dict.fromkeys(setting for panel in runs.values() for setting in _with_control(panel)))
    used: dict[str, Any] = {}
    for place, (name, panel) in enumerate(runs.items()):
        band, column = divmod(place, columns)
        score, loss = axes[2 * band, column], axes[2 * band + 1, column]
        for setting, curves in _with_control(panel).items():
            look = _look(settings.index(setting))
            arm = CONTROL if setting == CONTROL else "bes"
            used[setting] = _line(score, curve(curves, f"decoder of {arm}", "score"), look, setting)
            if setting != CONTROL:
                _line(loss, curve(curves, "shaping of bes", "loss"), look, setting)
        score.set_title(name, fontsize=TEXT, pad=3)
        _finish(score, "validation score" if column == 0 else "")
        _finish(loss, "shaping loss" if column == 0 else "")
        _seconds(score, loss)
    for ax in axes[2 * bands - 2 :, len(runs) - (bands - 1) * columns :].flat:
        ax.set_axis_off()
    keys = [used[setting] for setting in settings]
    drawing.legend(figure, keys, "outside upper center", ncols=len(keys), handlelength=2.4, handletextpad=0.5)
    return figure


def curve(curves: dict[str, Any], stage: str, what: str) -> tuple[Array, Array]:
    """Seconds of the arm and values of a stage, where they were measured; empty where there is no such stage."""
    found = next((one for one in curves["stages"] if one["name"] == stage), None)
    if found is None:
        return np.empty(0), np.empty(0)
    seconds = np.asarray(found["seconds"], dtype=np.float64)
    values = np.asarray([math.nan if value is None else value for value in found[what]], dtype=np.float64)
    if len(seconds) != len(values):
        raise InputError(
            f"The curves of stage '{stage}' have {len(seconds)} seconds and {len(values)} of {what}: run it again."
        )
    here = np.isfinite(values)
    return seconds[here] - _elsewhere(curves, stage), values[here]


def _elsewhere(curves: dict[str, Any], stage: str) -> float:
    """The seconds that went into another arm before this stage: a run trains its arms one after another."""
    arm, end, spent = stage.rpartition(" of ")[2], 0.0, 0.0
    for one in curves["stages"]:
        if one["name"] == stage:
            break
        whose, last = one["name"].rpartition(" of "), max([end, *one["seconds"][-1:]])
        spent += last - end if whose[1] and whose[2] != arm else 0.0
        end = last
    return spent


def _with_control(panel: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings of a panel, and the control that one of them recorded."""
    paired = (curves for curves in panel.values() if curve(curves, f"decoder of {CONTROL}", "score")[0].size)
    first = next(paired, None)
    return dict(panel) if CONTROL in panel or first is None else {**panel, CONTROL: first}


def _look(place: int) -> dict[str, Any]:
    colors = (COLORS[0], COLORS[5], COLORS[2], COLORS[3], COLORS[7])
    return {"color": colors[place % len(colors)], "linestyle": DASHES[place % len(DASHES)], "linewidth": 1.0}


def _line(ax: Axes, points: tuple[Array, Array], look: dict[str, Any], label: str) -> Any:
    return ax.plot(*points, label=label, gid=label, **look)[0]


def _finish(ax: Axes, label: str) -> None:
    """Axes as the curves in them want them."""
    drawing.open_frame(ax)
    ax.set_ylabel(label, fontsize=SMALL, labelpad=2)
    ax.locator_params(axis="y", nbins=5)


def _seconds(above: Axes, below: Axes) -> None:
    """One axis of time for both panels: the decoder begins where the shaping ends."""
    lines = [*above.get_lines(), *below.get_lines()]
    every = np.concatenate([np.empty(0), *(np.asarray(line.get_xdata()) for line in lines)])
    every = every[every > 0]
    below.sharex(above)
    if every.size and every.max() > LONG * every.min():
        above.set_xscale("log")
    else:
        above.locator_params(axis="x", nbins=4)
    if every.size:
        above.set_xlim(_limits(every.min(), every.max(), above.get_xscale()))
    above.tick_params(labelbottom=False, which="both")
    below.set_xlabel("seconds", fontsize=SMALL, labelpad=2)


def _limits(first: float, last: float, scale: str) -> tuple[float, float]:
    """A twentieth more than what is shown, on either side."""
    if scale == "log":
        more = (last / first) ** 0.05
        return first / more, last * more
    more = (last - first) / 20 or 1.0
    return first - more, last + more
