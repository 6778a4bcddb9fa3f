"""Dropout by node: the same whoever holds the node, and dropout at all."""

import torch

from bes.scale.dropout import node_dropout


def test_a_nodes_entries_do_not_depend_on_which_rows_are_held() -> None:
    x, nodes = torch.rand(200, 7), torch.arange(200)
    whole = node_dropout(x, nodes, 0.5, 11)
    some = torch.tensor([3, 199, 50])
    assert torch.equal(node_dropout(x[some], nodes[some], 0.5, 11), whole[some])


def test_the_share_is_dropped_and_the_mean_kept_in_every_column() -> None:
    dropped = node_dropout(torch.ones(20000, 6), torch.arange(20000), 0.3, 5)
    assert dropped.unique().numel() == 2
    torch.testing.assert_close((dropped == 0).float().mean(0), torch.full((6,), 0.3), atol=0.02, rtol=0)
    torch.testing.assert_close(dropped.mean(0), torch.ones(6), atol=0.03, rtol=0)


def test_columns_nodes_and_epochs_are_dropped_independently() -> None:
    ones = torch.ones(20000, 8)
    first, second = (node_dropout(ones, torch.arange(20000), 0.5, key) > 0 for key in (1, 2))
    both = torch.cat([first, second, first.roll(1, 0)], 1).double()
    correlation = torch.corrcoef(both.T) - torch.eye(24)
    assert correlation.abs().max() < 0.04


def test_without_rows_or_without_dropout_nothing_happens() -> None:
    assert node_dropout(torch.ones(0, 3), torch.arange(0), 0.5, 1).shape == (0, 3)
    x = torch.rand(4, 3)
    assert node_dropout(x, torch.arange(4), 0.0, 1) is x
