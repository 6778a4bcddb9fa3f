"""The stages of shaping by themselves, on the features of a stored graph as embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from bes.core.algorithm import new_layer
from bes.core.attention import BoundaryAttention
from bes.core.boundary import Slabs
from bes.core.gaussians import ClassSums
from bes.core.group import ALONE
from bes.core.objective import CenterObjective
from bes.core.problem import LayerProblem
from bes.core.rows import Picked
from bes.core.shaper import BoundaryShaper
from bes.core.update import Stepper, virtual_step
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit

#: Nodes by which the displacement is estimated where shaping is measured; smaller graphs are measured whole.
SAMPLE = 10_000


def region(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """Class sums of the labelled nodes, slabs, and who lies in one (Algorithm 1, lines 5 and 6)."""
    z, options = torch.as_tensor(graph.x), BoundaryShaper()

    def look() -> Tensor:
        sums = ClassSums.over(ALONE, Picked(z, split.train), split.train_labels, split.n_classes)
        return Slabs.between(sums.means, sums.covariance(), sums.present).contains(z, options.delta)

    return look


def displacement(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """Eq. 12 over all nodes: what an iteration costs more without a sample."""
    problem, layer = _problem(graph, split, None)
    old = tuple(weight.detach() for weight in layer.weights)
    new = virtual_step(old, tuple(torch.ones_like(weight) for weight in old), 0.01)
    return torch.no_grad()(lambda: problem.displacement(old, new))


def iteration(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """One iteration on a batch of labelled nodes, its displacement by a sample."""
    options = BoundaryShaper()
    problem, layer = _problem(graph, split, SAMPLE)
    stepper = Stepper(problem, layer.weights, eta=options.eta, alpha=options.alpha, tol=-math.inf)
    draw = torch.Generator().manual_seed(0)
    return lambda: stepper.step(split.train[_some(split.train.numel(), options.batch_size, draw)])


def _some(n: int, count: int, draw: torch.Generator) -> Tensor:
    return torch.randint(n, (min(n, count),), generator=draw)


def _problem(graph: Graph, split: NodeSplit, sample: int | None) -> tuple[LayerProblem, BoundaryAttention]:
    z, draw = torch.as_tensor(graph.x), torch.Generator().manual_seed(0)
    options = BoundaryShaper()
    layer = new_layer(options, z.shape[1], z.dtype, draw)
    sums = ClassSums.over(ALONE, Picked(z, split.train), split.train_labels, split.n_classes)
    labels = torch.full((graph.n_nodes,), -1)
    labels[split.train] = split.train_labels
    objective = CenterObjective(labels, sums.means.to(z), sums.present, None, options.tau, options.denominator)
    return LayerProblem(layer, z, None, objective, ALONE, sample, draw), layer
