"""The propagation operators of a graph whose edges count more or less."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Operators, Sparse


class WeightedOperators(Operators):
    """The operators of `Operators` with a weight w_ij = w_ji above zero on each edge, and degrees that are their sums.

    Attention finds weights of its own: GAT and GATv2 read which edges there are, and not these.

    Args:
        weight: Of each edge, in the order of `edge_index` `[E]`.
    """

    def __init__(self, edge_index: Tensor, n_nodes: int, weight: Tensor) -> None:
        super().__init__(edge_index, n_nodes)
        self.weight = weight

    @cached_property
    def degree(self) -> Tensor:
        """Sum of the weights at each node `[N]`."""
        return self.weight.new_zeros(self.n_nodes).index_add(0, self.edge_index[0], self.weight)

    @cached_property
    def sum(self) -> Sparse:
        return self._build(self.edge_index, self.weight, symmetric=True)

    @cached_property
    def mean(self) -> Sparse:
        return self._build(self.edge_index, self.weight / self.degree[self.edge_index[0]], symmetric=False)

    @cached_property
    def cheb(self) -> Sparse:
        root = self.degree.rsqrt()[self.edge_index]
        return self._build(self.edge_index, -root[0] * root[1] * self.weight, symmetric=True)

    @cached_property
    def gcn(self) -> Sparse:
        root, own = (self.degree + 1).rsqrt()[self.looped], self.looped[0] == self.looped[1]
        weight = torch.ones_like(root[0]).masked_scatter(~own, self.weight)  # both are sorted alike
        return self._build(self.looped, root[0] * root[1] * weight, symmetric=True)

    def to(self, device: torch.device | str) -> WeightedOperators:
        if torch.device(device) == self.edge_index.device:
            return self
        return WeightedOperators(self.edge_index.to(device), self.n_nodes, self.weight.to(device))


def weighted(graph: Graph, weight: Tensor) -> Graph:
    """The same graph, propagating by `weight` `[E]`."""
    found = replace(graph)
    found.__dict__["operators"] = WeightedOperators(graph.edge_index, graph.n_nodes, weight)
    return found
