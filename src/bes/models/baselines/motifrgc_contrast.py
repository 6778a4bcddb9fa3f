"""The contrast of two views of all nodes, in blocks, both directions from one product."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bes.products import times

#: Entries of one block: half a million floats are 2 MiB, which the cache holds.
BLOCK = 1 << 19

#: Entries up to which all blocks are held for the backward pass, which else makes them again.
HELD = 1 << 22


def contrast(a: Tensor, b: Tensor, temperature: float) -> Tensor:
    """-log(e^s_ii / sum_{j != i} e^s_ij) with s = cosine / temperature, the mean over `a` -> `b` and `b` -> `a`.

    Args:
        a, b: Two views of the same nodes `[N, D]`, at least two of them.
        temperature: At least 0.02, below which exponentials of cosines overflow.
    """
    a, b = _unit(a), _unit(b)
    rows, columns = both_logsumexp(a, b, 1 / temperature)
    return (rows + columns).mean() / 2 - (a * b).sum(1).mean() / temperature


def both_logsumexp(a: Tensor, b: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """log sum_{j != i} exp(scale a_i . b_j) and log sum_{j != i} exp(scale a_j . b_i), `[N]` each.

    As `blocks.row_logsumexp`, called twice, but for rows of length one: then no maximum has to be taken out, and one
    block of products serves both.
    """
    rows, columns = _BothLogSumExp.apply(a, b, scale)  # type: ignore[no-untyped-call]
    return rows, columns


class _BothLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        rows, columns = a.new_empty(len(a)), b.new_zeros(len(b))
        ctx.held = []
        for part, weight in _blocks(a, b, scale):
            rows[part] = weight.sum(1)
            columns += weight.sum(0)
            if len(a) * len(b) <= HELD:
                ctx.held.append((part, weight))
        ctx.save_for_backward(a, b, rows, columns)
        ctx.scale = scale
        return rows.log(), columns.log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_rows: Tensor, by_columns: Tensor) -> tuple[Tensor, Tensor, None]:
        a, b, rows, columns = ctx.saved_tensors
        by_rows, by_columns = ctx.scale * by_rows / rows, ctx.scale * by_columns / columns
        to_a, to_b = torch.empty_like(a), torch.zeros_like(b)
        for part, made in ctx.held or _blocks(a, b, ctx.scale):
            weight = made * (by_rows[part, None] + by_columns)
            to_a[part] = times(weight, b)
            to_b += times(weight.T, a[part])
        return to_a, to_b, None


def _blocks(a: Tensor, b: Tensor, scale: float) -> Iterator[tuple[slice, Tensor]]:
    """Runs of rows of exp(scale a b^T), its diagonal zero."""
    step = max(1, BLOCK // max(1, len(b)))
    for start in range(0, len(a), step):
        part = slice(start, min(start + step, len(a)))
        weight = times(a[part], b.T).mul_(scale).exp_()
        weight.diagonal(start).zero_()
        yield part, weight


def _unit(x: Tensor) -> Tensor:
    """Rows of length one; a row of zeros stays, with a gradient that is not that of a division by nearly nothing."""
    length = x.norm(dim=1, keepdim=True)
    return x / torch.where(length > 0, length, 1.0)
