"""Propagation over a graph that ranks share: rows of the halo come from their owners."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from bes.graph.sparse import Operators, Sparse, product
from bes.scale.halo import GraphPart, csr_of
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
        extended = rows.new_empty(self.n_local, *rows.shape[1:])
        extended[: self.n_own] = rows
        self.fetch(rows, extended[self.n_own :])
        return extended

    def fetch(self, rows: Tensor, into: Tensor | None = None) -> Tensor:
        """The halo's rows `[h, ...]`, where each rank gives those of its own nodes `[n, ...]`."""
        send, receive = self._counts
        return self.ranks.exchange(rows.index_select(0, self._send), send, receive, into)


class HaloSparse(Sparse):
    """Rows `[n, n + h]` of a propagation matrix, those of own nodes; `matrix @ rows` takes own rows `[n, d]`.

    The graph is undirected: the transpose of the whole matrix has entries in the same places, so that gradients go the
    same way as what they are gradients of, by the transpose's rows of own nodes and one exchange.

    Args:
        csr: The entries beside the diagonal.
        diagonal: Those on it `[n]`; None for zeros.
    """

    def __init__(self, csr: Tensor, halo: Halo, *, symmetric: bool, diagonal: Tensor | None = None) -> None:
        super().__init__(csr, symmetric=symmetric)
        self.halo, self.diagonal = halo, diagonal

    def __matmul__(self, dense: Tensor) -> Tensor:
        if dense.requires_grad and torch.is_grad_enabled():
            found: Tensor = _Product.apply(self, dense)  # type: ignore[no-untyped-call]
            return found
        return self.times(dense)

    def times(self, dense: Tensor) -> Tensor:
        """The product, without gradients."""
        found = product(self.csr, self.halo.extend(dense))
        return found if self.diagonal is None else found.addcmul_(self.diagonal[:, None], dense)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: HaloSparse, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix.times(dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix.transposed @ grad.contiguous()


class RankOperators(Operators):
    """The propagation matrices of the whole graph, each rank with the rows of its own nodes.

    All of them have their entries in the same places, those of the part: a matrix is a number an edge, and no more.

    Args:
        part: What this rank holds.
        halo: How it gets the rows of the others.
    """

    def __init__(self, part: GraphPart, halo: Halo) -> None:
        self.part, self.halo, self.n_nodes = part, halo, part.n_own
        self.__dict__["degree"] = part.degree.float()

    @property
    def edge_index(self) -> Tensor:  # type: ignore[override]
        return self.part.edge_index

    @cached_property
    def sum(self) -> Sparse:
        """A."""
        return self._matrix(torch.ones(self.part.column.numel(), device=self.degree.device))

    @cached_property
    def mean(self) -> Sparse:
        """D^-1 A, and with it its transpose A D^-1."""
        inverse = 1.0 / self.degree
        there, back = (self._matrix(weight, symmetric=False) for weight in (self._at(inverse), self._from(inverse)))
        there.__dict__["transposed"] = back
        return there

    @cached_property
    def cheb(self) -> Sparse:
        """-D^-1/2 A D^-1/2."""
        root = self.degree.rsqrt()
        return self._matrix(self._at(root).mul_(self._from(root)).neg_())

    @cached_property
    def gcn(self) -> Sparse:
        """(D + I)^-1/2 (A + I) (D + I)^-1/2."""
        root = (self.degree + 1).rsqrt()
        loops = root[: self.n_nodes].square()
        return self._matrix(self._at(root).mul_(self._from(root)), diagonal=loops)

    def _at(self, value: Tensor) -> Tensor:
        """For each edge the value of the own node that it enters, from those of all local nodes `[n + h]`."""
        return torch.repeat_interleave(value[: self.n_nodes], self.part.pointer.diff())

    def _from(self, value: Tensor) -> Tensor:
        """For each edge the value of the node that it comes from."""
        return value.index_select(0, self.part.column)

    def _matrix(self, weight: Tensor, *, symmetric: bool = True, diagonal: Tensor | None = None) -> Sparse:
        csr = csr_of(self.part.pointer, self.part.column, weight, self.halo.n_local)
        return HaloSparse(csr, self.halo, symmetric=symmetric, diagonal=diagonal)
