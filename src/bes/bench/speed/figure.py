"""The picture of speed: ratios, shares of the limits, growth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bes.bench.figures.drawing import MARKERS, SMALL, SOFT, TEXT, WIDE, new_figure, open_frame
from bes.bench.speed.kept import Line
from bes.report.figures import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(lines: Sequence[Line]) -> Figure:
    """A panel a part that was measured."""
    parts = {kind: [line for line in lines if line["kind"] == kind] for kind in ("conv-step", "roofline", "growth")}
    shown = [kind for kind, found in parts.items() if found] or ["conv-step"]
    figure = new_figure(WIDE, 2.6)
    panels = {"conv-step": _ratios, "roofline": _shares, "growth": _growth}
    for place, kind in enumerate(shown, start=1):
        ax = figure.add_subplot(1, len(shown), place)
        open_frame(ax)
        panels[kind](ax, parts[kind])
    return figure


def _ratios(ax: Axes, lines: Sequence[Line]) -> None:
    names = list(dict.fromkeys(line["name"] for line in lines))
    for i, graph in enumerate(dict.fromkeys(line["graph"] for line in lines)):
        mine = [line for line in lines if line["graph"] == graph]
        at = [names.index(line["name"]) + 0.25 * (i - 1) for line in mine]
        ax.bar(at, [line["ratio"] for line in mine], 0.25, color=COLORS[i], label=graph)
    ax.axhline(1, color=SOFT, linewidth=0.6)
    ax.set_yscale("log")
    ax.set_xticks(range(len(names)), names, rotation=60)
    ax.set_title("PyG's step / ours", fontsize=TEXT)
    ax.legend(fontsize=SMALL, frameon=False)


def _shares(ax: Axes, lines: Sequence[Line]) -> None:
    shares = [line for line in lines if line["ratio"] is not None]
    names = [line["name"].removeprefix("sparse product, ") for line in shares]
    ax.barh(names, [100 * line["ratio"] for line in shares], color=COLORS[0])
    ax.invert_yaxis()
    ax.set_title("percent of the limit", fontsize=TEXT)


def _growth(ax: Axes, lines: Sequence[Line]) -> None:
    for i, name in enumerate(dict.fromkeys(line["name"] for line in lines)):
        mine = sorted((line for line in lines if line["name"] == name), key=lambda line: int(line["nodes"]))
        seconds = [line["ours_ms"] / 1000 for line in mine]
        look: dict[str, Any] = {
            "color": COLORS[i % len(COLORS)],
            "marker": MARKERS[i % len(MARKERS)],
            "markersize": 3,
            "linewidth": 1,
        }
        ax.plot([line["nodes"] for line in mine], seconds, label=name, **look)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_title("seconds by nodes", fontsize=TEXT)
    ax.legend(fontsize=SMALL - 1.5, frameon=False)
