"""Algorithm 1, layer by layer: find the boundary (lines 5 to 8), train the layer (lines 9 to 17)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bes import seeding
from bes.core import attention, boundary, gaussians, similarity, soft, update
from bes.core.objective import CenterObjective, Objective, PairwiseObjective
from bes.errors import InputError

if TYPE_CHECKING:
    from bes.core.shaper import BoundaryShaper


@dataclass(frozen=True)
class Boundary:
    """What Algorithm 1 sees before it trains a layer (lines 5 to 8).

    Attributes:
        sums: Class statistics of the labelled nodes.
        region: Nodes in the slab of any class pair (Eq. 5), `[N]` bool.
        scored: Labelled nodes of the region, as indices.
        scores: Their shift scores (Eq. 4).
        nodes: What is shaped: the boundary nodes, those whose score exceeds the threshold, or all labelled ones.
    """

    sums: gaussians.ClassSums
    region: Tensor
    scored: Tensor
    scores: Tensor
    nodes: Tensor


def find_boundary(options: BoundaryShaper, z: Tensor, labels: Tensor, edges: Tensor | None = None) -> Boundary:
    """Lines 5 to 8 of Algorithm 1 for embeddings `z` `[N, D]` with classes `labels`, -1 unknown."""
    known = (labels >= 0).nonzero().flatten()
    by_class = options.covariance == "per_class"
    n_classes = max(2, int(labels.max()) + 1)
    sums = gaussians.ClassSums.of(z[known], labels[known], n_classes, by_class=by_class)
    sigma = sums.covariance(options.covariance, options.shrinkage)
    slabs = boundary.Slabs.between(sums.means, sigma, sums.present, options.origin)
    region = slabs.contains(z, options.delta)
    inside = region[known].nonzero().flatten()
    scored = known[inside]
    if options.neighborhood == "graph":
        if edges is None:
            raise InputError("neighborhood='graph' needs the graph: give edge_index to fit.")
        scores = boundary.graph_shift_scores(scored, labels, edges, z.dtype)
    else:
        scores = boundary.shift_scores(inside, z[known], labels[known], options.n_neighbors)
    nodes = known if options.targets == "all" else scored[scores > options.shift_threshold]
    return Boundary(sums, region, scored, scores, nodes)


#: With soft labels: the share of nodes without a label that joins, and the share after it that is shaped; and how their
#: labels are smoothed over the graph.
JOINED, BAND = 0.5, 0.25
SMOOTHING: dict[str, Any] = {"steps": 10, "restart": 0.1}


def guess_labels(z: Tensor, labels: Tensor, edges: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Soft labels for nodes without one, by class Gaussians and, where there are edges, their neighbours.

    Returns:
        Labels with those that joined, the same with those of the band too, `[N]` each, and the nodes of the band.
    """
    known, n_classes = (labels >= 0).nonzero().flatten(), int(labels.max()) + 1
    prob = soft.posterior(z, gaussians.ClassSums.of(z[known], labels[known], n_classes))
    truth = torch.nn.functional.one_hot(labels[known], n_classes).to(prob)
    if edges is not None:
        prob = soft.smoothed(prob, soft.Smoothing(edges, len(z)), known, truth, **SMOOTHING)
    part = soft.take_part(prob, (labels < 0).nonzero().flatten(), JOINED, BAND)
    joined = labels.index_copy(0, part.joined, part.joined_labels)
    return joined, joined.index_copy(0, part.band, part.band_labels), part.band


#: Below this many numbers in z, waking other threads costs more than they save.
ALONE = 1 << 20


@contextmanager
def _alone_if_small(z: Tensor) -> Iterator[None]:
    """One thread for small embeddings on the CPU; the setting is put back."""
    threads = torch.get_num_threads()
    small = z.device.type == "cpu" and z.numel() < ALONE and threads > 1
    if small:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if small:
            torch.set_num_threads(threads)


def new_layer(
    options: BoundaryShaper, dim: int, dtype: torch.dtype, generator: torch.Generator | None = None
) -> attention.BoundaryAttention:
    """A layer of width `dim` as the options want it, not trained yet."""
    return attention.BoundaryAttention(
        dim,
        scope=options.scope,
        n_heads=options.n_heads,
        n_views=options.n_views,
        init=options.init,
        generator=generator,
        dtype=dtype,
    )


def train_layer(
    options: BoundaryShaper,
    index: int,
    z: Tensor,
    labels: Tensor,
    found: Boundary,
    around: attention.Neighborhoods | None,
    report: Callable[[dict[str, Any]], None],
) -> tuple[attention.BoundaryAttention, Tensor]:
    """Lines 9 to 17 of Algorithm 1: the layer and the embeddings after it."""
    start = seeding.generator(options.random_state, "init", index)
    layer = new_layer(options, z.shape[1], z.dtype, start).to(z.device)
    length = found.sums.spread if options.unit == "spread" else 1.0
    problem = LayerProblem(layer, z, around, _objective(options, z, labels, found, options.tau * length**2))
    stepper = update.Stepper(
        problem,
        layer.weights,
        eta=options.eta,
        alpha=options.alpha * length,
        unit=options.alpha_unit,
        update=options.update,
        weight_decay=options.weight_decay,
        # without the positive in its denominator the loss has no floor to come close to
        tol=options.tol if options.denominator == "with_positive" else -math.inf,
        repeats=options.batch_size >= found.nodes.numel() and not layer.mixes_nodes,
    )
    draw = seeding.generator(options.random_state, "batch", index)
    size = min(options.batch_size, found.nodes.numel())
    batch = found.nodes
    with _alone_if_small(z):
        for iteration in range(options.n_iter):
            if size < found.nodes.numel():
                drawn = torch.randperm(found.nodes.numel(), generator=draw)[:size]
                batch = found.nodes[drawn.to(z.device)]
            result = stepper.step(batch)
            report({"layer": index + 1, "iteration": iteration, **vars(result)})
            if not result.accepted and batch is found.nodes:
                break  # the same batch at the same weights would be refused again for ever
    layer.load(stepper.weights)
    layer.requires_grad_(False)
    return layer, z + layer.full(layer.weights, problem.inputs)


class LayerProblem:
    """One layer's training as `Stepper` sees it: outputs, loss and gradient as functions of the weights."""

    def __init__(
        self,
        layer: attention.BoundaryAttention,
        z: Tensor,
        around: attention.Neighborhoods | None,
        objective: Objective,
    ) -> None:
        self.layer, self.objective = layer, objective
        self.inputs = layer.read(z, around)
        self.n_nodes = z.shape[0]
        self._batch: Tensor | None = None
        self._at: attention.Weights | None = None

    def difference(self, old: attention.Weights, new: attention.Weights) -> Tensor:
        """In one pass: where the scope mixes nodes, the output of the accepted weights was kept by `loss`."""
        if not self.layer.mixes_nodes:
            return self.layer.difference(old, new, self.inputs)
        return self.layer.full(new, self.inputs) - self._output_of(old)

    def loss(self, weights: attention.Weights, batch: Tensor) -> float:
        rows, z = self._select(batch)
        moved = self._output_of(weights)[batch] if self.layer.mixes_nodes else self.layer.attend(weights, rows)
        return self.objective.loss(z + moved, batch).item()

    def _output_of(self, weights: attention.Weights) -> Tensor:
        """The output of all nodes, kept for the weights it was last taken for."""
        if weights is not self._at:
            self._at, self._output = weights, self.layer.full(weights, self.inputs)
        return self._output

    def gradient(self, weights: attention.Weights, batch: Tensor) -> tuple[float, attention.Weights]:
        rows, z = self._select(batch)
        value, gradients = self.layer.gradient(weights, rows, lambda moved: self.objective.pull(z + moved, batch))
        return value.item(), gradients

    def _select(self, batch: Tensor) -> tuple[attention.Inputs, Tensor]:
        """The batch's inputs, looked up once: a full batch is the same one in every iteration."""
        if batch is not self._batch:
            self._batch, self._z = batch, self.inputs.z[batch]
            self._rows = self.layer.select(self.inputs, batch)
        return self._rows, self._z


def _objective(options: BoundaryShaper, z: Tensor, labels: Tensor, found: Boundary, tau: float) -> Objective:
    """The gravity loss of shaped boundary nodes; centres and other nodes stay where they were."""
    if options.objective == "pairwise":
        return PairwiseObjective(labels, z, tau, options.denominator)
    means, present = found.sums.means.to(z), found.sums.present
    radius = None
    if options.hinge == "region":  # without a region, which targets="all" can have, nothing holds the pull back
        empty = not found.region.any()
        radius = means.new_zeros(means.shape[0]) if empty else similarity.region_radius(z[found.region], means)
    return CenterObjective(labels, means, present, radius, tau, options.denominator)
