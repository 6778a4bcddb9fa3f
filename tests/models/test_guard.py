"""The gain that a choice of epoch has on nodes without a part in it."""

from __future__ import annotations

import torch

from bes.models.guard import asked, honest_gain


def _stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_gain_that_all_nodes_share_is_found_whole() -> None:
    hits = torch.zeros(4, 100, dtype=torch.bool)
    hits[2, :60] = True
    gain, error = honest_gain(hits, _stream())
    assert abs(gain - 0.6) < 1e-6
    torch.testing.assert_close(error, float(hits[2].float().std() / 10), rtol=1e-5, atol=1e-7)


def test_the_luck_of_the_best_of_many_epochs_does_not_count() -> None:
    """200 epochs without any difference but chance: the best looks better, the honest gain does not."""
    gains, seen = [], []
    for seed in range(40):
        hits = torch.rand(201, 500, generator=_stream(seed)) < 0.8
        gain, _ = honest_gain(hits, _stream(seed))
        gains.append(gain)
        seen.append((hits.float().mean(1).max() - hits[0].float().mean()).item())
    found = torch.tensor(gains)
    assert sum(seen) / 40 > 0.03
    assert abs(found.mean().item()) < 3 * found.std().item() / 40**0.5


def test_of_equals_the_beginning_is_taken() -> None:
    hits = torch.zeros(3, 20, dtype=torch.bool)
    hits[0, :10], hits[1, 10:] = True, True
    gain, _ = honest_gain(hits, _stream(1))
    assert gain <= 0


def test_too_few_nodes_say_nothing() -> None:
    assert honest_gain(torch.ones(3, 2, dtype=torch.bool), _stream()) == (0.0, 0.0)


def test_the_more_nodes_have_a_label_the_more_is_asked() -> None:
    assert asked(60, 40) == 3.0
    assert asked(140, 2568) < 0.2
    assert asked(100, 0) == 200.0  # nobody to learn from
    assert asked(0, 100) == 0.0
