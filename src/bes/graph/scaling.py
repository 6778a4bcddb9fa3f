"""Node features as they are, or with every node's brought to one size."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Sparse

#: Features as given, with rows that sum to one, or with rows of one length.
Scaling = Literal["raw", "row", "length"]

#: Length of each node's features under `features=length`: with it Adam neither crawls nor leaps (docs/research-log.md).
LENGTH = 8.0


#: Share of stored entries above which features are better held dense: measured, forward and backward.
DENSE = 0.2


def scale(graph: Graph, features: Scaling) -> Graph:
    """The graph with its features scaled; a node without any stays without."""
    if features == "raw":
        return graph
    scaled = replace(graph, x=_scaled(graph.x, by_length=features == "length"))
    scaled.__dict__["operators"] = graph.operators  # the edges are the same: built once for both
    return scaled


def densely(graph: Graph) -> Graph:
    """The graph with dense features where so many are stored that products with them are faster so."""
    x = graph.x
    if not isinstance(x, Sparse) or x.csr.values().numel() <= DENSE * x.shape[0] * x.shape[1]:
        return graph
    dense = replace(graph, x=x.to_dense())
    dense.__dict__["operators"] = graph.operators
    return dense


def _scaled(x: Features, *, by_length: bool) -> Features:
    if not isinstance(x, Sparse):
        size = x.norm(dim=1) / LENGTH if by_length else x.sum(1)
        return x / torch.where(size == 0, 1.0, size)[:, None]
    row, col, value = x.coo()
    total = torch.zeros(x.shape[0], device=x.device)
    total = total.index_add(0, row, value * value if by_length else value)
    size = total.sqrt() / LENGTH if by_length else total
    return Sparse.from_coo(row, col, value / torch.where(size == 0, 1.0, size)[row], (x.shape[0], x.shape[1]))
