"""Attention of nodes that are added to a graph for an epoch: sums along rows of a small matrix, never scattered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bes.graph.sparse import Sparse, product


@dataclass(frozen=True, eq=False)
class Heard:
    """Who hears whom: edges from nodes `[n]` to listeners `[S]`, at least one a listener.

    Attributes:
        row, col: Listener and node of each edge `[E]`, sorted by row.
        shape: (S, n).
    """

    row: Tensor
    col: Tensor
    shape: tuple[int, int]

    @cached_property
    def offsets(self) -> Tensor:
        """Where the edges of each listener begin, and the end of all `[S + 1]`."""
        count = torch.bincount(self.row, minlength=self.shape[0])
        return torch.cat([count.new_zeros(1), count.cumsum(0)])

    @cached_property
    def by_node(self) -> Tensor:
        """The edges sorted by node `[E]`."""
        return torch.argsort(self.col, stable=True)

    @cached_property
    def transposed(self) -> Heard:
        """The same edges by node; nodes that nobody hears have none."""
        return Heard(self.col[self.by_node], self.row[self.by_node], (self.shape[1], self.shape[0]))

    @cached_property
    def _pattern(self) -> Tensor:
        return Sparse.from_coo(self.row, self.col, torch.ones(self.row.shape, device=self.row.device), self.shape).csr

    def matrix(self, value: Tensor) -> Tensor:
        """CSR `[S, n]` with a value an edge."""
        crow, col = self._pattern.crow_indices(), self._pattern.col_indices()
        return torch.sparse_csr_tensor(crow, col, value, size=self.shape, check_invariants=False)


def listen(score: Tensor, h: Tensor, heard: Heard) -> Tensor:
    """sum_j softmax_j(s_ij) h_j over what listener i hears: `[E]`, `[n, d]` -> `[S, d]`."""
    out: Tensor = _Listen.apply(score, h, heard)  # type: ignore[no-untyped-call]
    return out


class _Listen(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, score: Tensor, h: Tensor, heard: Heard) -> Tensor:
        score = score.contiguous()
        top = torch.segment_reduce(score, "max", offsets=heard.offsets)
        weight = torch.exp(score - top.index_select(0, heard.row))
        total = torch.segment_reduce(weight, "sum", offsets=heard.offsets)
        alpha = weight / total.index_select(0, heard.row)
        out = product(heard.matrix(alpha), h)
        ctx.heard = heard
        ctx.save_for_backward(alpha, h, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        alpha, h, out = ctx.saved_tensors
        heard, grad = ctx.heard, grad.contiguous()
        inner = torch.sparse.sampled_addmm(heard.matrix(alpha), grad, h.t(), beta=0.0).values()
        mean = (grad * out).sum(1)
        score_grad = alpha * (inner - mean.index_select(0, heard.row))
        back = heard.transposed.matrix(alpha.index_select(0, heard.by_node))
        return score_grad, product(back, grad), None
