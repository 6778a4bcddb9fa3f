"""Propagation over a graph that ranks share: halo rows come from their owners, their gradients go back."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from bes.graph.sparse import Operators, Sparse
from bes.scale.halo import GraphPart
from bes.scale.ranks import Ranks


class Halo:
    """Brings rows of own nodes to the ranks whose halo they are in.

    Args:
        part: What this rank holds.
        ranks: All of them.
    """

    def __init__(self, part: GraphPart, ranks: Ranks) -> None:
        self.n_own, self.n_local = part.n_own, part.n_local
        self.ranks, self._send = ranks, part.send
        self._counts: tuple[list[int], list[int]] = part.send_counts.tolist(), part.receive_counts.tolist()

    def extend(self, rows: Tensor) -> Tensor:
        """Rows of own nodes `[n, ...]`, followed by those of the halo `[n + h, ...]`; differentiable."""
        if rows.requires_grad and torch.is_grad_enabled():
            extended: Tensor = _Extend.apply(rows, self)  # type: ignore[no-untyped-call]
            return extended
        return torch.cat([rows, self.fetch(rows)])

    def fetch(self, rows: Tensor) -> Tensor:
        """The halo's rows `[h, ...]`, where each rank gives those of its own nodes `[n, ...]`."""
        send, receive = self._counts
        return self.ranks.exchange(rows.index_select(0, self._send), send, receive)

    def fold(self, grad: Tensor) -> Tensor:
        """The transpose of `extend`: gradients `[n + h, ...]` added up at the nodes' owners `[n, ...]`."""
        send, receive = self._counts
        back = self.ranks.exchange(grad[self.n_own :], receive, send)
        return grad[: self.n_own].index_add(0, self._send, back)


class _Extend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, halo: Halo) -> Tensor:
        ctx.halo = halo
        return torch.cat([rows, halo.fetch(rows)])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.halo.fold(grad), None


class HaloSparse(Sparse):
    """Rows `[n, n + h]` of a propagation matrix, those of own nodes; `matrix @ rows` takes own rows `[n, d]`."""

    halo: Halo

    def __matmul__(self, dense: Tensor) -> Tensor:
        return super().__matmul__(self.halo.extend(dense))


class RankOperators(Operators):
    """The propagation matrices of the whole graph, each rank with the rows of its own nodes.

    Args:
        part: What this rank holds.
        halo: How it gets the rows of the others.
    """

    def __init__(self, part: GraphPart, halo: Halo) -> None:
        super().__init__(part.edge_index, part.n_own)
        self.halo = halo
        self.__dict__["degree"] = part.degree.float()

    @cached_property
    def looped(self) -> Tensor:
        """The edges with one self-loop an own node, sorted by their first row."""
        loop = torch.arange(self.n_nodes, device=self.edge_index.device)
        both = torch.cat([self.edge_index, loop.expand(2, -1)], dim=1)
        return both[:, torch.argsort(both[0], stable=True)]

    def _build(self, edge_index: Tensor, weight: Tensor, *, symmetric: bool) -> Sparse:  # noqa: ARG002
        row, col = edge_index
        matrix = HaloSparse(Sparse.from_coo(row, col, weight, (self.n_nodes, self.halo.n_local)).csr)
        matrix.halo = self.halo
        return matrix
