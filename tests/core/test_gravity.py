import numpy as np
import pytest
import torch
from oracles import gaussians as gaussian_oracle
from oracles import gravity as oracle
from oracles import similarity as similarity_oracle

from bes.core import gravity, similarity

DENOMINATORS = ["with_positive", "negatives_only"]


@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("hinge", ["region", "rival"])
@pytest.mark.parametrize("tau", [0.3, 1.0, 10.0])
def test_center_loss_equals_the_loop(case, hinge, tau, denominator):
    mu = gaussian_oracle.means(*case)
    present = sorted(set(case.y.tolist()))
    radii = None
    if hinge == "region":
        radii = [similarity_oracle.region_radius(case.z[1::2], m) for m in mu]
    found = gravity.center_loss(
        torch.as_tensor(case.z),
        torch.as_tensor(case.y),
        torch.as_tensor(mu),
        similarity.excluded(torch.as_tensor(case.y), torch.tensor([c in present for c in range(case.n_classes)])),
        None if radii is None else torch.tensor(radii, dtype=torch.float64),
        tau,
        denominator,
    )
    expected = oracle.center_loss(case.z, case.y, mu, present, radii, tau, denominator)
    assert found.item() == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("hinge", ["region", "rival"])
@pytest.mark.parametrize("scale", [1.0, 0.05, 1e4])
def test_the_gradient_in_closed_form_is_autograds(case, hinge, denominator, scale):
    z = (torch.as_tensor(case.z) * scale + 0.01 * scale).requires_grad_()
    y = torch.as_tensor(case.y)
    mu = torch.as_tensor(gaussian_oracle.means(case.z * scale, case.y, case.n_classes))
    excluded = similarity.excluded(y, torch.tensor([c in case.y for c in range(case.n_classes)]))
    radius = torch.full((case.n_classes,), 0.3 * scale, dtype=torch.float64) if hinge == "region" else None
    loss = gravity.center_loss(z, y, mu, excluded, radius, 1.7, denominator)
    (expected,) = torch.autograd.grad(loss, z)
    value, pull = gravity.center_pull(z.detach(), y, mu, excluded, radius, 1.7, denominator)
    torch.testing.assert_close(value, loss.detach())
    torch.testing.assert_close(pull, expected, atol=1e-8 * scale, rtol=1e-5)


@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_pairwise_loss_equals_the_loop(case, denominator):
    node = np.arange(0, len(case.y), 2)
    z = torch.as_tensor(case.z)
    y = torch.as_tensor(case.y)
    found = gravity.pairwise_loss(z[node] + 0.1, y[node], torch.as_tensor(node), z, y, 2.0, denominator)
    expected = oracle.pairwise_loss(case.z[node] + 0.1, case.y[node], node, case.z, case.y, 2.0, denominator)
    assert found.item() == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("hinge", ["region", "rival"])
def test_float32_is_stable_at_distances_of_1e4(hinge, denominator):
    generator = torch.Generator().manual_seed(0)
    mu = torch.randn(4, 8, generator=generator) * 1e4
    y = torch.tensor([0, 1, 2, 3])
    z = (mu[[1, 0, 3, 2]] + torch.randn(4, 8, generator=generator) * 10).requires_grad_()
    excluded = similarity.excluded(y, torch.ones(4, dtype=torch.bool))
    radius = torch.zeros(4) if hinge == "region" else None
    loss = gravity.center_loss(z, y, mu, excluded, radius, 1.0, denominator)
    loss.backward()
    wide = z.detach().double().requires_grad_()
    exact = gravity.center_loss(
        wide, y, mu.double(), excluded, None if radius is None else radius.double(), 1.0, denominator
    )
    exact.backward()
    assert torch.isfinite(loss)
    torch.testing.assert_close(loss.double(), exact, rtol=1e-5, atol=0)
    torch.testing.assert_close(z.grad.double(), wide.grad, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_pairwise_is_stable_in_float32_too(denominator):
    """Near pairs at 1e4 from the middle of all: squared distances of some ten among those of 1e8."""
    generator = torch.Generator().manual_seed(0)
    z = torch.cat([torch.randn(10, 4, generator=generator) * 2 + side * 1e4 for side in (-1, 1)])
    y, node = torch.arange(20) % 2, torch.arange(20)
    one, other = z.clone().requires_grad_(), z.double().requires_grad_()
    gravity.pairwise_loss(one, y, node, z, y, 1.0, denominator).backward()
    gravity.pairwise_loss(other, y, node, z.double(), y, 1.0, denominator).backward()
    torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-3, atol=1e-3 * other.grad.abs().max().item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_node_on_its_rivals_centre_has_autograds_gradient(dtype):
    mu = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]], dtype=dtype)
    z = mu[1:2].clone().requires_grad_()
    y, excluded = torch.tensor([0]), torch.tensor([[True, False, False]])
    (expected,) = torch.autograd.grad(gravity.center_loss(z, y, mu, excluded, None), z)
    torch.testing.assert_close(gravity.center_pull(z.detach(), y, mu, excluded, None)[1], expected)


def test_gradient_pulls_to_the_own_centre_and_pushes_from_the_rival():
    mu = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    z = torch.tensor([[0.8, 0.0]], requires_grad=True)
    gravity.center_loss(z, torch.tensor([0]), mu, torch.tensor([[True, False]]), torch.zeros(2)).backward()
    assert z.grad[0, 0] > 0  # descending moves z to the left, towards centre 0
    assert z.grad[0, 1] == 0


def test_a_separated_node_keeps_a_small_loss_above_zero():
    """InfoNCE far on the right side: rounding must not turn the loss into 0 or below."""
    mu = torch.tensor([[0.0], [6.0]])
    z = torch.tensor([[0.0]], requires_grad=True)
    loss = gravity.center_loss(z, torch.tensor([0]), mu, torch.tensor([[True, False]]), torch.zeros(2))
    assert loss.item() == pytest.approx(np.exp(-36.0), rel=1e-3)
