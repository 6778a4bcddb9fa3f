"""Medoids against a search over all swaps."""

import itertools

import pytest
import torch
from torch import Tensor

from bes.models.baselines import nodeimport_medoids
from bes.models.baselines.nodeimport_medoids import Metric, class_medoids, pam


def cost(distance: Tensor, medoids: list[int]) -> float:
    return float(distance[:, medoids].min(1).values.sum())


def swapped(distance: Tensor, m: int) -> list[int]:
    """PAM by its definition: try every swap, make the best, until none helps."""
    medoids = distance.sum(1).argsort()[:m].tolist()
    while True:
        tried = [
            [new if other == old else other for other in medoids]
            for old, new in itertools.product(medoids, range(len(distance)))
            if new not in medoids
        ]
        best = min(tried, key=lambda one: cost(distance, one))
        if cost(distance, best) >= cost(distance, medoids) * (1 - 1e-6):
            return sorted(medoids)
        medoids = best


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_pam_makes_the_best_swap_until_none_helps(m: int, seed: int) -> None:
    points = torch.randn(30, 3, generator=torch.Generator().manual_seed(seed))
    distance = torch.cdist(points, points, p=1.0)
    assert sorted(pam(distance, m).tolist()) == swapped(distance, m)


def test_every_cluster_gets_its_middle() -> None:
    points = torch.tensor([[0.0], [1.0], [2.0], [50.0], [51.0], [52.0], [90.0], [91.0], [92.0]])
    assert sorted(pam(torch.cdist(points, points), 3).tolist()) == [1, 4, 7]


@pytest.mark.parametrize("m", [2, 4])
def test_equal_points_end(m: int) -> None:
    assert pam(torch.zeros(4, 4), m).unique().numel() == m


@pytest.mark.parametrize(("metric", "expected"), [("euclidean", [0]), ("manhattan", [1])])
def test_metrics_differ(metric: Metric, expected: list[int]) -> None:
    # from (2, 2) the others are nearer as the crow flies; from (0, 0) nearer along the streets
    points = torch.tensor([[2.0, 2.0], [0.0, 0.0], [4.5, 0.0], [4.5, 0.0], [0.0, 4.5], [0.0, 4.5], [-0.5, 0.0]])
    found = class_medoids(points, torch.zeros(7, dtype=torch.long), 1, 1, metric, torch.Generator())
    assert found.tolist() == expected


def test_a_class_gives_half_of_its_points_at_most() -> None:
    labels = torch.tensor([2] * 10 + [1] + [0] * 5)
    points = torch.randn(16, 2, generator=torch.Generator().manual_seed(0))
    found = class_medoids(points, labels, 4, 4, "euclidean", torch.Generator())
    assert torch.bincount(labels[found], minlength=4).tolist() == [2, 0, 4, 0]
    assert labels[found].diff().ge(0).all()


def test_large_classes_are_searched_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodeimport_medoids, "MOST", 6)
    points = torch.arange(40.0)[:, None]
    seen = [
        class_medoids(points, torch.zeros(40, dtype=torch.long), 1, 2, "manhattan", torch.Generator().manual_seed(s))
        for s in range(5)
    ]
    assert len({tuple(one.tolist()) for one in seen}) > 1
