"""How many epochs were better than the beginning, and by how much, against loops."""

from __future__ import annotations

import torch

from bes.models.guard import mean_gain, share_better


def _hits(seed: int = 0, epochs: int = 30, n: int = 50) -> torch.Tensor:
    return torch.rand(1 + epochs, n, generator=torch.Generator().manual_seed(seed)) < 0.7


def test_epochs_that_are_as_good_or_one_node_better_do_not_count() -> None:
    for seed in range(5):
        rows = _hits(seed).tolist()
        better = [sum(row) - sum(rows[0]) > 1 for row in rows[1:]]
        assert abs(share_better(_hits(seed)) - sum(better) / len(better)) < 1e-6
    assert share_better(torch.ones(4, 10, dtype=torch.bool)) == 0.0
    one = torch.zeros(2, 10, dtype=torch.bool)
    one[1, 0] = True
    assert share_better(one) == 0.0
    one[1, 1] = True
    assert share_better(one) == 1.0


def test_where_classes_count_alike_a_gain_of_the_large_one_does_not_make_up_for_the_small_one() -> None:
    """18 nodes against 2: four more of the large class, one less of the small one."""
    weight = torch.tensor([20 / (2 * 18)] * 18 + [20 / (2 * 2)] * 2)
    right = torch.zeros(2, 20, dtype=torch.bool)
    right[0, :10], right[1, :14], right[0, 18:], right[1, 18] = True, True, True, True
    assert share_better(right) == 1.0
    assert share_better(right * weight) == 0.0
    assert share_better((right * weight).flip(0)) == 0.0, "one node is no evidence, whatever it weighs"
    right[1, 13] = False
    right[0, 10:14] = True
    assert right[0].sum() == right[1].sum() + 2
    assert share_better((right * weight).flip(0)) == 1.0, "two are, of whatever class"
    assert share_better(torch.zeros(2, 5)) == share_better(torch.zeros(2, 0)) == 0.0


def test_one_lucky_epoch_of_many_is_a_small_share() -> None:
    """200 epochs as good as the encoders: the best looks better, and few of them do where these were lucky too."""
    shares, best = [], []
    for seed in range(20):
        hits = _hits(seed, 200, 500)
        begun = hits[:20].sum(1).argmax()  # the encoders had their choice as well
        shares.append(share_better(torch.cat([hits[begun : begun + 1], hits[20:]])))
        best.append(bool(hits[20:].sum(1).max() > hits[begun].sum()))
    assert sum(shares) / 20 < 0.1
    assert sum(best) >= 15


def test_the_mean_gain_is_that_of_all_nodes_and_epochs() -> None:
    rows = _hits(3).tolist()
    gains = [sum(row[v] for row in rows[1:]) / 30 - rows[0][v] for v in range(50)]
    mean = sum(gains) / 50
    spread = (sum((one - mean) ** 2 for one in gains) / 49) ** 0.5
    found, error = mean_gain(_hits(3))
    assert abs(found - mean) < 1e-6
    assert abs(error - spread / 50**0.5) < 1e-6


def test_nothing_to_judge_by_is_no_gain() -> None:
    assert mean_gain(torch.ones(3, 1, dtype=torch.bool)) == (0.0, 0.0)
    assert mean_gain(torch.ones(1, 9, dtype=torch.bool)) == (0.0, 0.0)
    assert share_better(torch.ones(1, 9, dtype=torch.bool)) == 0.0
