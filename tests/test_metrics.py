import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import links as naive
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    roc_auc_score,
)

from bes.metrics import auc, best_threshold, classification, hits, links


@pytest.fixture
def scored() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 60)
    prob = rng.random((60, 4)) + np.eye(4)[truth] * 0.4
    return truth, prob / prob.sum(1, keepdims=True)


def test_against_scikit_learn(scored: tuple[np.ndarray, np.ndarray]) -> None:
    truth, prob = scored
    assert classification(truth, prob) == {
        "n": 60,
        "acc": pytest.approx(accuracy_score(truth, prob.argmax(1))),
        "balanced_acc": pytest.approx(balanced_accuracy_score(truth, prob.argmax(1))),
        "f1": pytest.approx(f1_score(truth, prob.argmax(1), average="macro")),
        "auroc": pytest.approx(roc_auc_score(truth, prob, multi_class="ovr", average="macro")),
    }


def test_two_classes_have_one_auroc() -> None:
    truth = np.array([0, 0, 1, 1])
    up = np.array([0.1, 0.6, 0.4, 0.8])
    found = classification(truth, np.stack([1 - up, up], 1))
    auroc = pytest.approx(roc_auc_score(truth, up))
    assert found == {"n": 4, "acc": 0.5, "balanced_acc": 0.5, "f1": 0.5, "auroc": auroc}


def test_classes_missing_from_the_part(scored: tuple[np.ndarray, np.ndarray]) -> None:
    """Scikit-learn's multiclass AUROC refuses a missing class; ours is the mean over those that occur."""
    truth, prob = scored
    keep = truth < 2
    truth, prob = truth[keep], prob[keep]
    found = classification(truth, prob)
    assert found["auroc"] == pytest.approx(np.mean([roc_auc_score(truth == c, prob[:, c]) for c in (0, 1)]))
    assert found["f1"] == pytest.approx(f1_score(truth, prob.argmax(1), average="macro"))


def test_one_class_has_no_auroc() -> None:
    prob = np.array([[0.9, 0.1], [0.8, 0.2]])
    assert classification(np.array([0, 0]), prob) == {"n": 2, "acc": 1.0, "balanced_acc": 1.0, "f1": 1.0, "auroc": None}


def test_no_node_has_no_value() -> None:
    found = classification(np.empty(0, dtype=int), np.empty((0, 3)))
    assert found == {"n": 0, "acc": None, "balanced_acc": None, "f1": None, "auroc": None}


#: Few values, so that scores tie; both precisions hold them exactly.
few_scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=25)
any_scores = st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=25)
precisions = st.sampled_from([torch.float32, torch.float64])


def best_right(positive: list[float], negative: list[float]) -> int:
    """The most pairs that any threshold gets right: one at a score is as good as any up to the next."""
    return max(naive.right(positive, negative, t) for t in [-math.inf, *positive, *negative])


def sides(positive: list[float], negative: list[float]) -> tuple[list[int], list[float]]:
    """As scikit-learn takes them."""
    return [1] * len(positive) + [0] * len(negative), positive + negative


@given(st.one_of(few_scores, any_scores), st.one_of(few_scores, any_scores), precisions)
@settings(max_examples=150)
def test_link_metrics_equal_the_loops_and_scikit_learn(
    positive: list[float], negative: list[float], dtype: torch.dtype
) -> None:
    p, n = torch.tensor(positive, dtype=dtype), torch.tensor(negative, dtype=dtype)
    threshold = best_threshold(p, n)
    found = links(p, n, threshold)
    assert found["n"] == len(positive) + len(negative)
    assert found["acc"] == best_right(positive, negative) / found["n"]
    assert found["f1"] == pytest.approx(naive.f1(positive, negative, threshold))
    assert found["auroc"] == auc(p, n) == naive.auc(positive, negative)
    assert found["auroc"] == pytest.approx(roc_auc_score(*sides(positive, negative)))
    assert found["ap"] == pytest.approx(average_precision_score(*sides(positive, negative)))
    assert found["hits@20"] == (naive.hits(positive, negative, 20) if len(negative) >= 20 else None)
    assert [hits(p, n, k) for k in (1, 2, 5)] == [naive.hits(positive, negative, k) for k in (1, 2, 5)]


@given(few_scores, few_scores)
@settings(max_examples=100)
def test_the_threshold_is_the_lowest_of_the_best(positive: list[float], negative: list[float]) -> None:
    value = sorted({*positive, *negative})
    middles = [(a + b) / 2 for a, b in pairwise(value)]
    right = [naive.right(positive, negative, t) for t in (value[0] - 1, *middles, value[-1] + 1)]
    threshold = best_threshold(torch.tensor(positive), torch.tensor(negative))
    lowest = right.index(max(right))
    if 0 < lowest < len(value):
        assert threshold == middles[lowest - 1]
    else:
        assert (threshold < value[0]) if lowest == 0 else (threshold > value[-1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("low", [0.0, 1.0, -1.0, 3e38, 1e-45])
def test_neighbouring_floats_are_told_apart(low: float, dtype: torch.dtype) -> None:
    """In their own precision there is no number between them, and the middle would round to one of them."""
    negative = torch.tensor([low], dtype=dtype)
    positive = torch.nextafter(negative, torch.full_like(negative, math.inf))
    threshold = best_threshold(positive, negative)
    assert math.isfinite(threshold)
    assert links(positive, negative, threshold)["acc"] == 1.0
    assert best_threshold(negative, positive) < low  # nothing separates these: all are links


@pytest.mark.parametrize("huge", [1e20, -1e20, 3e38])
def test_thresholds_beyond_huge_scores_are_beyond_them(huge: float) -> None:
    score = torch.tensor([huge])
    none = torch.empty(0)
    assert links(score, none, best_threshold(score, none))["acc"] == 1.0
    assert links(none, score, best_threshold(none, score))["acc"] == 1.0


def test_infinite_scores_have_ranks_and_finite_thresholds() -> None:
    """The logarithm of a probability of 0 is one."""
    low, high = torch.tensor([-math.inf, 0.0]), torch.tensor([1.0, math.inf])
    assert auc(high, low) == 1.0
    assert best_threshold(high, low) == 0.5
    for positive, negative in ((high[1:], low[:1]), (high[1:], high[:1]), (low[1:], low[:1])):
        threshold = best_threshold(positive, negative)
        assert math.isfinite(threshold)
        assert links(positive, negative, threshold)["acc"] == 1.0


def test_auc_is_exact_and_in_both_directions() -> None:
    rng = torch.Generator().manual_seed(0)
    positive, negative = (torch.randint(50, (size,), generator=rng) for size in (700, 300))
    found = auc(positive, negative)  # whole numbers, as common neighbours are
    assert found == naive.auc(positive.tolist(), negative.tolist())
    assert auc(negative, positive) == pytest.approx(1 - found)
    assert auc(positive, positive) == 0.5


def test_hits_of_few_others_is_one() -> None:
    positive, negative = torch.zeros(3), torch.ones(19)
    assert hits(positive, negative, 20) == 1.0
    assert hits(positive, torch.ones(20), 20) == 0.0
    assert hits(positive, torch.zeros(20), 20) == 0.0  # strictly above


def test_hits_against_too_few_others_are_no_figure() -> None:
    """OGB would say 1 for all; in a table that looks like a result."""
    found = links(torch.ones(3), torch.zeros(50), 0.5)
    assert (found["hits@20"], found["hits@50"], found["hits@100"]) == (1.0, 1.0, None)


def test_metrics_of_an_empty_side() -> None:
    some, none = torch.tensor([0.5, 2.0]), torch.empty(0)
    no_hits = {"hits@20": None, "hits@50": None, "hits@100": None}
    nothing = {"auroc": None, "ap": None}
    assert links(none, none, 0.0) == {"n": 0, "acc": None, "f1": None, **nothing, **no_hits}
    assert links(none, some, 1.0) == {"n": 2, "acc": 0.5, "f1": 0.0, **nothing, **no_hits}
    assert links(some, none, 1.0) == {"n": 2, "acc": 0.5, "f1": pytest.approx(2 / 3), **nothing, **no_hits}


@pytest.mark.parametrize("metric", [auc, best_threshold, partial(hits, k=1), partial(links, threshold=0.0)])
def test_nan_has_no_metric(metric: Callable[..., object]) -> None:
    fine, broken = torch.tensor([1.0, 2.0]), torch.tensor([0.0, math.nan])
    for positive, negative in ((fine, broken), (broken, fine)):
        with pytest.raises(ValueError, match="1 link scores are NaN"):
            metric(positive, negative)


@pytest.mark.parametrize("metric", [auc, best_threshold, partial(hits, k=1)])
def test_nothing_has_no_figure(metric: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="needs"):
        metric(torch.empty(0), torch.empty(0))


def test_scores_may_still_be_attached() -> None:
    score = torch.tensor([1.0, 0.0], requires_grad=True)
    assert links(score[:1], score[1:], best_threshold(score[:1], score[1:]))["acc"] == 1.0
