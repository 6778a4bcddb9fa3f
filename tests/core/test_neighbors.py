import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bes.core import neighbors


def naive(i, z, k):
    order = sorted((float(np.sum((z[i] - z[j]) ** 2)), j) for j in range(len(z)) if j != i)
    return [j for _, j in order[:k]]


@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 12), st.integers(0, 2**31))
@settings(max_examples=60)
def test_nearest_equals_the_loop_with_ties_by_index(n, d, k, seed):
    z = np.random.default_rng(seed).integers(-2, 3, size=(n, d)).astype(float)  # few values: many ties
    found = neighbors.nearest(torch.arange(n), torch.as_tensor(z), k)
    assert found.shape == (n, min(k, n - 1))
    assert found.tolist() == [naive(i, z, k) for i in range(n)]


def test_blocks_do_not_change_the_answer(monkeypatch):
    z = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    whole = neighbors.nearest(torch.arange(50), z, 5)
    monkeypatch.setattr(neighbors, "BLOCK", 120)
    assert torch.equal(neighbors.nearest(torch.arange(50), z, 5), whole)


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("n", [400, 1000, 1027])
def test_groups_of_columns_do_not_change_the_answer(n, integers):
    generator = torch.Generator().manual_seed(0)
    z = (
        torch.randint(0, 4, (n, 3), generator=generator).double()
        if integers
        else torch.randn(n, 3, generator=generator)
    )
    found = neighbors.nearest(torch.arange(0, n, 7), z, 3)
    assert found.tolist() == [naive(i, z.numpy(), 3) for i in range(0, n, 7)]


def test_distances_far_from_the_origin_keep_their_digits():
    z = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    there = neighbors.squared_distances(z + 1e3, z + 1e3)
    torch.testing.assert_close(there, neighbors.squared_distances(z, z), atol=2e-3, rtol=1e-3)


def test_a_huge_constant_column_does_not_count():
    """Its rounded mean lies 64 apart in float32, far more than its spread of zero."""
    z = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    for huge in (1e9, -1e9, 123456789.0):
        wide = torch.cat([z, torch.full((20, 1), huge)], dim=1)
        assert wide.dtype == torch.float32
        found = neighbors.squared_distances(wide, wide)
        assert torch.isfinite(found).all()
        expected = [[sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for q in z.tolist()] for p in z.tolist()]
        torch.testing.assert_close(found, torch.tensor(expected), atol=1e-4, rtol=1e-4)
        assert neighbors.nearest(torch.arange(20), wide, 3).tolist() == [naive(i, z.numpy(), 3) for i in range(20)]
