"""Class centres and covariance, kept as sums that can be merged (Algorithm 1, line 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bes.core.group import Group
from bes.core.rows import Rows, blocks

Covariance = Literal["pooled", "total", "per_class"]

#: Smallest eigenvalue of a covariance, as a share of the embedding's mean variance.
FLOOR = 1e-6

#: Share of the sum of squares below which what is left of it is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class ClassSums:
    """Sufficient statistics of one Gaussian a class; `a + b` describes both sets of nodes together.

    Sums are kept in float64 and about a point near the nodes: a covariance is a difference of large sums.

    Attributes:
        origin: The point that z is measured from `[D]`; sums merge if they share it.
        count: Members of each class `[C]`.
        total: Sum of z by class `[C, D]`.
        outer: Sum of z z^T, over all nodes `[1, D, D]` or by class `[C, D, D]`.
    """

    origin: Tensor
    count: Tensor
    total: Tensor
    outer: Tensor

    @classmethod
    def of(
        cls, z: Tensor, y: Tensor, n_classes: int, *, by_class: bool = False, origin: Tensor | None = None
    ) -> ClassSums:
        """The sums over rows of `z` `[n, D]` with classes `y` `[n]` in 0..C-1; about their mean by default."""
        wide = z.double()
        origin = wide.mean(0) if origin is None else origin.double()
        wide = wide - origin
        member = torch.nn.functional.one_hot(y, n_classes).to(wide)
        parts = [wide[y == c] for c in range(n_classes)] if by_class else [wide]
        outer = torch.stack([part.T @ part for part in parts])
        return cls(origin, member.sum(0), member.T @ wide, outer)

    @classmethod
    def over(cls, group: Group, z: Rows, y: Tensor, n_classes: int, *, by_class: bool = False) -> ClassSums:
        """The sums over the rows of all ranks, about their common mean, in blocks; a rank may have none."""
        parts = list(blocks(*z.shape)) or [slice(0, 0)]
        origin = None
        if group.size > 1 or len(parts) > 1:
            count = torch.tensor([len(y)], dtype=torch.float64, device=z.device)
            whole = sum(
                (z[part].sum(0, dtype=torch.float64) for part in parts[1:]), z[parts[0]].sum(0, dtype=torch.float64)
            )
            middle = group.sum(torch.cat([count, whole]))
            origin = middle[1:] / middle[0]
        own = cls.of(z[parts[0]], y[parts[0]], n_classes, by_class=by_class, origin=origin)
        for part in parts[1:]:
            own = own + cls.of(z[part], y[part], n_classes, by_class=by_class, origin=origin)
        return cls(own.origin, group.sum(own.count), group.sum(own.total), group.sum(own.outer))

    def __add__(self, other: ClassSums) -> ClassSums:
        if not torch.equal(self.origin, other.origin):
            raise ValueError("Sums about different origins cannot be added: give `of` the same origin.")
        return ClassSums(self.origin, self.count + other.count, self.total + other.total, self.outer + other.outer)

    @property
    def present(self) -> Tensor:
        """Which classes have a member `[C]`."""
        return self.count > 0

    @property
    def means(self) -> Tensor:
        """Class centres mu `[C, D]`; without meaning for a class without members."""
        return self.origin + self._offsets

    @property
    def _offsets(self) -> Tensor:
        return self.total / self.count.clamp(min=1)[:, None]

    @property
    def spread(self) -> float:
        """Root mean square distance of a node from its class centre; 1 where all lie on it."""
        squares = torch.diagonal(self.outer.sum(0)).sum().item()
        within = squares - (self.total * self._offsets).sum().item()
        return math.sqrt(within / self.count.sum().item()) if within > ROUNDING * squares else 1.0

    def covariance(self, kind: Covariance = "pooled", shrinkage: float | Literal["oas"] = "oas") -> Tensor:
        """Sigma, `[1, D, D]`, or `[C, D, D]` for `per_class`, always positive definite.

        Args:
            kind: `pooled` within-class scatter; `total` scatter around the common mean; `per_class`,
                each class's own scatter blended with the pooled one by (n_c - 1) / (n_c - 1 + D), so
                that a class with one member has the pooled covariance.
            shrinkage: Share of a multiple of the identity, in [0, 1], or `oas` (Chen et al. 2010).
        """
        n, dim = self.count.sum(), self.total.shape[1]
        mean = self.total.sum(0) / n
        total = self.outer.sum(0) - n * torch.outer(mean, mean)
        within = self.outer.sum(0) - torch.einsum("cd,ce->de", self.total, self._offsets)
        scale = torch.diagonal(total).sum().clamp(min=0) / (n * dim)
        if kind == "total":
            sigma, degrees = total[None] / (n - 1).clamp(min=1), (n - 1).clamp(min=1)[None]
        else:
            free = (n - self.present.sum()).clamp(min=1)
            sigma, degrees = within[None] / free, free[None]
        if kind == "per_class":
            free = (self.count - 1).clamp(min=0)
            own = self.outer - torch.einsum("cd,ce->cde", self.total, self._offsets)
            weight = (free / (free + dim))[:, None, None]
            sigma = weight * own / free.clamp(min=1)[:, None, None] + (1 - weight) * sigma
            degrees = free.clamp(min=1)
        return _shrink(sigma, degrees, shrinkage, torch.where(scale > 0, scale, 1.0))


def _shrink(sigma: Tensor, degrees: Tensor, shrinkage: float | Literal["oas"], scale: Tensor) -> Tensor:
    """(1 - r) Sigma + r tr(Sigma)/D I, and a floor for a scatter of zero."""
    dim = sigma.shape[-1]
    trace = torch.diagonal(sigma, dim1=-2, dim2=-1).sum(-1)
    share = _oas(sigma, trace, degrees) if shrinkage == "oas" else torch.full_like(trace, shrinkage)
    eye = torch.eye(dim, dtype=sigma.dtype, device=sigma.device)
    ridge = share * trace / dim + FLOOR * scale
    return (1 - share)[:, None, None] * sigma + ridge[:, None, None] * eye


def _oas(sigma: Tensor, trace: Tensor, degrees: Tensor) -> Tensor:
    """Oracle approximating shrinkage from Sigma and its degrees of freedom."""
    dim = sigma.shape[-1]
    square = (sigma * sigma).sum((-2, -1))
    top = (1 - 2 / dim) * square + trace**2
    bottom = (degrees + 1 - 2 / dim) * (square - trace**2 / dim)
    return torch.where(bottom > 0, top / bottom, 1.0).clamp(0, 1)
