"""Propagation over a graph that ranks share: rows of the halo come from their owners."""

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
        """Rows of own nodes `[n, ...]`, followed by those of the halo `[n + h, ...]`."""
        return torch.cat([rows, self.fetch(rows)])

    def fetch(self, rows: Tensor) -> Tensor:
        """The halo's rows `[h, ...]`, where each rank gives those of its own nodes `[n, ...]`."""
        send, receive = self._counts
        return self.ranks.exchange(rows.index_select(0, self._send), send, receive)


class HaloSparse(Sparse):
    """Rows `[n, n + h]` of a propagation matrix, those of own nodes; `matrix @ rows` takes own rows `[n, d]`.

    The graph is undirected: the transpose of the whole matrix has entries in the same places, so that gradients go the
    same way as what they are gradients of, by the transpose's rows of own nodes and one exchange.
    """

    def __init__(self, csr: Tensor, halo: Halo, *, symmetric: bool) -> None:
        super().__init__(csr, symmetric=symmetric)
        self.halo = halo

    def __matmul__(self, dense: Tensor) -> Tensor:
        if dense.requires_grad and torch.is_grad_enabled():
            product: Tensor = _Product.apply(self, dense)  # type: ignore[no-untyped-call]
            return product
        return self.csr @ self.halo.extend(dense)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: HaloSparse, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix.csr @ matrix.halo.extend(dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix.transposed @ grad.contiguous()


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

    @cached_property
    def mean(self) -> Sparse:
        """D^-1 A, and with it its transpose A D^-1."""
        row, col = self.edge_index
        there, back = (self._build(self.edge_index, 1.0 / self.degree[end], symmetric=False) for end in (row, col))
        there.__dict__["transposed"] = back
        return there

    def _build(self, edge_index: Tensor, value: Tensor, *, symmetric: bool) -> Sparse:
        row, col = edge_index
        csr = Sparse.from_coo(row, col, value, (self.n_nodes, self.halo.n_local)).csr
        return HaloSparse(csr, self.halo, symmetric=symmetric)
