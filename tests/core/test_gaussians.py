import numpy as np
import pytest
import torch
from oracles import gaussians as oracle

from bes.core.gaussians import ClassSums

KINDS = ["pooled", "total", "per_class"]


def sums_of(z, y, n_classes, kind):
    return ClassSums.of(torch.as_tensor(z), torch.as_tensor(y), n_classes, by_class=kind == "per_class")


def test_means_equal_the_loop(case):
    sums = sums_of(*case, "pooled")
    present = [c in case.y for c in range(case.n_classes)]
    assert sums.present.tolist() == present
    np.testing.assert_allclose(sums.means[present], oracle.means(*case)[present], atol=1e-10)


@pytest.mark.parametrize("shrinkage", ["oas", 0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_covariance_equals_the_loop(case, kind, shrinkage):
    found = sums_of(*case, kind).covariance(kind, shrinkage)
    np.testing.assert_allclose(found, np.stack(oracle.covariance(*case, kind, shrinkage)), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_covariance_can_be_inverted_whatever_the_data(case, kind):
    sigma = sums_of(*case, kind).covariance(kind)
    assert torch.linalg.eigvalsh(sigma).min() > 0
    assert torch.isfinite(torch.linalg.inv(sigma)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_parts_merge_to_the_sums_of_the_whole(case, kind):
    whole = sums_of(*case, kind)
    cut = len(case.y) // 3
    parts = [
        ClassSums.of(
            torch.as_tensor(case.z[part]),
            torch.as_tensor(case.y[part]),
            case.n_classes,
            by_class=kind == "per_class",
            origin=whole.origin,
        )
        for part in (slice(cut), slice(cut, None))
    ]
    merged = parts[0] + parts[1]
    with pytest.raises(ValueError, match="origin"):
        parts[0] + sums_of(case.z + 1, case.y, case.n_classes, kind)
    torch.testing.assert_close(merged.covariance(kind), whole.covariance(kind))
    torch.testing.assert_close(merged.means, whole.means)


@pytest.mark.parametrize("kind", KINDS)
def test_covariance_far_from_the_origin_is_the_same(case, kind):
    there = sums_of(case.z + 1e7, case.y, case.n_classes, kind).covariance(kind)
    torch.testing.assert_close(there, sums_of(*case, kind).covariance(kind), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("by_class", [False, True])
def test_spread_equals_the_loop(case, by_class):
    sums = ClassSums.of(torch.as_tensor(case.z), torch.as_tensor(case.y), case.n_classes, by_class=by_class)
    mu = oracle.means(*case)
    squares = [float(np.sum((row - mu[c]) ** 2)) for row, c in zip(case.z, case.y, strict=True)]
    mean = sum(squares) / len(squares)
    assert sums.spread == pytest.approx(np.sqrt(mean) if mean > 0 else 1.0)


@pytest.mark.parametrize("origin", [None, torch.zeros(2)])
def test_spread_of_nodes_on_their_centres_is_one(origin):
    z = torch.tensor([[0.0, 3.0], [2.0, 1.0], [0.0, 3.0], [2.0, 1.0]])
    assert ClassSums.of(z, torch.tensor([0, 1, 0, 1]), 2, origin=origin).spread == 1.0


def test_oas_agrees_with_scikit_learn():
    from sklearn.covariance import oas

    z = np.random.default_rng(0).normal(size=(30, 6)) * np.arange(1, 7)
    reference, share = oas(z, assume_centered=False)
    assert 0 < share < 1
    ours = sums_of(z, np.zeros(30, dtype=int), 1, "total")
    free = ours.count.sum() - 1
    # scikit-learn divides the scatter by n, we by the degrees of freedom
    share_ours = 1 - (ours.covariance("total")[0, 0, 1] / ours.covariance("total", 0.0)[0, 0, 1]).item()
    assert share_ours == pytest.approx(share, rel=0.1)
    assert np.corrcoef(ours.covariance("total")[0].ravel(), reference.ravel())[0, 1] > 0.9999
    assert free == 29
