"""Distances of many pairs of rows, with gradients that no row a pair is kept or scattered for."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bes.graph.sparse import Sparse

#: Pairs at a time: what the cache holds.
BLOCK = 1 << 14


def square_distances(z: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """|z_u - z_v|^2 `[K]` of rows of `z` `[N, D]`."""
    found: Tensor = _SquareDistances.apply(z, u, v)  # type: ignore[no-untyped-call]
    return found


class _SquareDistances(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, u: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(z, u, v)
        out = z.new_empty(len(u))
        for start in range(0, len(u), BLOCK):
            part = slice(start, start + BLOCK)
            apart = z.index_select(0, u[part]).sub_(z.index_select(0, v[part]))
            out[part] = apart.square_().sum(1)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """2 (D - G) Z with G_uv = G_vu = g of the pair, those of one pair added up, and D the sums of its rows."""
        z, u, v = ctx.saved_tensors
        n = len(z)
        row, order = torch.sort(torch.cat([u, v]).int())  # 32 bits are sorted in half the time
        column, value = (torch.cat(both).index_select(0, order) for both in ((v.int(), u.int()), (grad, grad)))
        matrix = Sparse.from_coo(row, column, value, (n, n))
        found = matrix @ torch.cat([z, z.new_ones(n, 1)], dim=1)  # the last column has D
        return 2 * (found[:, -1:] * z - found[:, :-1]), None, None
