"""New training nodes of NodeImport: mixtures of two labelled nodes, so that every class has as many as the largest.

A class of n_c training nodes gets n_max - n_c new ones. Each has a centre a of that class, a partner b from all
training nodes with p ~ log(n_c) / n_c of its class, and lambda ~ Beta(2, 2):

    x = lambda x_a + (1 - lambda) x_b        y = lambda y_a + (1 - lambda) y_b

Its number of neighbours is that of a random node, at most that of a; they are drawn without replacement from
lambda unif N(a) + (1 - lambda) unif N(b). Edges lead to new nodes only: nothing of the graph's own nodes changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.models.baselines.nodeimport_hearing import Heard


@dataclass(frozen=True, eq=False)
class Added:
    """Nodes that are added to a graph for one epoch.

    Attributes:
        centre, partner, share: a, b and lambda of each `[S]`.
        row, col: New node and neighbour of each edge, sorted by row.
        n_nodes: Nodes of the graph.
    """

    centre: Tensor
    partner: Tensor
    share: Tensor
    row: Tensor
    col: Tensor
    n_nodes: int

    @property
    def count(self) -> int:
        return self.centre.numel()

    @cached_property
    def degree(self) -> Tensor:
        """Neighbours of each new node `[S]`, float32."""
        return torch.bincount(self.row, minlength=self.count).float()

    def matrix(self, value: Tensor) -> Sparse:
        """`[S, N]` with a value an edge."""
        return Sparse.from_coo(self.row, self.col, value, (self.count, self.n_nodes))

    @cached_property
    def sum(self) -> Sparse:
        """Adds up the neighbours of each new node."""
        return self.matrix(torch.ones_like(self.row, dtype=torch.float32))

    @cached_property
    def heard(self) -> Heard:
        """The neighbours of each new node and the node itself, among the N + S of both."""
        new = torch.arange(self.count, device=self.row.device)
        row, col = torch.cat([self.row, new]), torch.cat([self.col, new + self.n_nodes])
        order = torch.argsort(row, stable=True)
        return Heard(row[order], col[order], (self.count, self.n_nodes + self.count))

    def mix(self, values: Tensor) -> Tensor:
        """lambda v_a + (1 - lambda) v_b of values `[N, D]`: `[S, D]`."""
        share = self.share[:, None]
        return share * values.index_select(0, self.centre) + (1 - share) * values.index_select(0, self.partner)


class Synthesis:
    """Draws new nodes of a graph, all at once.

    Args:
        train, labels: Training nodes and their classes.
    """

    def __init__(self, graph: Graph, train: Tensor, labels: Tensor, n_classes: int) -> None:
        row, self.col = graph.edge_index
        self.n_nodes = graph.n_nodes
        self.degree = torch.bincount(row, minlength=graph.n_nodes)
        self.start = self.degree.cumsum(0) - self.degree
        self.size = torch.bincount(labels, minlength=n_classes)
        self.first = self.size.cumsum(0) - self.size
        self.by_class = train[torch.argsort(labels, stable=True)]
        missing = torch.where(self.size > 0, self.size.max() - self.size, 0)
        self.classes = torch.repeat_interleave(missing)
        self.train = train
        self.weight = (self.size.float().log() / self.size)[labels]

    def draw(self, rng: torch.Generator) -> Added:
        """New nodes; none where the classes are of one size."""
        count, device = self.classes.numel(), self.train.device
        uniform = torch.rand(5, count, generator=rng, device=device)
        if count == 0:
            none = self.classes
            return Added(none, none, uniform[0], none, none, self.n_nodes)
        size = self.size[self.classes]
        centre = self.by_class[self.first[self.classes] + _below(uniform[0], size)]
        partner = self.train[torch.multinomial(self.weight, count, replacement=True, generator=rng)]
        share = uniform[1:4].median(0).values  # the middle one of three uniform numbers is Beta(2, 2)
        like = _below(uniform[4], torch.full_like(size, self.n_nodes))
        wanted = torch.minimum(self.degree[like], self.degree[centre])
        row, col = self._neighbors(centre, partner, share, wanted, rng)
        return Added(centre, partner, share, row, col, self.n_nodes)

    def _neighbors(
        self, centre: Tensor, partner: Tensor, share: Tensor, wanted: Tensor, rng: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Edges to each new node: `wanted` of its candidates, drawn one after the other without replacement."""
        of_a, of_b = self._candidates(centre, share, wanted > 0), self._candidates(partner, 1 - share, wanted > 0)
        key, weight = (torch.cat(both) for both in zip(of_a, of_b, strict=True))
        key, copy_of = torch.unique(key, return_inverse=True)  # a neighbour of both has both shares
        weight = torch.zeros(key.numel(), device=key.device).index_add_(0, copy_of, weight)
        row = key // self.n_nodes
        # the first of exponential clocks with these rates to ring are such a draw
        ring = torch.empty_like(weight).exponential_(generator=rng).double() / weight.clamp_min(1e-30)
        order = torch.argsort(row + 0.5 * ring / (1 + ring))  # by new node, then by time
        count = torch.bincount(row, minlength=centre.numel())
        place = torch.arange(row.numel(), device=row.device) - (count.cumsum(0) - count)[row]
        chosen = key[order[place < wanted[row]]].sort().values
        return chosen // self.n_nodes, chosen % self.n_nodes

    def _candidates(self, nodes: Tensor, share: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The neighbours of `nodes` under the keys new node * N + neighbour, and what each weighs."""
        degree = torch.where(mask, self.degree[nodes], 0)
        owner = torch.repeat_interleave(degree)
        within = torch.arange(owner.numel(), device=owner.device) - (degree.cumsum(0) - degree)[owner]
        neighbor = self.col[self.start[nodes[owner]] + within]
        return owner * self.n_nodes + neighbor, (share / degree)[owner]


def _below(uniform: Tensor, limit: Tensor) -> Tensor:
    """Whole numbers from 0 to limit - 1 from uniform ones."""
    return torch.minimum((uniform.double() * limit).long(), limit - 1)
