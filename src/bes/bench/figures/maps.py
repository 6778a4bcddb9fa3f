"""Maps of embeddings by t-SNE: the shaping layer by layer, the encoders, and what the decoders make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bes.bench.figures import drawing
from bes.bench.figures.drawing import SMALL, TEXT, WIDE
from bes.bench.figures.stages import Stages
from bes.errors import InputError
from bes.graph.arrays import Array
from bes.report.maps import row_class_names
from bes.report.outcomes import ARMS
from bes.stored import StoredRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How t-SNE's gradient goes on after the early exaggeration.
ITERATIONS = 500

#: How encoders are written.
NAMES = {"gatv2": "GATv2", "sage": "GraphSAGE", "cheb": "Cheb", "linear": "Linear"}


def shared_map(before: Array, *later: Array, seed: int = 0, iterations: int = ITERATIONS) -> list[Array]:
    """Positions `[N, 2]` of each stage in one map: t-SNE of `before`, in which the later rows are placed.

    The later stages do not change the map: each of their rows settles among the rows of `before` that it is now
    nearest to, so that what moved in the picture has changed its neighbours. Rows that share those neighbours lie on
    top of one another: a stage that looks thinner has not lost rows.

    Args:
        before: The embedding `[N, D]` that makes the map.
        later: Embeddings of the same width.
        seed: Of the map; the same one gives the same positions.
        iterations: Of the gradient; half as many come before them with exaggerated attraction.
    """
    if len(before) < 4:
        raise InputError(f"A map needs at least 4 rows, and there are {len(before)}: draw a larger graph.")
    tsne = drawing.need("openTSNE").TSNE(
        perplexity=min(30, (len(before) - 1) / 3),
        initialization="pca",
        neighbors="exact",
        negative_gradient_method="bh",
        early_exaggeration_iter=iterations // 2,
        n_iter=iterations,
        random_state=seed,
        n_jobs=1,
    )
    made = tsne.fit(np.asarray(before, dtype=np.float64))
    placed = [made.transform(np.asarray(z, dtype=np.float64), perplexity=min(5, (len(before) - 1) / 3)) for z in later]
    middle = np.asarray(made).mean(0)  # to place rows shifts the map itself
    return [np.asarray(one) - middle for one in (made, *placed)]


def shaping_process(runs: Sequence[tuple[str, StoredRun]], seed: int, *, iterations: int = ITERATIONS) -> Figure:
    """A row a data set, a panel a stage, in one map; ringed are the boundary nodes of the embedding shown.

    Those are what the next layer found, and in the last panel what one more layer would find.
    """
    found = [(name, run, Stages.of(run, seed)) for name, run in runs]
    columns = max(len(stages.z) for _, _, stages in found)
    figure = drawing.new_figure(WIDE, 0.1 + (WIDE - 1.0) / columns * len(found) + 0.16 * len(found))
    axes = figure.subplots(len(found), columns, squeeze=False)
    for row, (name, run, stages) in zip(axes, found, strict=True):
        drawn = stages.drawn()
        y = stages.y[drawn]
        flat = shared_map(*(z[drawn] for z in stages.z), seed=seed, iterations=iterations)
        drawing.square(row, flat)
        for ax, at, ring in zip(row, flat, stages.at, strict=False):
            drawing.points(ax, at, y)
            drawing.rings(ax, at[ring[drawn]], drawing.dot_size(len(y)))
            drawing.bare(ax)
            ax.set_xlabel(f"{ring.sum()} boundary nodes", fontsize=SMALL, labelpad=2)
        for ax in row[len(flat) :]:
            ax.set_axis_off()
        row[0].set_ylabel(name, fontsize=TEXT)
        drawing.beside(row[-1], [*_keys(run, y), drawing.ring_key()])
    for column, ax in enumerate(axes[0]):
        ax.set_title(f"after layer {column}" if column else "before shaping", fontsize=TEXT, pad=3)
    return figure


def encoders(run: StoredRun, seed: int, *, iterations: int = ITERATIONS) -> Figure:
    """What each encoder alone sees, and all side by side, before shaping; each panel is a map of its own."""
    stages = Stages.of(run, seed)
    drawn = stages.drawn()
    y, names = stages.y[drawn], run.config.encoders.names
    views = np.split(stages.z[0][drawn], len(names), axis=1)
    titles = [NAMES.get(name, name.upper()) for name in names]
    if len(names) > 1:
        views, titles = [*views, stages.z[0][drawn]], [*titles, " + ".join(titles)]
    figure = drawing.new_figure(WIDE, 0.3 + (WIDE - 0.8) / max(3, len(views)))
    panels = figure.subplots(1, len(views), squeeze=False)[0]
    for letter, ax, view, title in zip("abcdefghijkl", panels, views, titles, strict=False):
        _map(ax, shared_map(view, seed=seed, iterations=iterations)[0], y)
        ax.set_xlabel(f"({letter}) {title}", fontsize=TEXT, labelpad=3)
    drawing.beside(panels[-1], _keys(run, y))
    return figure


def final_embeddings(runs: Sequence[tuple[str, StoredRun]], seed: int, *, iterations: int = ITERATIONS) -> Figure:
    """The decoder's hidden layer without and with shaping; test nodes that are predicted wrongly have a cross.

    The two arms are different networks with different hidden spaces, so that each panel is a map of its own: places
    in one say nothing about places in the other.
    """
    side = 2.3
    figure = drawing.new_figure(2 * side + 1.0, (side + 0.25) * len(runs))
    axes = figure.subplots(len(runs), len(ARMS), squeeze=False)
    for row, (name, run) in zip(axes, runs, strict=True):
        stages = Stages.of(run, seed)
        drawn, y = stages.drawn(), stages.y
        for ax, arm in zip(row, ARMS, strict=True):
            at = shared_map(hidden(run, seed, arm)[drawn], seed=seed, iterations=iterations)[0]
            _map(ax, at, y[drawn])
            wrong, tested = _wrong(run, seed, arm)
            crossed = at[wrong[drawn]]
            ax.scatter(
                crossed[:, 0], crossed[:, 1], s=13, c=drawing.INK, marker="x", linewidths=0.6, zorder=4, gid="crosses"
            )
            ax.set_xlabel(f"{wrong.sum()} of {tested} test nodes wrong", fontsize=SMALL, labelpad=2)
        row[0].set_ylabel(name, fontsize=TEXT)
        cross = drawing.key("wrong test node", marker="x", edgecolors=drawing.INK, linewidths=0.7)
        drawing.beside(row[-1], [*_keys(run, y[drawn]), cross])
    for ax, title in zip(axes[0], ("without shaping", "with shaping"), strict=True):
        ax.set_title(title, fontsize=TEXT, pad=3)
    return figure


def hidden(run: StoredRun, seed: int, arm: str) -> Array:
    """The hidden layer of an arm's decoder `[N, H]`, on the embeddings that the run left."""
    if run.config.task != "node":
        raise InputError(f"The run in {run.path} predicts pairs, and its decoders were not kept: give a run of nodes.")
    rows = run.rows(seed)
    net = run.model(seed, "cpu").decoders[arm].net_
    z = torch.from_numpy(rows["after" if arm == "bes" else "before"])
    with torch.no_grad():
        propagated = net.conv1.propagate(z, run.graph.operators)
        found: Array = net.norm(net.conv1.transform(propagated)).relu().numpy()
    return found


def _wrong(run: StoredRun, seed: int, arm: str) -> tuple[Array, int]:
    """The test nodes that the arm predicts wrongly, bool `[N]`, and how many have a class to be tested by."""
    y, test = run.graph.y.cpu().numpy(), run.split(seed)["test"]
    test = test[y[test] >= 0]
    wrong = np.zeros(len(y), dtype=bool)
    wrong[test] = run.predictions(seed, arm)["prob"].argmax(1)[test] != y[test]
    return wrong, len(test)


def _map(ax: Axes, at: Array, y: Array) -> None:
    """One map in its own square."""
    drawing.square([ax], [at])
    drawing.points(ax, at, y)
    drawing.bare(ax)


def _keys(run: StoredRun, y: Array) -> list[Any]:
    return drawing.class_keys(row_class_names(run), [int(c) for c in np.unique(y) if c >= 0])
