"""A graph in parts: batches of them with halos to train on, and blocks of rows to infer by.

Training is as in Cluster-GCN (Chiang et al. 2019): a step takes several parts, drawn anew in each epoch, with all edges
between them. Their neighbours outside, the halo, are there too: they send messages and receive those of the batch, and
have no loss of their own. Degrees are those of the whole graph, so that the rows of a batch's own nodes are exact in
every operator; what is missing is what lies further away than the halo.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from bes import seeding
from bes.graph.graph import Graph
from bes.graph.sparse import Operators, spans
from bes.scale.partition import partition

#: Nodes of a step, about, where their number is not given: enough that steps are few and products are large.
STEP_NODES = 1 << 15

#: Parts that a step draws where their number is not given: enough that steps differ from epoch to epoch.
PER_STEP = 4


@dataclass(frozen=True)
class Piece:
    """A batch of nodes with their halo.

    Attributes:
        nodes: Which nodes of the graph these are `[n]`: the batch's own first, then the halo.
        n_own: How many are its own.
        operators: Of the edges among the own nodes and between them and the halo; edges within the halo are left out.
    """

    nodes: Tensor
    n_own: int
    operators: Operators

    @property
    def own(self) -> Tensor:
        """The batch's own nodes `[n_own]`."""
        return self.nodes[: self.n_own]


class Parts:
    """The nodes of a graph by their parts, on the graph's device.

    Args:
        part: The part of each node `[N]`, 0 .. P - 1.
        per_step: Parts of a training step.

    Attributes:
        n_parts, per_step: As given.
    """

    def __init__(self, graph: Graph, part: Tensor, per_step: int) -> None:
        self.n_nodes, self.n_parts = graph.n_nodes, int(part.max()) + 1
        self.per_step = min(per_step, self.n_parts)
        order = torch.argsort(part, stable=True)
        size = torch.bincount(part, minlength=self.n_parts)
        self._members = order.split(size.tolist())
        count = torch.bincount(graph.edge_index[0], minlength=self.n_nodes)
        self._count, self._start = count, count.cumsum(0) - count
        self._neighbor = graph.edge_index[1]
        self._degree = count.float()
        self._place = torch.full_like(count, -1)  # of a node in the piece that is being made

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""
        return -(-self.n_parts // self.per_step)

    def steps(self, rng: torch.Generator) -> Iterator[Piece]:
        """The pieces of one epoch of training: every part is in one of them."""
        order = torch.randperm(self.n_parts, generator=rng, device=rng.device).tolist()
        for first in range(0, self.n_parts, self.per_step):
            yield self._piece(order[first : first + self.per_step], both=True)

    def blocks(self) -> Iterator[Piece]:
        """All nodes in pieces whose edges lead to their own nodes: one layer of these rows is exact."""
        for first in range(0, self.n_parts, self.per_step):
            yield self._piece(list(range(first, min(first + self.per_step, self.n_parts))), both=False)

    def _piece(self, parts: list[int], *, both: bool) -> Piece:
        own = torch.cat([self._members[one] for one in parts])
        count, n_own = self._count[own], own.numel()
        neighbor = self._neighbor[spans(self._start[own], count)]
        row = torch.repeat_interleave(torch.arange(n_own, device=own.device), count)
        self._place[own] = torch.arange(n_own, device=own.device)
        halo = neighbor[self._place[neighbor] < 0].unique()
        self._place[halo] = torch.arange(n_own, n_own + halo.numel(), device=own.device)
        col = self._place[neighbor]
        nodes = torch.cat([own, halo])
        self._place[nodes] = -1
        edges = torch.stack([row, col])
        if both:  # sorted by row: own nodes come first, and rows ascend for each node of the halo
            back = edges[:, col >= n_own].flip(0)
            edges = torch.cat([edges, back[:, torch.argsort(back[0], stable=True)]], dim=1)
        return Piece(nodes, n_own, Operators(edges, nodes.numel(), self._degree[nodes]))


def cut(graph: Graph, n_parts: int = 0, per_step: int = 0) -> Parts:
    """The graph in parts by METIS.

    Args:
        n_parts: How many; 0 makes steps of about `STEP_NODES` nodes.
        per_step: Parts of a training step; 0 takes `PER_STEP`.
    """
    n_parts, per_step = sizes(graph.n_nodes, n_parts, per_step)
    rng = seeding.generator(0, "parts", device=graph.device)
    return Parts(graph, partition(graph, n_parts, "metis", rng), per_step)


def sizes(n_nodes: int, n_parts: int, per_step: int) -> tuple[int, int]:
    """Number of parts and of parts a step; 0 stands for what is usual."""
    per_step = per_step or PER_STEP
    wanted = n_parts or per_step * max(2, -(-n_nodes // STEP_NODES))
    return min(wanted, n_nodes), per_step
