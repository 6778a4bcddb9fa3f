"""Nearest neighbours in embedding space, exact and in blocks of bounded memory."""

from __future__ import annotations

import torch
from torch import Tensor

#: Numbers that a blocked computation holds at a time: 2 M floats, 8 MiB.
BLOCK = 1 << 21

#: Columns searched together.
GROUP = 64


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """||a_i - b_j||^2 `[A, B]` by one matrix product, never below zero.

    Both sides are centred first, which is what keeps the product's cancellation small. The centre
    is rounded to a power of two below the spread, so that whole numbers stay whole and ties stay ties.
    """
    centre = _centre(b)
    a, b = a - centre, b - centre
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1)
    return (squares - 2 * (a @ b.T)).clamp(min=0)


def _centre(z: Tensor) -> Tensor:
    mean = z.mean(0)
    finest = mean.abs() * 2.0**-22  # below, the rounded mean would not fit a float32
    grid = torch.exp2(torch.floor(torch.log2(torch.maximum(z.std(0, correction=0), finest).clamp(min=1e-30))))
    return torch.round(mean / grid) * grid


def nearest(query: Tensor, z: Tensor, k: int) -> Tensor:
    """The `k` nearest other rows of `z` for the rows `query` of it, `[Q, min(k, n - 1)]`.

    Args:
        query: Indices of rows of `z` `[Q]`.
        z: Embeddings `[n, D]`.

    Equally distant rows are taken in the order of their index.
    """
    n = z.shape[0]
    k = min(k, n - 1)
    found = torch.empty(query.numel(), k, dtype=torch.long, device=z.device)
    if k == 0:
        return found
    z = z - _centre(z)
    squares = (z * z).sum(1)
    step = max(1, BLOCK // n)
    for start in range(0, query.numel(), step):
        rows = query[start : start + step]
        # ||a||^2 is the same along a row, and so does not change who is near
        distance = torch.addmm(squares, z[rows], z.T, alpha=-2)
        distance.scatter_(1, rows[:, None], float("inf"))
        found[start : start + step] = smallest(distance, k)
    return found


def smallest(distance: Tensor, k: int) -> Tensor:
    """Columns of the `k` smallest entries of each row `[Q, k]`, nearest first, ties by column."""
    value, column = lowest(distance, min(k + 1, distance.shape[1]))
    if value.shape[1] > k:
        tied = (value[:, k - 1] == value[:, k]).nonzero().flatten()
        value, column = value[:, :k], column[:, :k].clone()
        if tied.numel():  # which of the equally distant ones topk takes is not defined
            column[tied] = _smallest_with_ties(distance[tied], value[tied, -1:], k)
    column = column.sort(dim=1).values
    order = distance.gather(1, column).sort(dim=1, stable=True).indices
    return column.gather(1, order)


def lowest(distance: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The `k` smallest values of each row and their columns.

    They lie in the k groups of columns with the smallest minima: a pass for the minima and two small
    searches are faster than one search in all columns.
    """
    n = distance.shape[1]
    groups = n // GROUP
    if groups < 4 * k:
        return distance.topk(k, dim=1, largest=False)
    whole = distance[:, : groups * GROUP].unflatten(1, (groups, GROUP))
    group = whole.amin(2).topk(k, dim=1, largest=False).indices
    column = (group[:, :, None] * GROUP + torch.arange(GROUP, device=distance.device)).flatten(1)
    rest = torch.arange(groups * GROUP, n, device=distance.device).expand(len(distance), -1)
    column = torch.cat([column, rest], dim=1)
    value, place = distance.gather(1, column).topk(k, dim=1, largest=False)
    return value, column.gather(1, place)


def _smallest_with_ties(distance: Tensor, limit: Tensor, k: int) -> Tensor:
    """All columns below the `limit` of each row, and of those at it the first ones, `[Q, k]`."""
    closer, equal = distance < limit, distance == limit
    open_places = k - closer.sum(1, keepdim=True)
    taken = closer | (equal & (equal.cumsum(1) <= open_places))
    return taken.nonzero()[:, 1].reshape(-1, k)
