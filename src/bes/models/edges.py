"""Attention over the edges of a graph, with gradients written out so that no `[E, d]` array is kept.

Autograd would store several arrays of one row an edge, and touching that fresh memory costs more than the
arithmetic. Here the weighted sum and its gradients are sparse products, and what needs a row an edge goes
block by block through the cache, summed along rows: never scattered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from bes.graph.sparse import Operators, product

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
        out = product(_matrix(ops, alpha), h)
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
        return score_grad, product(_matrix(ops, alpha.index_select(0, reversed_edges(ops))), grad), None


class _Reach(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, source: Tensor, target: Tensor, ops: Operators) -> Tensor:
        row, col = ops.looped
        z = source.index_select(0, col).add_(target.index_select(0, row))
        ctx.ops = ops
        ctx.save_for_backward(z)
        return F.leaky_relu(z, SLOPE)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (z,) = ctx.saved_tensors
        grad = torch.ops.aten.leaky_relu_backward(grad, z, SLOPE, False)
        offsets = ctx.ops.gcn.csr.crow_indices().long()
        reverse = grad.index_select(0, reversed_edges(ctx.ops))
        to_source, to_target = (torch.segment_reduce(one, "sum", offsets=offsets) for one in (reverse, grad))
        return to_source, to_target, None


class _PairScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, att: Tensor, ops: Operators) -> Tensor:
        both = torch.cat([left, right])
        ctx.ops = ops
        ctx.save_for_backward(both, att)
        score = left.new_empty(ops.looped.shape[1])
        for _, part in _blocks(ops, left.shape[1]):
            torch.mv(F.leaky_relu_(_pairs(both, ops.looped[:, part].flip(0)), SLOPE), att, out=score[part])
        return score

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """With s_ij the slopes at left_j + right_i: sum_i g_ij s_ij for left_j, and sum_j g_ij s_ij for right_i.

        Either sum runs along rows, the first along those of the transposed pattern. Their products with
        left and right hold the gradient of a: LeakyReLU(z) = s z.
        """
        both, att = ctx.saved_tensors
        ops = ctx.ops
        sums = torch.empty_like(both)
        left, right = sums.chunk(2)
        for rows, part in _blocks(ops, both.shape[1]):
            edges = ops.looped[:, part]
            reverse = grad.index_select(0, reversed_edges(ops)[part])
            left[rows] = _sloped_sums(_pairs(both, edges), reverse, rows, ops)
            right[rows] = _sloped_sums(_pairs(both, edges.flip(0)), grad[part], rows, ops)
        att_grad = torch.linalg.vecdot(sums, both, dim=0)
        sums *= att
        return left, right, att_grad, None


def _blocks(ops: Operators, width: int) -> Iterator[tuple[slice, slice]]:
    """Slices of the nodes, and of the edges that enter them: blocks that the cache holds but for larger rows."""
    pointer = ops.gcn.csr.crow_indices()
    n_edges = ops.looped.shape[1]
    starts = torch.arange(0, n_edges, max(1, _BLOCK // width), dtype=pointer.dtype, device=pointer.device)
    rows = torch.cat([torch.searchsorted(pointer, starts, right=True) - 1, pointer.new_tensor([ops.n_nodes])]).unique()
    edges = pointer[rows].tolist()
    for (first, last), (start, end) in zip(pairwise(rows.tolist()), pairwise(edges), strict=True):
        yield slice(first, last), slice(start, end)


def _pairs(both: Tensor, edges: Tensor) -> Tensor:
    """left_u + right_v for edges (u, v) `[2, e]`, from left and right one below the other: `[e, d]`."""
    u, v = edges
    return F.embedding_bag(torch.stack([u, v + both.shape[0] // 2], dim=1), both, mode="sum")


def _sloped_sums(z: Tensor, grad: Tensor, rows: slice, ops: Operators) -> Tensor:
    """Sums over the edges of each row of g s: `[e, d]` and `[e]` -> `[rows, d]`."""
    sloped = torch.ops.aten.leaky_relu_backward(grad[:, None].expand_as(z), z, SLOPE, False)
    pointer = ops.gcn.csr.crow_indices()[rows.start : rows.stop + 1].long()
    each = torch.arange(len(z), device=z.device)
    return F.embedding_bag(each, sloped, pointer - pointer[0], mode="sum", include_last_offset=True)


def attend(score: Tensor, h: Tensor, ops: Operators) -> Tensor:
    """sum_j softmax_j(s_ij) h_j over the neighbours of i and i itself: `[E]`, `[N, d]` -> `[N, d]`."""
    out: Tensor = _Attend.apply(score, h, ops)  # type: ignore[no-untyped-call]
    return out


def reach(source: Tensor, target: Tensor, ops: Operators) -> Tensor:
    """LeakyReLU(source_j + target_i) for each edge (i, j) of `ops.looped`: from `[N]` or `[N, heads]` twice."""
    score: Tensor = _Reach.apply(source, target, ops)  # type: ignore[no-untyped-call]
    return score


def pair_score(left: Tensor, right: Tensor, att: Tensor, ops: Operators) -> Tensor:
    """a . LeakyReLU(left_j + right_i) for each edge (i, j) of `ops.looped`: `[N, d]` twice, `[d]` -> `[E]`."""
    score: Tensor = _PairScore.apply(left, right, att, ops)  # type: ignore[no-untyped-call]
    return score
