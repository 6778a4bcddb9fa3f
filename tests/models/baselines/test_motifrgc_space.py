"""Points in curved spaces against plain loops, and that they stay where they belong."""

import math

import pytest
import torch
from torch import Tensor

from bes.models.baselines.motifrgc_space import EPS, RIM, RiemannianAdam, Space, kernel_map, project


def make(curvature: float = -1.0, n_nodes: int = 40, n_factors: int = 3, dim: int = 8) -> Space:
    return Space(n_factors, n_nodes, dim, 5, curvature, torch.Generator().manual_seed(1))


def naive_map(x: list[float], kappa: float, w: list[float], b: float) -> float:
    """One entry of the kernel map."""
    if kappa == 0:
        delta = sum(p * q for p, q in zip(x, w, strict=True))
    else:
        apart = sum((p - q) ** 2 for p, q in zip(x, w, strict=True))
        delta = math.log((1 + kappa * sum(p * p for p in x)) / (apart + EPS) + EPS)
    return math.exp((len(x) - 1) * delta / 2) * math.cos(delta + b)


@pytest.mark.parametrize("kappa", [-2.0, -0.3, 0.0, 0.7])
def test_the_kernel_map_is_the_formula_entry_by_entry(kappa: float) -> None:
    space = make(curvature=-1.0, n_nodes=6, n_factors=2)
    points, ways, phases = (part.detach().double() for part in (0.4 * space.points, space.ways, space.phases))
    ways = torch.nn.functional.normalize(ways, dim=2)
    found = kernel_map(points, torch.tensor([kappa, kappa / 2], dtype=torch.float64), ways, phases)
    expected = [
        [
            [
                naive_map(points[m, i].tolist(), kappa / (m + 1), ways[m, r].tolist(), float(phases[m, r]))
                for r in range(5)
            ]
            for i in range(6)
        ]
        for m in range(2)
    ]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_a_point_on_a_direction_is_finite() -> None:
    ways = torch.eye(8)[None]
    found = kernel_map(ways.clone(), torch.tensor([0.5]), ways, torch.zeros(1, 8))
    assert found.isfinite().all()


def test_points_begin_inside_nine_tenths_of_the_radius_and_directions_have_length_one() -> None:
    space = make(curvature=-2.0)
    share = space.points.norm(dim=2) * space.kappa.abs().sqrt()[:, None]
    assert share.max() <= 0.9 + 1e-6
    assert share.std() > 0.1  # every node has a length of its own
    torch.testing.assert_close(space.ways.norm(dim=2), torch.ones(3, 5))


def test_flat_space_begins_inside_the_unit_ball() -> None:
    space = make(curvature=0.0)
    assert space.kappa.eq(0).all()
    assert 0 < space.points.norm(dim=2).max() <= 0.9 + 1e-6


def test_projection_moves_only_what_left_a_ball_and_keeps_its_direction() -> None:
    points = torch.randn(3, 20, 8, generator=torch.Generator().manual_seed(2))
    kappa = torch.tensor([-1.0, 0.0, 1.0])
    found = project(points, kappa)
    torch.testing.assert_close(found[1:], points[1:])
    out = points[0].norm(dim=1) > 1 - RIM
    assert out.any()
    torch.testing.assert_close(found[0, out].norm(dim=1), torch.full((int(out.sum()),), 1 - RIM))
    torch.testing.assert_close(found[0, ~out], points[0, ~out])
    cosine = torch.cosine_similarity(found[0], points[0])
    torch.testing.assert_close(cosine, torch.ones(20))


def naive_adam(x: Tensor, grads: list[Tensor], kappa: float, lr: float) -> Tensor:
    """Riemannian Adam of one point, well inside its ball."""
    first, second = torch.zeros_like(x), 0.0
    for step, given in enumerate(grads, 1):
        factor = 2 / (1 + kappa * float(x @ x))
        grad = given / factor**2
        first = 0.9 * first + 0.1 * grad
        second = 0.999 * second + 0.001 * factor**2 * float(grad @ grad)
        size = math.sqrt(second / (1 - 0.999**step)) + 1e-8
        x = x - lr * first / (1 - 0.9**step) / size
    return x


def test_steps_are_those_of_riemannian_adam() -> None:
    space = make(n_nodes=4)
    begin = space.points.detach().clone()
    rng = torch.Generator().manual_seed(3)
    grads = [torch.randn(3, 4, 8, generator=rng) for _ in range(3)]
    adam = RiemannianAdam(space, 0.01)
    for grad in grads:
        space.points.grad = grad.clone()
        adam.step()
        assert space.points.grad is None
    for m in range(3):
        for i in range(4):
            expected = naive_adam(begin[m, i], [grad[m, i] for grad in grads], space.kappa[m].item(), 0.01)
            torch.testing.assert_close(space.points.detach()[m, i], expected)


def test_the_first_step_is_as_long_as_the_rate_whatever_the_gradient() -> None:
    space = make()
    begin = space.points.detach().clone()
    factor = 2 / (1 + space.kappa.detach()[:, None] * begin.square().sum(2))
    space.points.grad = torch.randn(3, 40, 8) * torch.logspace(-2, 2, 40)[:, None]
    RiemannianAdam(space, 0.01).step()
    moved = (space.points.detach() - begin).norm(dim=2) * factor
    torch.testing.assert_close(moved, torch.full_like(moved, 0.01), rtol=1e-3, atol=0)


def test_points_that_are_pushed_out_stay_in_the_ball() -> None:
    space = make(curvature=-3.0)
    with torch.no_grad():
        space.kappa.abs_().neg_()
    adam = RiemannianAdam(space, 0.5)
    for _ in range(50):
        space.points.grad = -space.points.detach()
        adam.step()
    assert (space.points.norm(dim=2) * space.kappa.abs().sqrt()[:, None]).max() < 1
    assert space().isfinite().all()


def test_a_ball_that_shrinks_takes_its_points_along() -> None:
    space = make()
    adam = RiemannianAdam(space, 0.001)
    with torch.no_grad():
        space.kappa.fill_(-100.0)
    adam.step()  # without a gradient: the projection alone
    assert space.points.norm(dim=2).max() < 0.1


@pytest.mark.parametrize("curvature", [-1.0, 2.0])
def test_curvature_and_points_get_gradients(curvature: float) -> None:
    space = make(curvature)
    space().sum().backward()
    assert space.kappa.grad is not None
    assert space.points.grad is not None
    assert space.kappa.grad.ne(0).all()
    assert space.points.grad.ne(0).any(2).all()
