"""Neighbours of the shift score: the exact ones where they are few, most of them where they are many."""

import numpy as np
import pytest
import torch

from bes.core import rows, search
from bes.core.neighbors import nearest


def embeddings(n, seed=0):
    """Overlapping classes that vary in eight directions and a little in all others."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(6, 8))[rng.integers(0, 6, n)] + rng.normal(size=(n, 8))
    return torch.from_numpy((latent @ rng.normal(size=(8, 32)) / 3 + rng.normal(size=(n, 32)) * 0.1).astype(np.float32))


def test_few_are_searched_exactly():
    z, query = embeddings(300), torch.tensor([7, 0, 299])
    assert torch.equal(search.search(query, z, 5), nearest(query, z, 5))


def test_the_index_finds_most_neighbours_and_never_the_row_itself(monkeypatch):
    monkeypatch.setattr(search, "INDEXED", 1)
    monkeypatch.setattr(rows, "WHOLE", 1 << 14)
    monkeypatch.setattr(rows, "STEP", 1 << 13)
    z, query = embeddings(20_000), torch.randperm(20_000, generator=torch.Generator().manual_seed(0))[:1000]
    found, exact = search.search(query, z, 5), nearest(query, z, 5)
    assert found.shape == exact.shape
    assert not (found == query[:, None]).any()
    assert (found >= 0).all()
    near = (z[found] - z[query][:, None]).norm(dim=2)
    assert (near.diff(dim=1) >= -1e-5).all(), "nearest first"
    shared = (found[:, :, None] == exact[:, None, :]).any(2).double().mean().item()
    assert shared > 0.9


def test_equal_rows_are_neighbours_of_one_another(monkeypatch):
    monkeypatch.setattr(search, "INDEXED", 1)
    z = torch.zeros(400, 4)
    z[:200] = 1
    found = search.search(torch.arange(400), z, 3)
    assert found.shape == (400, 3)
    assert torch.equal(found < 200, (torch.arange(400) < 200)[:, None].expand(-1, 3))
    assert not (found == torch.arange(400)[:, None]).any()


def test_cells_give_torch_its_threads_back(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(search, "INDEXED", 1)
    torch.set_num_threads(2)
    try:
        search.search(torch.arange(50), embeddings(500), 3)
        assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError), search._many_hands(torch.device("cpu")) as hands:
            list(hands.map(lambda a: 1 / a, [(1,), (0,)]))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_visits_in_small_pieces_find_the_same(monkeypatch):
    monkeypatch.setattr(search, "INDEXED", 1)
    z, query = embeddings(3000), torch.arange(0, 3000, 2)
    whole = search.search(query, z, 5)
    monkeypatch.setattr(search, "VISIT", 64)
    monkeypatch.setattr(search, "AHEAD", 1)
    monkeypatch.setattr(search, "TOGETHER", 100)
    found = search.search(query, z, 5)
    assert (found == whole).double().mean() > 0.999  # products of other shapes are rounded otherwise
