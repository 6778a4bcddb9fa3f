"""The displacement of all nodes: in blocks as in one pass, and by a sample without bias."""

import math

import pytest
import torch

from bes.core import rows
from bes.core.attention import BoundaryAttention, Neighborhoods
from bes.core.objective import CenterObjective
from bes.core.problem import LayerProblem

N, DIM = 400, 6


def problem(scope, sample=None):
    draw = torch.Generator().manual_seed(0)
    z = torch.randn(N, DIM, generator=draw, dtype=torch.float64) * torch.linspace(0.1, 3, N)[:, None]
    labels = torch.arange(N) % 3
    layer = BoundaryAttention(DIM, scope=scope, n_views=2, init="random", generator=draw, dtype=torch.float64)
    around = Neighborhoods.of(torch.randint(0, N, (2, 800), generator=draw), N) if scope == "neighbors" else None
    means = torch.stack([z[labels == c].mean(0) for c in range(3)])
    goal = CenterObjective(labels, means, torch.ones(3, dtype=torch.bool), None, 2.0, "with_positive")
    old = tuple(weight.detach() for weight in layer.weights)
    new = tuple(weight + 0.01 * torch.randn(weight.shape, generator=draw, dtype=weight.dtype) for weight in old)
    return LayerProblem(layer, z, around, goal, sample=sample, draw=draw), old, new


@pytest.mark.parametrize("scope", ["views", "self"])
def test_blocks_measure_what_one_pass_measures(scope, monkeypatch):
    whole, old, new = problem(scope)
    expected = whole.displacement(old, new)
    monkeypatch.setattr(rows, "WHOLE", 100)
    monkeypatch.setattr(rows, "STEP", 100)
    blocked, old, new = problem(scope)
    assert blocked.inputs is None
    assert blocked.displacement(old, new) == pytest.approx(expected, rel=1e-12)
    assert blocked.displacement_error == 0.0


@pytest.mark.parametrize("scope", ["views", "self", "neighbors", "nodes"])
@torch.no_grad()
def test_a_sample_estimates_the_displacement_without_bias_and_knows_its_error(scope):
    exact, old, new = problem(scope)
    expected = exact.displacement(old, new)
    sampled, _, _ = problem(scope, sample=20)
    drawn = [(sampled.displacement(old, new), sampled.displacement_error) for _ in range(400)]
    estimates = torch.tensor([value for value, _ in drawn], dtype=torch.float64)
    told = math.sqrt(sum((value * error) ** 2 for value, error in drawn) / len(drawn))
    assert estimates.std().item() == pytest.approx(told, rel=0.15)
    assert abs(estimates.mean().item() - expected) < 3 * told / math.sqrt(len(drawn))
    assert told > 0.05 * expected, "or the test could not tell a bias"


@pytest.mark.parametrize("scope", ["views", "neighbors"])
@torch.no_grad()
def test_a_sample_does_not_change_loss_and_gradient(scope):
    exact, old, new = problem(scope)
    sampled, _, _ = problem(scope, sample=20)
    batch = torch.tensor([3, 200, 7])
    assert sampled.loss(new, batch) == pytest.approx(exact.loss(new, batch))
    one, other = sampled.gradient(old, batch), exact.gradient(old, batch)
    assert one[0] == pytest.approx(other[0])
    for found, expected in zip(one[1], other[1], strict=True):
        torch.testing.assert_close(found, expected)


def test_a_sample_as_large_as_all_is_exact():
    exact, old, new = problem("views")
    sampled, _, _ = problem("views", sample=N)
    assert sampled.displacement(old, new) == exact.displacement(old, new)
    assert sampled.displacement_error == 0.0
