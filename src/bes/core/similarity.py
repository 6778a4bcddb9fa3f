"""Gravity: how strongly a node is pulled to its class and pushed from the others (Eq. 6 to 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor

from bes.core.neighbors import squared_distances
from bes.core.rows import Rows, blocks

Hinge = Literal["region", "rival"]

#: A distance that counts as none.
FLOOR = 1e-15


def pairwise(z: Tensor, others: Tensor) -> Tensor:
    """Eq. 6 and 7: -||z_b - z_j||^2 `[B, n]`, to members of the own class and of the others alike.

    In float64: near pairs far from the centre would drown in the rounding of the product.
    """
    return -squared_distances(z.double(), others.double()).to(z.dtype)


def center_distances(z: Tensor, means: Tensor) -> Tensor:
    """||z_b - mu_c||^2 `[B, C]`, summed over differences: exact also where both are far from the origin.

    `means` are constants: no gradient goes to them.
    """
    found: Tensor = _CenterDistances.apply(z, means)  # type: ignore[no-untyped-call]
    return found


class _CenterDistances(torch.autograd.Function):
    """Differences `[b, C, D]` of some rows at a time, which a cache holds; none is kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, means: Tensor) -> Tensor:
        ctx.save_for_backward(z, means)
        parts = [apart.square_().sum(2) for _, apart in _differences(z, means)]
        return torch.cat([z.new_empty(0, len(means)), *parts])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        z, means = ctx.saved_tensors
        parts = [(grad[part, None, :] @ apart).squeeze(1) for part, apart in _differences(z, means)]
        return 2 * torch.cat([z[:0], *parts]), None


def _differences(z: Tensor, means: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Runs of rows with z_b - mu_c `[b, C, D]`."""
    for part in blocks(len(z), max(1, means.numel())):
        yield part, z[part, None, :] - means


def center_positive(squared: Tensor, y: Tensor, radius: Tensor) -> Tensor:
    """Eq. 9: -max(0, ||z_b - mu_b|| - r_b)^2 `[B]`.

    Args:
        squared: Squared distances to all centres `[B, C]`.
        y: Class of each node `[B]`.
        radius: The hinge r_b of each node `[B]`: see `region_radius` and `rival_radius`.
    """
    own = squared.gather(1, y[:, None]).squeeze(1)
    return -(root(own) - radius).clamp(min=0).square()


def excluded(y: Tensor, present: Tensor) -> Tensor:
    """Centres that do not repel: each node's own, and those of absent classes, `[B, C]` bool."""
    return torch.nn.functional.one_hot(y, present.numel()).bool() | ~present


def center_negative(squared: Tensor, excluded: Tensor) -> Tensor:
    """Eq. 10: -||z_b - mu_j||^2 `[B, C]` for the other classes, -inf for the `excluded` centres."""
    return (-squared).masked_fill(excluded, -torch.inf)


def region_radius(z_region: Rows, means: Tensor) -> Tensor:
    """The hinge of Eq. 9: distance from each centre to the nearest node of the region `[C]`; infinite without any."""
    nearest = torch.full_like(means[:, 0], torch.inf, dtype=torch.float64)
    for part in blocks(*z_region.shape):
        squared = squared_distances(z_region[part].double(), means.double())
        nearest = torch.minimum(nearest, squared.min(0).values)
    return nearest.sqrt().to(means)


def rival_radius(negative: Tensor) -> Tensor:
    """The official code's hinge: the node's own distance to the nearest other centre `[B]`."""
    return root(-negative.max(1).values)


def root(squared: Tensor) -> Tensor:
    """Square root whose slope at 0 is 0, not infinite."""
    return squared.clamp(min=FLOOR**2).sqrt()


def class_scatter(z: Tensor, mean: Tensor) -> Tensor:
    """The last sum of Eq. 8, which does not depend on the node that is pulled."""
    return (z - mean).square().sum()
