"""Rows at a boundary: the same as the definition over all nodes, whatever the blocks."""

from __future__ import annotations

import torch

from bes.core.boundary import mixed_neighborhood
from bes.tasks import mixed as module
from bes.tasks.mixed import mixed


def test_rows_are_judged_as_among_all_nodes(monkeypatch):
    torch.manual_seed(0)
    z = torch.randint(8, (300, 4)).float()  # with ties, which whole numbers keep
    labelled, y = torch.randperm(300)[:90], torch.arange(300)[:90] // 30
    rows = torch.randperm(300)[:120]
    expected = mixed_neighborhood(z, labelled, y, 5)[rows]
    assert mixed(z[rows], z[labelled], y, 5).tolist() == expected.tolist()
    assert 0 < int(expected.sum()) < 120
    monkeypatch.setattr(module, "BLOCK", 700)  # seven rows at a time
    assert mixed(z[rows], z[labelled], y, 5).tolist() == expected.tolist()


def test_fewer_labelled_rows_than_neighbours_are_all_asked():
    z = torch.randn(10, 2)
    assert mixed(z, z[:2], torch.tensor([0, 1]), 5).all()
    assert not mixed(z, z[:2], torch.tensor([1, 1]), 5).any()


def test_of_very_many_labelled_rows_an_even_sample_is_asked(monkeypatch):
    torch.manual_seed(0)
    z, y = torch.randint(8, (400, 3)).float(), torch.randint(2, (400,))
    monkeypatch.setattr(module, "LABELLED", 100)
    assert mixed(z[:50], z, y, 5).tolist() == mixed(z[:50], z[::4], y[::4], 5).tolist()
