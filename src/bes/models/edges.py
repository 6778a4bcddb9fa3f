"""Attention over the edges of a graph, with gradients written out so that no `[E, d]` array is kept.

Autograd would store several arrays of one row an edge, and touching that fresh memory costs more than the
arithmetic. Here the weighted sum and its gradients are sparse products, and what needs a row an edge goes
block by block through the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from bes.graph.sparse import Operators

SLOPE = 0.2  # of LeakyReLU, in both attention layers
_BLOCK = 2**18  # numbers at a time: 1 MiB, which the cache holds

_REVERSED: WeakKeyDictionary[Operators, Tensor] = WeakKeyDictionary()


def reversed_edges(ops: Operators) -> Tensor:
    """For each edge (i, j) of `ops.looped` the position of (j, i): transposes values on that pattern."""
    if ops not in _REVERSED:
        row, col = ops.looped
        _REVERSED[ops] = torch.argsort(col * ops.n_nodes + row)
    return _REVERSED[ops]


def _matrix(ops: Operators, value: Tensor) -> Tensor:
    """CSR `[N, N]` with the pattern of A + I and `value` `[E]`."""
    pattern = ops.gcn.csr
    shape = (ops.n_nodes, ops.n_nodes)
    return torch.sparse_csr_tensor(
        pattern.crow_indices(), pattern.col_indices(), value, size=shape, check_invariants=False
    )


def softmax(score: Tensor, ops: Operators) -> Tensor:
    """exp(s_ij) / sum_j exp(s_ij) over the edges `[E]` that enter node i, in the order of `ops.looped`."""
    row = ops.looped[0]
    offsets = ops.gcn.csr.crow_indices().long()
    top = torch.segment_reduce(score, "max", offsets=offsets)
    weight = torch.exp(score - top.index_select(0, row))
    total = torch.segment_reduce(weight, "sum", offsets=offsets)
    return weight / total.index_select(0, row)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, score: Tensor, h: Tensor, ops: Operators) -> Tensor:
        alpha = softmax(score, ops)
        out = _matrix(ops, alpha) @ h
        ctx.ops = ops
        ctx.save_for_backward(alpha, h, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        alpha, h, out = ctx.saved_tensors
        ops, grad = ctx.ops, grad.contiguous()
        inner = torch.sparse.sampled_addmm(_matrix(ops, alpha), grad, h.t(), beta=0.0).values()
        mean = (grad * out).sum(1)  # sum_j alpha_ij inner_ij, without a pass over the edges
        score_grad = alpha * (inner - mean.index_select(0, ops.looped[0]))
        return score_grad, _matrix(ops, alpha.index_select(0, reversed_edges(ops))) @ grad, None


class _PairScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, att: Tensor, ops: Operators) -> Tensor:
        ctx.ops = ops
        ctx.save_for_backward(left, right, att)
        score = left.new_empty(ops.looped.shape[1])
        for part, _, _, z in _blocks(left, right, ops):
            torch.mv(F.leaky_relu_(z, SLOPE), att, out=score[part])
        return score

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        left, right, att = ctx.saved_tensors
        left_grad, right_grad, att_grad = torch.zeros_like(left), torch.zeros_like(right), torch.zeros_like(att)
        for part, row, col, z in _blocks(left, right, ctx.ops):
            sloped = torch.ops.aten.leaky_relu_backward(grad[part, None].expand_as(z), z, SLOPE, False)
            left_grad.index_add_(0, col, sloped)
            right_grad.index_add_(0, row, sloped)
            att_grad += F.leaky_relu_(z, SLOPE).t() @ grad[part]
        return left_grad.mul_(att), right_grad.mul_(att), att_grad, None


def _blocks(left: Tensor, right: Tensor, ops: Operators) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
    """Slices of the edges with their rows, their columns and left_j + right_i."""
    size = max(1, _BLOCK // left.shape[1])
    for start in range(0, ops.looped.shape[1], size):
        part = slice(start, start + size)
        row, col = ops.looped[:, part]
        yield part, row, col, left.index_select(0, col).add_(right.index_select(0, row))


def attend(score: Tensor, h: Tensor, ops: Operators) -> Tensor:
    """sum_j softmax_j(s_ij) h_j over the neighbours of i and i itself: `[E]`, `[N, d]` -> `[N, d]`."""
    out: Tensor = _Attend.apply(score, h, ops)  # type: ignore[no-untyped-call]
    return out


def pair_score(left: Tensor, right: Tensor, att: Tensor, ops: Operators) -> Tensor:
    """a . LeakyReLU(left_j + right_i) for each edge (i, j) of `ops.looped`: `[N, d]` twice, `[d]` -> `[E]`."""
    score: Tensor = _PairScore.apply(left, right, att, ops)  # type: ignore[no-untyped-call]
    return score
