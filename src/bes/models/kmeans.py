"""k-means: clusters of embeddings, in blocks of bounded memory and the same at every call."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bes import seeding
from bes.core.neighbors import BLOCK, squared_distances
from bes.errors import InputError

#: Rows among which the first centres are drawn.
SAMPLE = 20_000


@torch.no_grad()
def kmeans(z: Tensor, k: int, *, seed: int, n_iter: int = 50) -> Tensor:
    """The cluster of each row of `z` `[N, D]`, `[N]` int64 on its device.

    Lloyd's iterations from k-means++ centres, until no row changes its cluster or `n_iter` times. A centre that
    loses all its rows moves to the row that is farthest from its own. Clusters are numbered in the order in
    which the rows first meet them, so row 0 is in cluster 0; there are fewer than `k` where fewer rows differ.
    """
    _check(z, k)
    z = z - z.mean(0)  # near the origin float32 has the digits
    centres = _start(z, k, seeding.generator(seed, "kmeans"))
    cluster = _assign(z, centres)
    for _ in range(n_iter):
        centres = _update(z, cluster, centres)
        before, cluster = cluster, _assign(z, centres)
        if torch.equal(before, cluster):
            break
    return _by_appearance(cluster)


def _check(z: Tensor, k: int) -> None:
    if z.dim() != 2 or not torch.isfinite(z).all():
        raise InputError(f"z of shape {tuple(z.shape)} cannot be clustered: give a matrix of finite numbers.")
    if not 1 <= k <= z.shape[0]:
        raise InputError(f"The number of clusters k={k} is out of range: use 1 to {z.shape[0]}, the rows of z.")


def _start(z: Tensor, k: int, rng: torch.Generator) -> Tensor:
    """k-means++ centres `[m, D]`, all different rows of `z`: `m = k`, or as many as differ."""
    sample = torch.randperm(len(z), generator=rng)[:SAMPLE].to(z.device)
    centres = _spread(z[sample], k, rng)
    # too few different rows in the sample says nothing of the rest
    return centres if len(centres) == k or len(z) <= SAMPLE else _spread(z, k, rng)


def _spread(z: Tensor, k: int, rng: torch.Generator) -> Tensor:
    """The first row, and then rows drawn with the squared distance to the nearest one so far as their weight."""
    chosen = [0]
    distance = _from_row(z, 0)
    while len(chosen) < k and distance.any():
        heap = distance.double().cumsum(0)
        draw = torch.rand(1, generator=rng, dtype=torch.float64).to(z.device) * heap[-1]
        row = int(torch.searchsorted(heap, draw, right=True).clamp(max=len(z) - 1))
        chosen.append(row)
        distance = torch.minimum(distance, _from_row(z, row))
    return z[chosen]


def _from_row(z: Tensor, row: int) -> Tensor:
    """The squared distance of each row from one of them `[N]`: exactly 0 for equal rows, unlike by products."""
    return torch.cat([(part - z[row]).square().sum(1) for part in z.split(_step(z, 1))])


def _assign(z: Tensor, centres: Tensor) -> Tensor:
    """The nearest centre of each row `[N]`."""
    return torch.cat([squared_distances(part, centres).argmin(1) for part in z.split(_step(z, len(centres)))])


def _update(z: Tensor, cluster: Tensor, centres: Tensor) -> Tensor:
    """The mean of each cluster `[m, D]`; an empty one starts again at the row farthest from its centre."""
    m = len(centres)
    total = torch.zeros_like(centres, dtype=torch.float64)
    for part, own in _blocks(z, cluster, m):
        total.index_add_(0, own, part.double())
    count = torch.bincount(cluster, minlength=m)
    means = (total / count.clamp(min=1)[:, None]).to(z.dtype)
    empty = (count == 0).nonzero().flatten().tolist()
    return _refill(z, cluster, means, empty) if empty else means


def _refill(z: Tensor, cluster: Tensor, means: Tensor, empty: list[int]) -> Tensor:
    distance = torch.cat([(part - means[own]).square().sum(1) for part, own in _blocks(z, cluster, len(means))])
    for c in empty:
        row = int(distance.argmax())
        means[c] = z[row]
        distance = torch.minimum(distance, _from_row(z, row))  # the next one goes elsewhere
    return means


def _blocks(z: Tensor, cluster: Tensor, m: int) -> Iterator[tuple[Tensor, Tensor]]:
    step = _step(z, m)
    return zip(z.split(step), cluster.split(step), strict=True)


def _step(z: Tensor, m: int) -> int:
    """Rows of which neither the columns nor `m` distances exceed a block."""
    return max(1, BLOCK // max(z.shape[1], m, 1))


def _by_appearance(cluster: Tensor) -> Tensor:
    """The clusters in use as 0, 1, ... in the order of their first rows."""
    used, place = torch.unique(cluster, return_inverse=True)
    row = torch.arange(len(cluster), device=cluster.device)
    first = row.new_full((len(used),), len(cluster)).scatter_reduce(0, place, row, "amin")
    return first.argsort().argsort()[place]
