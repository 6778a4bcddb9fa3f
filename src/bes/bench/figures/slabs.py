"""The boundary region of Eq. 5 as it is: a hyperplane between two classes, its slab, and the nodes around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bes.bench.figures import drawing
from bes.bench.figures.drawing import SMALL, TEXT, WIDE
from bes.bench.figures.stages import POINTS, Stages, boundary_of, told
from bes.core.boundary import Slabs
from bes.errors import InputError
from bes.graph.arrays import Array
from bes.pipeline.results import make_shaper
from bes.report.maps import row_class_names, sample
from bes.stored import StoredRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SlabPlane:
    """The plane in which the slab between two classes is drawn.

    The first axis is what Eq. 5 measures: normal . z - offset, so that the hyperplane is at 0 and the slab from -delta
    to delta. The second is the direction, at a right angle to the normal, in which the two classes vary most.

    Attributes:
        pair: The two classes.
        slab: Their slab alone, as the shaper has it.
        across: The second axis, a unit vector `[D]`.
    """

    pair: tuple[int, int]
    slab: Slabs
    delta: float
    across: torch.Tensor

    @classmethod
    def of(cls, run: StoredRun, seed: int, pair: tuple[int, int] | None = None) -> SlabPlane:
        """The plane of the embedding that goes into the shaper; `pair` is that with the most boundary nodes."""
        rows, options = run.rows(seed), make_shaper(run.config, seed)
        z, labels = torch.from_numpy(rows["before"]), told(run, seed, rows)
        found = boundary_of(run, seed, rows["before"], rows)
        sums, sigma = found.sums, found.sums.covariance(options.covariance, options.shrinkage)
        pairs = torch.combinations(sums.present.nonzero().flatten(), 2)
        if pair is None and len(pairs):
            every = Slabs.between(sums.means, sigma, sums.present, options.origin)
            pair = _busiest(every, pairs, z[found.nodes], labels[found.nodes], options.delta)
        if pair is None or sorted(pair) not in pairs.tolist():
            raise InputError(f"The run in {run.path} has no two such classes in training: a slab lies between two.")
        both = torch.zeros_like(sums.present)
        both[list(pair)] = True
        slab = Slabs.between(sums.means, sigma, both, options.origin)
        return cls(pair, slab, options.delta, _across(slab.normal[0], z[torch.isin(labels, torch.tensor(pair))]))

    def place(self, z: Array) -> Array:
        """Rows `[N, D]` in the plane `[N, 2]`."""
        wide = torch.from_numpy(z).to(self.slab.normal)
        along = wide @ self.slab.normal.T - self.slab.offset
        return torch.cat([along, (wide @ self.across)[:, None]], dim=1).numpy()

    def contains(self, z: Array) -> Array:
        """Which rows lie in the slab, bool `[N]`."""
        return self.slab.contains(torch.from_numpy(z), self.delta).numpy()


def binary_vs_multiclass(binary: StoredRun, multi: StoredRun, seed: int) -> Figure:
    """(a) two classes, (b) many, of which those two are shown that share most boundary nodes; before and after.

    Both panels of a run have one plane and its lines, of the embedding before shaping: what moved in the picture has
    moved. Ringed are the same nodes in both: the boundary nodes of the first layer, of the two classes and in
    their slab; nodes in the slab are counted of these classes too.
    """
    figure = drawing.new_figure(WIDE, 4.6)
    axes = figure.subplots(2, 2, sharex="row", sharey="row", squeeze=False)
    for row, run, name in zip(axes, (binary, multi), ("(a) binary", "(b) multi-class"), strict=True):
        slab_row(row, run, seed)
        for ax, stage in zip(row, ("before", "after"), strict=True):
            ax.set_title(f"{name}, {stage} shaping", fontsize=TEXT, pad=3)
    return figure


def slab_row(row: Any, run: StoredRun, seed: int) -> None:
    """One run in two panels: before and after shaping, in one plane."""
    stages, plane = Stages.of(run, seed), SlabPlane.of(run, seed)
    shown = np.isin(stages.y, plane.pair)
    ring = stages.at[0] & shown & plane.contains(stages.z[0])
    drawn = sample(ring, stages.y, POINTS)
    y = np.where(shown, stages.y, -1)[drawn]
    for ax, z in zip(row, (stages.z[0], stages.z[-1]), strict=True):
        slab_panel(ax, plane.place(z)[drawn], y, ring[drawn], plane.delta)
        inside = int((plane.contains(z) & shown).sum())
        ax.set_xlabel(f"along the normal ({inside} nodes in the slab)", fontsize=SMALL, labelpad=2)
    row[0].set_ylabel("across the normal", fontsize=SMALL, labelpad=2)
    keys = drawing.class_keys(row_class_names(run), plane.pair)
    if (y < 0).any():
        keys.append(drawing.key("other classes", **drawing.style(-1)))
    drawing.beside(row[-1], [*keys, drawing.ring_key(), *_line_keys()])


def slab_panel(ax: Axes, at: Array, y: Array, ring: Array, delta: float) -> None:
    """Points `[n, 2]` of a `SlabPlane` by class (-1 is pale), with the hyperplane and the edges of the slab.

    Args:
        ring: Which points are boundary nodes, bool `[n]`.
        delta: Half-width of the slab.
    """
    size = drawing.dot_size(int((y >= 0).sum()))
    drawing.points(ax, at, y, size=size)
    drawing.rings(ax, at[ring], size)
    ax.axvspan(-delta, delta, color="#F2F2F2", zorder=0, linewidth=0)
    ax.axvline(0.0, color=drawing.INK, linewidth=0.9, zorder=3, gid="hyperplane")
    for edge in (-delta, delta):
        ax.axvline(edge, color=drawing.INK, linewidth=0.8, dashes=(4, 2.5), zorder=3, gid="edge")
    ax.tick_params(labelsize=SMALL, width=0.5, length=2.5)
    ax.spines[:].set(color=drawing.SOFT, linewidth=0.5)


def _busiest(slabs: Slabs, pairs: torch.Tensor, z: torch.Tensor, y: torch.Tensor, delta: float) -> tuple[int, int]:
    """The pair of classes `[P, 2]` in whose slab most of the boundary nodes `z` `[B, D]` of its own classes lie."""
    inside = (z.to(slabs.normal) @ slabs.normal.T - slabs.offset).abs() <= delta
    own = (y[:, None, None] == pairs).any(2)
    first, second = pairs[(inside & own).sum(0).argmax()].tolist()
    return first, second


def _across(normal: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """The direction of largest variance of `z` `[n, D]` at a right angle to `normal`; its sign is made one."""
    unit = normal / normal.norm()
    wide = z.to(normal)
    wide = wide - wide.mean(0)
    wide = wide - torch.outer(wide @ unit, unit)
    first = torch.linalg.svd(wide, full_matrices=False)[2][0]
    first = first - (first @ unit) * unit
    found: torch.Tensor = first * first[first.abs().argmax()].sign()
    return found


def _line_keys() -> list[Any]:
    line = drawing.need("matplotlib.lines").Line2D
    look: dict[str, Any] = {"color": drawing.INK, "linewidth": 0.9}
    return [line([], [], label="hyperplane", **look), line([], [], label="slab of Eq. 5", dashes=(3, 2), **look)]
