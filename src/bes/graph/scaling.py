"""Node features as they are, or with every node's brought to one size."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeGuard

import torch

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Sparse

#: Features as given, with rows that sum to one, or with rows of one length: eight or one.
Scaling = Literal["raw", "row", "length", "unit"]

#: Length of each node's features by scaling. For links 8: with it Adam neither crawls nor leaps. For few labels 1: the
#: same weight decay then holds first layers back more (docs/research-log.md, both).
LENGTH: dict[str, float] = {"length": 8.0, "unit": 1.0}

#: Share of stored entries above which features are better held dense: measured, forward and backward.
DENSE = 0.2


def scale(graph: Graph, features: Scaling) -> Graph:
    """The graph as networks get it: features scaled, and dense where so many are stored that products are faster so.

    A node without any stays without. Made once, so that what is found for its features (`bes.models.alike`) is too.
    """
    made: dict[Scaling, Graph] = graph.__dict__.setdefault("scaled", {})
    if features in made:
        return made[features]
    x = graph.x
    if isinstance(x, Sparse) and not held_sparse(x):
        x = x.to_dense()
    if features != "raw":
        x = _scaled(x, LENGTH.get(features))
    if x is graph.x:
        return graph
    scaled = replace(graph, x=x)
    scaled.__dict__["operators"] = graph.operators  # the edges are the same: built once for both
    made[features] = scaled
    return scaled


def held_sparse(x: Features) -> TypeGuard[Sparse]:
    """Whether networks get these features sparse."""
    return isinstance(x, Sparse) and x.csr.values().numel() <= DENSE * x.shape[0] * x.shape[1]


def _scaled(x: Features, length: float | None) -> Features:
    """Rows of a length, or that sum to one."""
    if not isinstance(x, Sparse):
        size = x.norm(dim=1) / length if length else x.sum(1)
        return x / torch.where(size == 0, 1.0, size)[:, None]
    row, col, value = x.coo()
    total = torch.zeros(x.shape[0], device=x.device)
    total = total.index_add(0, row, value * value if length else value)
    size = total.sqrt() / length if length else total
    return Sparse.from_coo(row, col, value / torch.where(size == 0, 1.0, size)[row], (x.shape[0], x.shape[1]))
