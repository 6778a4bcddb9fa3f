import numpy as np
import pytest
import torch
from oracles import update as oracle

from bes.core import update

Z = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TARGET = torch.randn(20, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def full(weights):
    return torch.tanh(Z @ weights[0])


def loss(moved, batch):
    return (Z[batch] + moved - TARGET[batch]).square().sum()


class Problem:
    n_nodes = 20
    displacement_error = 0.0

    def __init__(self, loss, full):
        self.of, self.full = loss, full

    def displacement(self, old, new):
        return update.displacement(self.full(new) - self.full(old)).item()

    def loss(self, weights, batch):
        return self.of(self.full(weights)[batch], batch).item()

    def gradient(self, weights, batch):
        with torch.enable_grad():
            leaves = tuple(w.detach().requires_grad_() for w in weights)
            value = self.of(self.full(leaves)[batch], batch)
        return value.item(), torch.autograd.grad(value, leaves)


def stepper(loss=loss, full=full, **options):
    start = torch.randn(3, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64) * 0.1
    return update.Stepper(Problem(loss, full), (start,), **{"eta": 0.01, "alpha": 0.05, **options})


@pytest.mark.parametrize("unit", ["node", "total"])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 50.0])
def test_an_iteration_equals_the_loop(alpha, unit):
    ours = stepper(alpha=alpha, unit=unit)
    batch = torch.tensor([1, 4, 5])
    theta = ours.weights[0].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(full((theta,))[batch], batch), theta)

    def as_weights(flat):
        return (torch.tensor(flat, dtype=torch.float64).reshape(3, 3),)

    expected, delta, halvings, kept = oracle.iteration(
        theta.detach().flatten().tolist(),
        gradient.flatten().tolist(),
        0.01,
        alpha,
        unit,
        lambda flat: full(as_weights(flat)).tolist(),
        lambda flat: loss(full(as_weights(flat))[batch], batch).item(),
    )
    result = ours.step(batch)
    assert result.displacement == pytest.approx(delta, rel=1e-9)
    assert (result.halvings, result.accepted) == (halvings, kept)
    np.testing.assert_allclose(ours.weights[0].flatten(), expected, atol=1e-10)


def test_displacement_equals_the_loop():
    assert update.displacement(Z - TARGET).item() == pytest.approx(oracle.displacement(Z.tolist(), TARGET.tolist()))


@pytest.mark.parametrize("unit", ["node", "total"])
def test_a_small_step_moves_the_embeddings_by_alpha(unit):
    ours = stepper(eta=1e-6, alpha=1e-4, unit=unit)
    before = full(ours.weights)
    assert ours.step(torch.arange(20)).accepted
    moved = update.displacement(full(ours.weights) - before).item()
    assert moved == pytest.approx(1e-4 * (20 if unit == "node" else 1), rel=1e-2)


def test_eta_does_not_matter_to_first_order():
    one, other = stepper(eta=1e-4, alpha=1e-4), stepper(eta=1e-6, alpha=1e-4)
    one.step(torch.arange(20))
    other.step(torch.arange(20))
    torch.testing.assert_close(one.weights[0], other.weights[0], atol=1e-6, rtol=0)


def test_a_step_too_long_is_halved_and_a_hopeless_one_dropped():
    def bowl(moved, _):  # falls only for steps shorter than its width
        return moved.square().sum()

    def linear(weights):
        return Z @ weights[0]

    outcomes = [stepper(bowl, linear, alpha=alpha).step(torch.arange(20)) for alpha in (0.01, 1.0, 4.0)]
    assert [r.accepted for r in outcomes] == [True] * 3
    assert outcomes[0].halvings == 0
    assert 0 < outcomes[1].halvings < outcomes[2].halvings <= 4
    ours = stepper(bowl, linear, alpha=1e6)
    start = ours.weights[0].clone()
    result = ours.step(torch.arange(20))
    assert not result.accepted
    assert torch.equal(ours.weights[0], start)


def test_an_iteration_passes_over_the_nodes_once():
    passes = []
    ours = stepper()
    measure = ours.problem.displacement
    ours.problem.displacement = lambda old, new: passes.append(1) or measure(old, new)
    assert all(ours.step(torch.arange(10)).accepted for _ in range(10))
    assert len(passes) == 10


def test_a_gradient_too_small_to_measure_is_lengthened_not_blown_up():
    """Scaled by 1e-14 the virtual step drowns in rounding; the update must stay what Eq. 13 says."""
    plain, tiny = stepper(alpha=1e-3), stepper(lambda moved, batch: loss(moved, batch) * 1e-14, alpha=1e-3)
    plain.step(torch.arange(20))
    assert tiny.step(torch.arange(20)).accepted
    torch.testing.assert_close(tiny.weights[0], plain.weights[0], atol=1e-4, rtol=0)


def test_a_separated_batch_takes_no_step():
    ours = stepper(tol=1e9)
    start = ours.weights[0].clone()
    assert not ours.step(torch.arange(20)).accepted
    assert torch.equal(ours.weights[0], start)


def test_through_adam_the_scale_cancels_out():
    """What is wrong in the official code: alpha has no effect on the step."""
    small, large = stepper(update="official", alpha=1e-3), stepper(update="official", alpha=1e3)
    small.step(torch.arange(20))
    large.step(torch.arange(20))
    torch.testing.assert_close(small.weights[0], large.weights[0], atol=1e-5, rtol=0)
