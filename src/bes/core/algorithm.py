"""Algorithm 1, layer by layer: find the boundary (lines 5 to 8), train the layer (lines 9 to 17)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bes import seeding
from bes.core import attention, boundary, gaussians, similarity, soft, update
from bes.core.group import ALONE, Group, Roll, in_order
from bes.core.objective import CenterObjective, Objective, PairwiseObjective
from bes.core.problem import LayerProblem, apply_layer
from bes.core.resume import Course, Keeper
from bes.core.rows import Picked, Rows, own_rows
from bes.errors import InputError
from bes.threads import alone

if TYPE_CHECKING:
    from bes.core.shaper import BoundaryShaper


@dataclass(frozen=True)
class Boundary:
    """What Algorithm 1 sees before it trains a layer (lines 5 to 8).

    Attributes:
        sums: Class statistics of the labelled nodes.
        region: Own nodes in the slab of any class pair (Eq. 5), `[N]` bool.
        scored: Labelled nodes of the region, as indices.
        scores: Their shift scores (Eq. 4).
        nodes: What is shaped: the boundary nodes, those whose score exceeds the threshold, or all labelled ones.
    """

    sums: gaussians.ClassSums
    region: Tensor
    scored: Tensor
    scores: Tensor
    nodes: Tensor


def find_boundary(
    options: BoundaryShaper, z: Rows, labels: Tensor, edges: Tensor | None = None, group: Group = ALONE
) -> Boundary:
    """Lines 5 to 8 of Algorithm 1 for embeddings `z` `[N, D]` with classes `labels`, -1 unknown.

    With more than one rank the result tells of this rank's own rows, and class statistics of all; labels of halo rows
    are read by `neighborhood="graph"` alone.
    """
    own = labels[: group.own]
    known = (own >= 0).nonzero().flatten()
    by_class = options.covariance == "per_class"
    n_classes = max(2, 1 - int(group.minimum(-own.max())))
    sums = gaussians.ClassSums.over(group, Picked(z, known), own[known], n_classes, by_class=by_class)
    sigma = sums.covariance(options.covariance, options.shrinkage)
    slabs = boundary.Slabs.between(sums.means, sigma, sums.present, options.origin)
    region = slabs.contains(own_rows(z, group.own), options.delta)
    inside = region[known].nonzero().flatten()
    scored = known[inside]
    if options.neighborhood == "graph":
        if edges is None:
            raise InputError("neighborhood='graph' needs the graph: give edge_index to fit.")
        scores = boundary.graph_shift_scores(scored, labels, edges, z.dtype)
    else:
        scores = _scores(options, z, labels, scored, known, group)
    nodes = known if options.targets == "all" else scored[scores > options.shift_threshold]
    return Boundary(sums, region, scored, scores, nodes)


def _scores(options: BoundaryShaper, z: Rows, labels: Tensor, scored: Tensor, known: Tensor, group: Group) -> Tensor:
    """Shift scores of the own rows `scored` among the labelled rows of all ranks."""
    if group.size == 1:
        places = torch.searchsorted(known, scored)
        return boundary.shift_scores(places, Picked(z, known), labels[known], options.n_neighbors)
    numbers, others, classes = in_order(group, known, group.numbers(known), z[known], labels[known])
    places = torch.searchsorted(numbers, group.numbers(scored))
    return boundary.shift_scores(places, others, classes, options.n_neighbors)


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


def look(
    options: BoundaryShaper, z: Rows, labels: Tensor, edges: Tensor | None, group: Group
) -> tuple[Boundary, Tensor]:
    """The boundary, and the labels that its nodes are shaped by: with soft labels the band is shaped too."""
    if options.labels == "given":
        return find_boundary(options, z, labels, edges, group), labels
    joined, told, band = guess_labels(z[:], labels, edges)
    found = find_boundary(options, z, joined, edges)
    return replace(found, nodes=torch.cat([found.nodes, band])), told


#: Below this many numbers in z, waking other threads costs more than they save.
SMALL = 1 << 20


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
    z: Rows,
    labels: Tensor,
    found: Boundary,
    around: attention.Neighborhoods | None,
    report: Callable[[dict[str, Any]], None],
    group: Group = ALONE,
    keeper: Keeper | None = None,
) -> tuple[attention.BoundaryAttention, Rows]:
    """Lines 9 to 17 of Algorithm 1: the layer and the embeddings after it, halo rows as well."""
    start = seeding.generator(options.random_state, "init", index)
    layer = new_layer(options, z.shape[1], z.dtype, start).to(z.device)
    length = found.sums.spread if options.unit == "spread" else 1.0
    objective = _objective(options, z, labels, found, options.tau * length**2, group)
    sampled = seeding.generator(options.random_state, "displacement", index, group.rank)
    problem = LayerProblem(layer, z, around, objective, group, options.displacement_sample, sampled)
    roll = Roll(found.nodes, group)
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
        repeats=options.batch_size >= roll.count and not layer.mixes_nodes,
    )
    draw = seeding.generator(options.random_state, "batch", index)
    batch = found.nodes
    course = Course(keeper, index, stepper, (draw, sampled), report)
    with alone(z.device, small=z.shape[0] * z.shape[1] < SMALL):
        for iteration in course.left(options.n_iter):
            if options.batch_size < roll.count:
                drawn = torch.randperm(roll.count, generator=draw)[: options.batch_size]
                batch = roll.pick(drawn.to(z.device))
            result = stepper.step(batch)
            # the same batch at the same weights would be refused again for ever
            stuck = not result.accepted and batch is found.nodes
            over = stuck or iteration + 1 == options.n_iter
            course.note({"layer": index + 1, "iteration": iteration, **vars(result)}, over=over)
            if stuck:
                break
    layer.load(stepper.weights)
    layer.requires_grad_(False)
    return layer, apply_layer(layer, z, around, group)


def _objective(
    options: BoundaryShaper, z: Rows, labels: Tensor, found: Boundary, tau: float, group: Group
) -> Objective:
    """The gravity loss of shaped boundary nodes; centres and other nodes stay where they were."""
    if options.objective == "pairwise":
        return PairwiseObjective(labels[: group.own], z, tau, options.denominator, group)
    means, present = found.sums.means.to(z.device, z.dtype), found.sums.present
    radius = None
    if options.hinge == "region":
        region = Picked(z, found.region.nonzero().flatten())
        radius = group.minimum(similarity.region_radius(region, means))
        # without a region, which targets="all" can have, nothing holds the pull back
        radius = torch.where(radius.isinf(), 0.0, radius)
    return CenterObjective(labels, means, present, radius, tau, options.denominator)
