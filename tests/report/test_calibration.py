import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.report.calibration import by_arm, diagram, reliability
from bes.report.content import content
from bes.report.outcomes import outcomes
from bes.stored import StoredRun


def naive(prob: np.ndarray, truth: np.ndarray, n_bins: int) -> tuple[list[int], list[float], list[float], float]:
    """Counts, mean confidence and accuracy of each bin, and the error, prediction by prediction."""
    inside: list[list[tuple[float, bool]]] = [[] for _ in range(n_bins)]
    edges = np.linspace(0, 1, n_bins + 1)
    for row, c in zip(prob.tolist(), truth.tolist(), strict=True):
        sure = max(row)
        place = next(b for b in range(n_bins) if sure <= edges[b + 1] or b == n_bins - 1)
        inside[place].append((sure, row.index(sure) == c))
    count = [len(bin) for bin in inside]
    confidence = [sum(s for s, _ in bin) / len(bin) if bin else math.nan for bin in inside]
    accuracy = [sum(r for _, r in bin) / len(bin) if bin else math.nan for bin in inside]
    error = sum(n * abs(a - c) for n, a, c in zip(count, accuracy, confidence, strict=True) if n) / len(truth)
    return count, confidence, accuracy, error


@given(
    n=st.integers(1, 60),
    classes=st.integers(2, 5),
    n_bins=st.integers(1, 15),
    seed=st.integers(0, 999),
    sharp=st.sampled_from([0.05, 1.0, 50.0]),
)
def test_bins_and_error_are_those_of_a_loop(n: int, classes: int, n_bins: int, seed: int, sharp: float) -> None:
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.full(classes, sharp), n)
    truth = rng.integers(0, classes, n)
    found = reliability(prob, truth, n_bins)
    count, confidence, accuracy, error = naive(prob, truth, n_bins)
    assert found.count.tolist() == count
    np.testing.assert_allclose(found.confidence, confidence)
    np.testing.assert_allclose(found.accuracy, accuracy)
    assert found.error == pytest.approx(error)


def test_a_confidence_on_an_edge_counts_below_it() -> None:
    prob = np.array([[0.5, 0.5], [1.0, 0.0], [0.6, 0.4]])
    found = reliability(prob, np.array([0, 0, 1]), 10)
    assert np.flatnonzero(found.count).tolist() == [4, 5, 9]


def test_who_is_as_right_as_sure_has_no_error() -> None:
    prob = np.tile([0.75, 0.25], (4, 1))
    assert reliability(prob, np.array([0, 0, 0, 1])).error == pytest.approx(0)
    assert reliability(prob, np.array([1, 1, 1, 1])).error == pytest.approx(0.75)


def test_of_a_class_its_probability_stands_against_its_share() -> None:
    """Pairs at 0.3 and 0.4 count by the probability of a link, on whichever side of a threshold they are."""
    link = np.array([0.0, 0.3, 0.3, 0.3, 0.4, 0.9])
    truth = np.array([0, 0, 1, 0, 1, 1])
    found = reliability(np.stack([1 - link, link], axis=1), truth, 10, of=1)
    assert found.count.tolist() == [1, 0, 3, 1, 0, 0, 0, 0, 1, 0]
    np.testing.assert_allclose(found.confidence[[0, 2, 3, 8]], [0.0, 0.3, 0.4, 0.9])
    np.testing.assert_allclose(found.accuracy[[0, 2, 3, 8]], [0, 1 / 3, 1, 1])
    assert found.error == pytest.approx((0.0 + 0.1 + 0.6 + 0.1) / 6)


def test_links_are_calibrated_without_a_threshold(pair_runs: dict[str, StoredRun]) -> None:
    run = pair_runs["pairs"]
    drawn = content(run, with_map=False)["calibration"]
    assert drawn["axes"] == ("probability of a link", "share of links")
    assert (drawn["chart"].x.title, drawn["chart"].y.title) == drawn["axes"]
    links = sum(outcome.truth.sum() for outcome in outcomes(run))
    for arm in ("control", "bes"):
        assert sum(r[arm]["n"] * r[arm]["accuracy"] for r in drawn["rows"] if r[arm]["n"]) == pytest.approx(links)
    assert content(pair_runs["edge"], with_map=False)["calibration"]["axes"] == ("confidence", "accuracy")


def test_both_arms_are_taken_over_all_seeds(stored: StoredRun) -> None:
    found = outcomes(stored)
    arms = by_arm(found)
    total = sum(len(outcome.truth) for outcome in found)
    for arm, bins in arms.items():
        assert bins.count.sum() == total
        right = sum(outcome.right(arm).sum() for outcome in found)
        some = bins.count > 0
        assert (bins.accuracy[some] * bins.count[some]).sum() == pytest.approx(right)
    drawn = diagram(arms)
    assert drawn is not None
    assert sum(row["bes"]["n"] for row in drawn["rows"]) == total
    assert len(drawn["chart"].dots) == sum((bins.count > 0).sum() for bins in arms.values())


def test_without_a_test_part_there_is_no_diagram() -> None:
    assert diagram(by_arm([])) is None
