"""The meta-set of NodeImport: a few typical training nodes of each class, by partitioning around medoids (PAM)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Metric = Literal["manhattan", "euclidean"]

#: Nodes of a class that medoids are looked for among: a random part where there are more, as distances are all pairs.
MOST = 2000

#: Swaps, at most.
SWAPS = 300

#: Points that the change of the sum is taken over at a time: what the cache holds.
ROWS = 64


def class_medoids(
    points: Tensor, labels: Tensor, n_classes: int, count: int, metric: Metric, rng: torch.Generator
) -> Tensor:
    """Positions of the medoids of each class, class by class.

    Args:
        points, labels: `[n, F]` and their classes.
        count: Medoids a class; at most half of its points, so that as many are left to learn from.
    """
    found = [labels.new_empty(0)]
    for c in range(n_classes):
        own = (labels == c).nonzero().flatten()
        m = min(count, own.numel() // 2)
        if own.numel() > MOST:
            own = own[torch.randperm(own.numel(), generator=rng, device=own.device)[:MOST]]
        if m:
            distance = torch.cdist(points[own], points[own], p=1.0 if metric == "manhattan" else 2.0)
            found.append(own[pam(distance, m)].sort().values)
    return torch.cat(found)


def pam(distance: Tensor, m: int) -> Tensor:
    """`m` of the points whose distances `[n, n]` are given, with a small sum of distances to the nearest of them.

    It starts from the points nearest to all others, and makes the best swap of a medoid with a point as long as
    one lowers the sum.
    """
    medoids = distance.sum(1).topk(m, largest=False).indices
    for _ in range(SWAPS):
        change = _changes(distance, medoids)
        best = int(change.argmin())
        old, new = divmod(best, distance.shape[0])
        if not change[old, new] < -1e-6 * distance[:, medoids].min(1).values.sum():
            break
        medoids[old] = new
    return medoids


def _changes(distance: Tensor, medoids: Tensor) -> Tensor:
    """What a swap of medoid i with point h does to the sum: `[m, n]`.

    With d_1 and d_2 to its two nearest medoids, a point gains min(d_h, d_1) - d_1 where its nearest stays; those of
    medoid i go to h or to their second nearest, which is d_h clamped to d_1 and d_2, less d_1, beside that.
    """
    near = distance[:, medoids]
    first, nearest = near.min(1, keepdim=True)
    second = near.scatter(1, nearest, torch.inf).min(1, keepdim=True).values
    of = torch.zeros_like(near).scatter_(1, nearest, 1.0).T
    gain = torch.zeros_like(distance[0])
    lost = torch.zeros(medoids.numel(), distance.shape[0], device=distance.device)
    for start in range(0, distance.shape[0], ROWS):
        rows = slice(start, start + ROWS)
        gain += torch.minimum(distance[rows], first[rows]).sub_(first[rows]).sum(0)
        lost += of[:, rows] @ torch.clamp(distance[rows], first[rows], second[rows]).sub_(first[rows])
    return gain + lost
