"""The two losses of GraphECL, and what they are made of: products of chosen pairs, draws of neighbours."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bes.graph.sparse import Operators, Sparse
from bes.models.baselines.blocks import BLOCK, row_logsumexp
from bes.products import times

#: Up to this many products of pairs are held, which spares making them a second time: 100 MB.
HELD = 25_000_000


def unit(x: Tensor) -> Tensor:
    """Rows at length 1; a row of zeros stays one, and has no gradient instead of an endless one."""
    length = x.norm(dim=1, keepdim=True)
    made: Tensor = x / length.masked_fill(length == 0, torch.inf)
    return made


def log_partition(a: Tensor, b: Tensor, tau: float) -> Tensor:
    """log sum_k exp(a_v . b_k / tau) `[N]`."""
    if len(a) * len(b) <= HELD:
        return times(a, b.T).div_(tau).logsumexp(1)
    return row_logsumexp(a, b, 1 / tau)


def full_loss(z: Tensor, q: Tensor, near: Operators, tau: float, lam: float, some: Tensor | None = None) -> Tensor:
    """mean_v mean_{u in N(v) + v} [-z_u . q_v / tau + log(S1(v) + lam S2(u))].

    S1(v) = sum_k exp(z_v . z_k / tau), S2(u) = sum_k exp(z_u . q_k / tau).

    Args:
        near: Of the graph with a self-loop at every node.
        some: Nodes that k runs over instead of all; the sums are scaled to stand for all.
    """
    others = (z, q) if some is None else (z[some], q[some])
    rest = 0.0 if some is None else math.log(len(z) / len(some))
    s1, s2 = (log_partition(z, other, tau) + rest for other in others)
    v, u = near.edge_index
    apart = torch.logaddexp(s1[v], math.log(lam) + s2[u]) if lam > 0 else s1[v]
    return ((apart / near.degree[v]).sum() - ((near.mean @ z) * q).sum() / tau) / len(z)


def sampled_loss(z: Tensor, q: Tensor, pos: Tensor, neg: Tensor, tau: float, lam: float) -> Tensor:
    """mean_v mean_{u in pos(v)} [-q_v . z_u / tau + log(lam sum_k exp(q_v . z_k / tau) + sum_k exp(z_u . z_k / tau))].

    k runs over neg(v).

    Args:
        pos, neg: Nodes `[N, s]` for each node.
    """
    n, s = pos.shape
    v = torch.arange(n, device=z.device)[:, None].expand(n, s)
    near = pair_products(q, z, v, pos) / tau
    far = pair_products(q, z, v, neg).div(tau).logsumexp(1, keepdim=True)
    u, k = pos[:, :, None].expand(n, s, s), neg[:, None, :].expand(n, s, s)
    apart = pair_products(z, z, u, k).div(tau).logsumexp(2)
    return (torch.logaddexp(math.log(lam) + far, apart) if lam > 0 else apart).sub(near).mean()


def draw_neighbours(ops: Operators, s: int, rng: torch.Generator) -> Tensor:
    """`s` neighbours of each node `[N, s]`: different ones where there are as many, else all and some again.

    A node without neighbours has itself.
    """
    degree, (row, col) = ops.degree.long(), ops.edge_index
    order = torch.randperm(row.numel(), generator=rng, device=row.device)
    shuffled = col[order[torch.argsort(row[order], stable=True)]]
    again = torch.rand(ops.n_nodes, s, generator=rng, device=row.device).mul(degree[:, None]).long()
    place = torch.arange(s, device=row.device).expand(ops.n_nodes, s)
    place = torch.where(place < degree[:, None], place, again.minimum(degree[:, None] - 1))
    start = degree.cumsum(0) - degree
    alone = torch.arange(ops.n_nodes, device=row.device)[:, None]
    if row.numel() == 0:
        return alone.expand(ops.n_nodes, s)
    return torch.where(degree[:, None] > 0, shuffled[(start[:, None] + place).clamp(0, row.numel() - 1)], alone)


def pair_products(a: Tensor, b: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """a_left . b_right for chosen rows, in the shape of `left`; no row a pair is kept for the backward pass."""
    found: Tensor = _PairProducts.apply(a, b, left.flatten(), right.flatten())  # type: ignore[no-untyped-call]
    return found.view(left.shape)


class _PairProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(a, b, left, right)
        step = max(1, BLOCK // max(1, a.shape[1]))
        return torch.cat([(a[i] * b[j]).sum(1) for i, j in zip(left.split(step), right.split(step), strict=True)])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        a, b, left, right = ctx.saved_tensors
        order = torch.argsort(left, stable=True)
        matrix = Sparse.from_coo(left[order], right[order], grad[order], (len(a), len(b)))
        return matrix @ b, matrix.transposed @ a, None, None
