"""Where MotifRGC keeps its points: a product of spaces of constant curvature that is learned.

Factor m has a curvature kappa_m and a point x_i of R^d for every node, in stereographic coordinates: for kappa < 0 a
ball of radius 1 / sqrt|kappa|, for kappa > 0 a sphere that is laid flat.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

#: Added where something is divided or its logarithm is taken.
EPS = 1e-5

#: How much of the ball's radius points keep clear of its rim, where the metric blows up.
RIM = 4e-3


class Space(nn.Module):
    """Points, curvatures, and the fixed random directions and phases of the kernel map.

    Args:
        curvature: kappa_0; curvatures begin at kappa_0 (1 + N(0, 1)).
        n_kernels: Features of the kernel map, for each factor.
    """

    ways: Tensor
    phases: Tensor

    def __init__(
        self, n_factors: int, n_nodes: int, dim: int, n_kernels: int, curvature: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        kappa = curvature * (1 + torch.randn(n_factors, generator=generator))
        way = F.normalize(torch.randn(n_factors, n_nodes, dim, generator=generator), dim=2)
        share = torch.rand(n_factors, n_nodes, 1, generator=generator)
        radius = torch.where(kappa == 0, 1.0, kappa.abs().rsqrt())[:, None, None]
        self.kappa = nn.Parameter(kappa)
        self.points = nn.Parameter(0.9 * share * radius * way)
        ways = torch.randn(n_factors, n_kernels, dim, generator=generator)
        self.register_buffer("ways", F.normalize(ways, dim=2))
        self.register_buffer("phases", 2 * math.pi * torch.rand(n_factors, n_kernels, generator=generator))

    def forward(self) -> Tensor:
        """z `[M, N, n_kernels]`."""
        return kernel_map(self.points, self.kappa, self.ways, self.phases)


def kernel_map(points: Tensor, kappa: Tensor, ways: Tensor, phases: Tensor) -> Tensor:
    """exp((d - 1) delta / 2) cos(delta + b) with delta = log((1 + kappa |x|^2) / |x - w|^2), x . w where kappa = 0.

    Args:
        points: x `[M, N, d]`, inside the ball where kappa < 0.
        ways: Unit vectors w `[M, R, d]`.
        phases: b `[M, R]`.

    Returns:
        `[M, N, R]`.
    """
    k = kappa[:, None, None]
    square, product = points.square().sum(2, keepdim=True), points @ ways.mT
    apart = (square - 2 * product + 1).clamp_min(0)
    delta = torch.where(k == 0, product, ((1 + k * square) / (apart + EPS) + EPS).log())
    return ((points.shape[2] - 1) / 2 * delta).exp() * (delta + phases[:, None]).cos()


def project(points: Tensor, kappa: Tensor) -> Tensor:
    """Points `[M, N, d]` that left their ball drawn back onto its rim; factors with kappa >= 0 have none."""
    limit = torch.where(kappa < 0, (1 - RIM) * kappa.abs().rsqrt(), torch.inf)[:, None, None]
    length = points.norm(dim=2, keepdim=True)
    return torch.where(length > limit, points * (limit / length.clamp_min(EPS)), points)


class RiemannianAdam:
    """Adam for the points of a `Space`, by the metric lambda^2 with lambda = 2 / (1 + kappa |x|^2).

    The gradient is divided by lambda^2, the second moment is one number a point, the squared length of that gradient
    at the point, and the step ends with a projection. The first moment is not carried along in parallel: steps are
    short.
    """

    def __init__(self, space: Space, lr: float, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self.space, self.lr, self.betas, self.steps = space, lr, betas, 0
        self.first = torch.zeros_like(space.points)
        self.second = torch.zeros_like(space.points[..., :1])

    @torch.no_grad()
    def step(self) -> None:
        """Move the points against their gradient, which is then cleared."""
        x, k, (one, two) = self.space.points, self.space.kappa[:, None, None], self.betas
        if x.grad is not None:
            factor = 2 / (1 + k * x.square().sum(2, keepdim=True)).clamp_min(EPS)
            grad = x.grad / factor.square()
            self.steps += 1
            self.first.lerp_(grad, 1 - one)
            self.second.lerp_((factor * grad).square().sum(2, keepdim=True), 1 - two)
            size = (self.second / (1 - two**self.steps)).sqrt_().add_(1e-8)
            x.sub_(self.first / size, alpha=self.lr / (1 - one**self.steps))
            x.grad = None
        x.copy_(project(x, self.space.kappa))
