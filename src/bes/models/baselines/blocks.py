"""Sums over all pairs of rows in blocks: time of N x M, memory of a few blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bes.products import times

#: Entries of one block: 4 million floats are 16 MiB.
BLOCK = 1 << 22

#: Entries up to which all blocks are held for the backward pass, which else makes them again: 64 MiB.
HELD = 1 << 24


def row_logsumexp(a: Tensor, b: Tensor, scale: float = 1.0, *, skip_self: bool = False) -> Tensor:
    """log sum_j exp(scale a_i . b_j) `[N]` for `a` `[N, D]` and `b` `[M, D]`; differentiable in both.

    Above `HELD` the N x M products are never held at once: backward makes them again.

    Args:
        skip_self: Leave j = i out of the sum of row i: `a` is then the first N rows of `b`, or all of them.
    """
    found: Tensor = _RowLogSumExp.apply(a, b, scale, skip_self)  # type: ignore[no-untyped-call]
    return found


class _RowLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, scale: float, skip_self: bool) -> Tensor:
        top, total, held = a.new_empty(len(a)), a.new_empty(len(a)), []
        for rows, logits in _blocks(a, b, scale, skip_self):
            largest = logits.amax(1)
            top[rows] = largest.masked_fill_(largest.isinf(), 0.0)
            weight = logits.sub_(top[rows, None]).exp_()
            total[rows] = weight.sum(1)
            if len(a) * len(b) <= HELD:
                held.append((rows, weight))
        ctx.save_for_backward(a, b, top, total)
        ctx.scale, ctx.skip_self, ctx.held = scale, skip_self, held
        return top + total.log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, b, top, total = ctx.saved_tensors
        to_a, to_b, share = torch.empty_like(a), torch.zeros_like(b), (ctx.scale * grad / total)[:, None]
        again = (
            (rows, logits.sub_(top[rows, None]).exp_()) for rows, logits in _blocks(a, b, ctx.scale, ctx.skip_self)
        )
        for rows, weight in ctx.held or again:
            to_a[rows] = share[rows] * times(weight, b)  # rows are scaled in what is narrow
            to_b += times(weight.T, share[rows] * a[rows])
        return to_a, to_b, None, None


def _blocks(a: Tensor, b: Tensor, scale: float, skip_self: bool) -> Iterator[tuple[slice, Tensor]]:
    """Runs of rows of `a` with their products with all of `b`."""
    step = max(1, BLOCK // max(1, len(b)))
    for start in range(0, len(a), step):
        rows = slice(start, min(start + step, len(a)))
        logits = times(a[rows], b.T).mul_(scale)
        if skip_self:
            logits.diagonal(start).fill_(-torch.inf)
        yield rows, logits
