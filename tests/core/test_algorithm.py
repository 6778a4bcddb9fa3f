"""A layer's training problem: what `Stepper` asks of it, in every scope."""

import pytest
import torch

from bes.core.algorithm import LayerProblem
from bes.core.attention import BoundaryAttention, Neighborhoods
from bes.core.objective import CenterObjective, PairwiseObjective
from bes.core.update import Stepper, virtual_step

N, DIM = 30, 6


def problem(scope, objective="centers"):
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(N, DIM, generator=generator, dtype=torch.float64)
    labels = torch.arange(N) % 3
    layer = BoundaryAttention(DIM, scope=scope, n_views=2, init="random", generator=generator, dtype=torch.float64)
    around = Neighborhoods.of(torch.randint(0, N, (2, 80), generator=generator), N) if scope == "neighbors" else None
    means = torch.stack([z[labels == c].mean(0) for c in range(3)])
    if objective == "centers":
        goal = CenterObjective(
            labels, means, torch.ones(3, dtype=torch.bool), torch.zeros(3).double(), 2.0, "with_positive"
        )
    else:
        goal = PairwiseObjective(labels, z, 2.0, "with_positive")
    return LayerProblem(layer, z, around, goal), layer, z, around


@pytest.mark.parametrize("objective", ["centers", "pairwise"])
@pytest.mark.parametrize("scope", ["views", "self", "nodes", "neighbors"])
def test_loss_and_gradient_are_autograds(scope, objective):
    given, layer, z, around = problem(scope, objective)
    batch = torch.tensor([4, 9, 21])
    loss = given.objective.loss(layer(z, around)[batch], batch)
    expected = torch.autograd.grad(loss, layer.weights)
    weights = tuple(w.detach() for w in layer.weights)
    with torch.no_grad():
        value, found = given.gradient(weights, batch)
        assert given.loss(weights, batch) == pytest.approx(loss.item())
    assert value == pytest.approx(loss.item())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("scope", ["views", "self", "nodes", "neighbors"])
def test_the_displacement_is_that_of_two_outputs(scope):
    given, layer, _, _ = problem(scope)
    old = tuple(w.detach() for w in layer.weights)
    with torch.no_grad():
        for size in (0.1, 0.2):  # twice: where nodes mix, the second uses the output kept from the first
            new = tuple(w + size for w in old)
            moved = layer.full(new, given.inputs) - layer.full(old, given.inputs)
            expected = moved.norm(dim=1).sum().item()
            assert given.displacement(old, new) == pytest.approx(expected, rel=1e-9)
        assert given.displacement(new, old) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scope", ["nodes", "neighbors"])
def test_where_nodes_mix_the_output_of_the_accepted_weights_is_kept(scope, monkeypatch):
    """One pass to begin with; then an iteration has one for its displacement and one for its trial."""
    given, layer, _, _ = problem(scope)
    passes = []
    full = layer.full
    monkeypatch.setattr(layer, "full", lambda weights, inputs: passes.append(1) or full(weights, inputs))
    stepper = Stepper(given, layer.weights, eta=0.01, alpha=1e-3)
    results = [stepper.step(torch.arange(0, N, 2)) for _ in range(6)]
    assert all(result.accepted and result.halvings == 0 for result in results)
    assert len(passes) == 1 + 6 + 6


@pytest.mark.parametrize("update", ["adaptive", "official"])
@pytest.mark.parametrize("scope", ["views", "self", "nodes", "neighbors"])
def test_every_displacement_is_measured_from_the_current_weights(scope, update):
    given, layer, _, _ = problem(scope)
    stepper = Stepper(given, layer.weights, eta=0.01, alpha=1e-2, update=update)
    batch = torch.arange(0, N, 2)
    for _ in range(4):
        now = tuple(w.detach().clone() for w in stepper.weights)
        _, gradients = given.gradient(now, batch)
        with torch.no_grad():
            moved = layer.full(virtual_step(now, gradients, 0.01), given.inputs) - layer.full(now, given.inputs)
        assert stepper.step(batch).displacement == pytest.approx(moved.norm(dim=1).sum().item(), rel=1e-6)
