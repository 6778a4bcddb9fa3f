"""Dropout by node: the same whoever holds the node, and dropout at all."""

import pytest
import torch
from torch import Tensor

from bes.core import rows
from bes.scale.dropout import dropped_relu_


def dropped(x: Tensor, nodes: Tensor, p: float, key: int) -> Tensor:
    """Of a copy: `x` itself is overwritten."""
    return dropped_relu_(x.clone(), nodes, p, key)


def test_a_nodes_entries_do_not_depend_on_which_rows_are_held() -> None:
    x, nodes = torch.rand(200, 7), torch.arange(200)
    whole = dropped(x, nodes, 0.5, 11)
    some = torch.tensor([3, 199, 50])
    assert torch.equal(dropped(x[some], nodes[some], 0.5, 11), whole[some])


def test_the_share_is_dropped_and_the_mean_kept_in_every_column() -> None:
    found = dropped(torch.ones(20000, 6), torch.arange(20000), 0.3, 5)
    assert found.unique().numel() == 2
    torch.testing.assert_close((found == 0).float().mean(0), torch.full((6,), 0.3), atol=0.02, rtol=0)
    torch.testing.assert_close(found.mean(0), torch.ones(6), atol=0.03, rtol=0)


def test_columns_nodes_and_epochs_are_dropped_independently() -> None:
    ones = torch.ones(20000, 8)
    first, second = (dropped(ones, torch.arange(20000), 0.5, key) > 0 for key in (1, 2))
    both = torch.cat([first, second, first.roll(1, 0)], 1).double()
    correlation = torch.corrcoef(both.T) - torch.eye(24)
    assert correlation.abs().max() < 0.04


@pytest.mark.parametrize("p", [0.0, 0.4])
def test_value_and_gradient_are_those_of_a_mask_on_the_positive_part(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(50, 6, generator=torch.Generator().manual_seed(0), requires_grad=True)
    nodes, weight = torch.arange(50), torch.rand(50, 6)
    mask = dropped(torch.ones(50, 6), nodes, p, 3)
    expected = x.relu() * mask
    (slope,) = torch.autograd.grad((expected * weight).sum(), x)
    monkeypatch.setattr(rows, "WHOLE", 60)
    monkeypatch.setattr(rows, "STEP", 42)  # blocks of seven rows
    found = dropped_relu_(x * 1, nodes, p, 3)
    assert torch.equal(found, expected)
    assert torch.equal(torch.autograd.grad((found * weight).sum(), x)[0], slope)


def test_without_rows_nothing_happens() -> None:
    assert dropped(torch.ones(0, 3), torch.arange(0), 0.5, 1).shape == (0, 3)


def test_the_result_is_all_that_is_kept_for_the_way_back() -> None:
    x = torch.randn(50, 6, requires_grad=True)
    kept: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    first = x.clone()
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        found = dropped_relu_(first, torch.arange(50), 0.5, 1)
    assert found.data_ptr() == first.data_ptr()
    assert [tensor.data_ptr() for tensor in kept] == [found.data_ptr()]
