"""Sums over all pairs of rows in blocks: time of N x M, memory of a few blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

#: Entries of one block: 4 million floats are 16 MiB.
BLOCK = 1 << 22


def row_logsumexp(a: Tensor, b: Tensor, scale: float = 1.0, *, skip_self: bool = False) -> Tensor:
    """log sum_j exp(scale a_i . b_j) `[N]` for `a` `[N, D]` and `b` `[M, D]`; differentiable in both.

    The N x M products are never held at once: backward makes them again.

    Args:
        skip_self: Leave j = i out of the sum of row i: `a` is then the first N rows of `b`, or all of them.
    """
    found: Tensor = _RowLogSumExp.apply(a, b, scale, skip_self)  # type: ignore[no-untyped-call]
    return found


class _RowLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, scale: float, skip_self: bool) -> Tensor:
        out = torch.cat([logits.logsumexp(1) for _, logits in _blocks(a, b, scale, skip_self)])
        ctx.save_for_backward(a, b, out)
        ctx.scale, ctx.skip_self = scale, skip_self
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, b, out = ctx.saved_tensors
        to_a, to_b = torch.empty_like(a), torch.zeros_like(b)
        for rows, logits in _blocks(a, b, ctx.scale, ctx.skip_self):
            weight = logits.sub_(out[rows, None]).exp_().mul_(ctx.scale * grad[rows, None])
            to_a[rows] = weight @ b
            to_b += weight.T @ a[rows]
        return to_a, to_b, None, None


def _blocks(a: Tensor, b: Tensor, scale: float, skip_self: bool) -> Iterator[tuple[slice, Tensor]]:
    """Runs of rows of `a` with their products with all of `b`."""
    step = max(1, BLOCK // max(1, len(b)))
    for start in range(0, len(a), step):
        rows = slice(start, min(start + step, len(a)))
        logits = torch.matmul(a[rows], b.T).mul_(scale)
        if skip_self:
            logits.diagonal(start).fill_(-torch.inf)
        yield rows, logits
