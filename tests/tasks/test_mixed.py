"""Rows at a boundary: the same as a loop over them, whatever the blocks."""

from __future__ import annotations

import torch
from oracles import boundary as oracle

from bes.tasks import mixed as module
from bes.tasks.mixed import mixed


def test_rows_equal_the_loop(monkeypatch):
    torch.manual_seed(0)
    z = torch.randint(8, (300, 4)).float()  # with ties, which whole numbers keep
    labelled, y = z[torch.randperm(300)[:90]], torch.arange(90) // 30
    rows = z[torch.randperm(300)[:120]]
    expected = [oracle.mixed(row.numpy(), labelled.numpy(), y.numpy(), 5) for row in rows]
    assert mixed(rows, labelled, y, 5).tolist() == expected
    assert 0 < sum(expected) < 120
    monkeypatch.setattr(module, "BLOCK", 700)  # seven rows at a time
    assert mixed(rows, labelled, y, 5).tolist() == expected


def test_a_row_is_mixed_where_its_nearest_labelled_rows_disagree():
    z = torch.tensor([[0.0], [1.0], [10.0], [11.0], [0.4], [5.4], [10.5]])
    assert mixed(z, z[:4], torch.tensor([0, 0, 1, 1]), 2).tolist() == [False] * 5 + [True, False]


def test_fewer_labelled_rows_than_neighbours_are_all_asked():
    z = torch.randn(10, 2)
    assert mixed(z, z[:2], torch.tensor([0, 1]), 5).all()
    assert not mixed(z, z[:2], torch.tensor([1, 1]), 5).any()


def test_of_very_many_labelled_rows_an_even_sample_is_asked(monkeypatch):
    torch.manual_seed(0)
    z, y = torch.randint(8, (400, 3)).float(), torch.randint(2, (400,))
    monkeypatch.setattr(module, "LABELLED", 100)
    assert mixed(z[:50], z, y, 5).tolist() == mixed(z[:50], z[::4], y[::4], 5).tolist()
