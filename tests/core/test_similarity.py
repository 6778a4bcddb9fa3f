import numpy as np
import torch
from oracles import gaussians as gaussian_oracle
from oracles import similarity as oracle

from bes.core import rows, similarity


def test_pairwise_equals_the_loop(case):
    z = torch.as_tensor(case.z)
    expected = [[oracle.pairwise(a, b) for b in case.z] for a in case.z]
    np.testing.assert_allclose(similarity.pairwise(z, z), expected, atol=1e-9)


def test_centre_similarities_equal_the_loop(case):
    z, y, mu = torch.as_tensor(case.z), torch.as_tensor(case.y), gaussian_oracle.means(*case)
    present = torch.tensor([c in case.y for c in range(case.n_classes)])
    squared = similarity.center_distances(z, torch.as_tensor(mu))
    negative = similarity.center_negative(squared, similarity.excluded(y, present))
    radius = similarity.region_radius(z[::2], torch.as_tensor(mu))
    rivals = similarity.rival_radius(negative)
    for hinge in (radius[y], rivals):
        positive = similarity.center_positive(squared, y, hinge)
        expected = [oracle.center_positive(case.z[i], mu[b], hinge[i].item()) for i, b in enumerate(case.y)]
        np.testing.assert_allclose(positive, expected, atol=1e-9)
    for i, b in enumerate(case.y):
        others = [j for j in set(case.y.tolist()) if j != b]
        assert abs(rivals[i].item() - oracle.rival_radius(case.z[i], b, mu, [b, *others])) < 1e-9
        for j in range(case.n_classes):
            if j in others:
                assert abs(negative[i, j].item() - oracle.center_negative(case.z[i], mu[j])) < 1e-9
            else:
                assert negative[i, j].item() == -np.inf
    for c in range(case.n_classes):
        assert abs(radius[c].item() - oracle.region_radius(case.z[::2], mu[c])) < 1e-6


def test_eq_8_the_sum_over_pairs_is_the_centre_term_and_a_constant(case):
    """Values and gradients of both sides."""
    z = torch.as_tensor(case.z)
    for b in set(case.y.tolist()):
        members = z[torch.as_tensor(case.y) == b]
        mean = members.mean(0)
        node = torch.randn(1, z.shape[1], dtype=z.dtype, generator=torch.Generator().manual_seed(1))
        left, right = node.clone().requires_grad_(), node.clone().requires_grad_()
        pairs = -similarity.pairwise(left, members).sum()
        centre = len(members) * similarity.center_distances(right, mean[None]).sum()
        torch.testing.assert_close(pairs, centre + similarity.class_scatter(members, mean))
        pairs.backward()
        centre.backward()
        torch.testing.assert_close(left.grad, right.grad)


def test_distances_and_their_gradient_are_the_same_in_several_blocks(case, monkeypatch):
    z, means = torch.as_tensor(case.z), torch.as_tensor(gaussian_oracle.means(*case))
    towards = torch.randn(len(z), len(means), dtype=z.dtype, generator=torch.Generator().manual_seed(2))
    monkeypatch.setattr(rows, "WHOLE", 0)
    monkeypatch.setattr(rows, "STEP", 2 * means.numel())
    parts = list(rows.blocks(len(z), means.numel()))
    assert len(parts) > 1, "or this shows nothing"
    left, right = z.clone().requires_grad_(), z.clone().requires_grad_()
    squared = similarity.center_distances(left, means)
    plain = (right[:, None] - means).square().sum(2)
    torch.testing.assert_close(squared, plain)
    squared.backward(towards)
    plain.backward(towards)
    torch.testing.assert_close(left.grad, right.grad)


def test_the_gradient_at_a_centre_is_finite():
    mean = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    z = mean[:1].clone().requires_grad_()
    squared = similarity.center_distances(z, mean)
    y = torch.tensor([0])
    excluded = similarity.excluded(y, torch.tensor([True, True]))
    hinge = similarity.rival_radius(similarity.center_negative(squared, excluded))
    similarity.center_positive(squared, y, hinge * 0).sum().backward()
    assert torch.isfinite(z.grad).all()
