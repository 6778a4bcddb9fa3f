import numpy as np
import pytest
import torch
from oracles import boundary as oracle
from oracles import gaussians as gaussian_oracle

from bes.core import boundary
from bes.core.gaussians import ClassSums


def slabs_of(case, kind, origin):
    sums = ClassSums.of(torch.as_tensor(case.z), torch.as_tensor(case.y), case.n_classes, by_class=kind == "per_class")
    return boundary.Slabs.between(sums.means, sums.covariance(kind), sums.present, origin)


@pytest.mark.parametrize("origin", ["midpoint", "literal"])
@pytest.mark.parametrize("kind", ["pooled", "total", "per_class"])
def test_region_equals_the_loop(case, kind, origin):
    slabs = slabs_of(case, kind, origin)
    mu = gaussian_oracle.means(*case)
    sigmas = gaussian_oracle.covariance(*case, kind, "oas")
    present = sorted(set(case.y.tolist()))
    for delta in (0.0, 0.5, 2.0, 1e12):
        found = slabs.contains(torch.as_tensor(case.z), delta)
        # a node exactly on the slab's face may fall either way by rounding: leave such nodes out
        value = torch.as_tensor(case.z) @ slabs.normal.T - slabs.offset
        clear = ((value.abs() - delta).abs() > 1e-9 * (1 + value.abs())).all(1).numpy()
        expected = oracle.region(case.z, mu, sigmas, present, delta, origin)
        np.testing.assert_array_equal(found.numpy()[clear], expected[clear])
        if delta == 1e12:
            assert found.all()


def test_slab_normals_and_offsets_on_a_case_done_by_hand():
    means = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    slabs = boundary.Slabs.between(means, torch.eye(2)[None] * 0.5, torch.tensor([True, True]))
    assert slabs.normal.tolist() == [[-4.0, 0.0]]
    assert slabs.offset.tolist() == [-4.0]
    z = torch.tensor([[1.0, 9.0], [1.5, 0.0], [1.51, 0.0], [0.49, 0.0]])
    assert slabs.contains(z, 2.0).tolist() == [True, True, False, False]


def test_blocks_of_nodes_and_pairs_do_not_change_the_region(monkeypatch, case):
    z = torch.as_tensor(case.z)
    whole = slabs_of(case, "per_class", "midpoint").contains(z, 2.0)
    for name in ("BLOCK", "NEAR"):
        monkeypatch.setattr(boundary, name, 7)
    assert torch.equal(slabs_of(case, "per_class", "midpoint").contains(z, 2.0), whole)


@pytest.mark.parametrize("k", [1, 3, 100])
def test_shift_scores_equal_the_loop(case, k):
    z, y = torch.as_tensor(case.z), torch.as_tensor(case.y)
    found = boundary.shift_scores(torch.arange(len(y)), z, y, k)
    expected = [oracle.shift_score(i, case.z, case.y, k) for i in range(len(y))]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_shift_score_without_any_other_node_is_zero():
    assert boundary.shift_scores(torch.tensor([0]), torch.zeros(1, 2), torch.tensor([0]), 5).tolist() == [0.0]


def test_graph_shift_scores_equal_the_loop():
    rng = np.random.default_rng(0)
    n = 30
    y = rng.integers(-1, 3, n)
    pairs = {(int(a), int(b)) for a, b in rng.integers(0, n - 1, (60, 2))}
    edges = sorted(pairs | {(b, a) for a, b in pairs})
    y[n - 1] = 0  # labelled and isolated
    nodes = np.flatnonzero(y >= 0)
    found = boundary.graph_shift_scores(torch.as_tensor(nodes), torch.as_tensor(y), torch.tensor(edges).T)
    np.testing.assert_allclose(found, [oracle.graph_shift_score(i, y, edges) for i in nodes], atol=1e-6)
