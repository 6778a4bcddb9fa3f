import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bes.bench.ranks import Ranks, critical_value, rank
from bes.errors import InputError

Scores = dict[str, dict[str, float]]

unhurried = settings()  # time is not what these tests are about


@st.composite
def tables(draw: st.DrawFn) -> Scores:
    """Up to six methods on up to six data sets, of few different scores, so that ties are many."""
    methods, datasets = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    whole = st.integers(0, 9).map(float)
    return {f"m{m}": {f"d{d}": draw(whole) for d in range(datasets)} for m in range(methods)}


def steps(*levels: float, datasets: int = 3) -> Scores:
    """Methods with the same scores on every data set."""
    return {f"m{i}": {f"d{d}": level for d in range(datasets)} for i, level in enumerate(levels)}


@unhurried
@given(tables())
def test_ranks_count_who_is_better(scores: Scores) -> None:
    """Naively: one, and one for each better method, and a half for each that ties."""
    found = rank(scores)
    for method, own in scores.items():
        others = [other for name, other in scores.items() if name != method]
        places = [1 + sum((o[d] > own[d]) + (o[d] == own[d]) / 2 for o in others) for d in own]
        assert found.average[method] == pytest.approx(sum(places) / len(places))
    assert sum(found.average.values()) == pytest.approx(len(scores) * (len(scores) + 1) / 2)
    assert list(found.average.values()) == sorted(found.average.values())
    assert found.methods == tuple(found.average)


@unhurried
@given(tables())
def test_lower_is_better_of_negated_scores(scores: Scores) -> None:
    negated = {method: {d: -value for d, value in own.items()} for method, own in scores.items()}
    assert rank(negated, better="lower") == rank(scores)


@unhurried
@given(tables())
def test_friedman_is_scipys_on_the_scores(scores: Scores) -> None:
    found = rank(scores)
    tied = all(len({own[d] for own in scores.values()}) == 1 for d in scores["m0"])
    if len(scores) < 3 or found.n_datasets < 2 or tied:
        assert found.friedman_p is None
    else:
        expected = stats.friedmanchisquare(*(list(own.values()) for own in scores.values())).pvalue
        assert found.friedman_p == pytest.approx(expected)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)])
def test_critical_values_are_the_printed_ones_at_5_percent(k: int, q: float) -> None:
    assert critical_value(k) == pytest.approx(q, abs=1e-3)


@pytest.mark.parametrize(("k", "q"), [(2, 1.645), (3, 2.052), (5, 2.459), (10, 2.920)])
def test_critical_values_are_the_printed_ones_at_10_percent(k: int, q: float) -> None:
    assert critical_value(k, 0.1) == pytest.approx(q, abs=1e-3)


def test_critical_difference_by_hand() -> None:
    """Four methods on fourteen data sets: 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25, as Demšar's own example has it."""
    found = rank(steps(4, 3, 2, 1, datasets=14))
    assert found.critical == pytest.approx(1.25, abs=0.005)
    assert found.groups == [("m0", "m1"), ("m1", "m2"), ("m2", "m3")]


def test_one_data_set_or_method_has_no_critical_difference() -> None:
    one = rank(steps(3, 2, 1, datasets=1))
    assert (one.n_datasets, one.critical, one.friedman_p, one.groups) == (1, None, None, [])
    assert rank(steps(3)) == Ranks(("m0",), 3, {"m0": 1.0}, None, None, [])


@unhurried
@given(tables())
def test_groups_are_the_largest_sets_within_the_critical_difference(scores: Scores) -> None:
    """Naively: all sets of methods that lie close, without those that a larger one holds."""
    found = rank(scores, alpha=0.5)
    if found.critical is None:
        assert found.groups == []
        return
    sets = [c for size in range(2, len(scores) + 1) for c in itertools.combinations(found.methods, size)]
    spread = {c: max(found.average[m] for m in c) - min(found.average[m] for m in c) for c in sets}
    close = [c for c in sets if spread[c] <= found.critical]
    largest = [c for c in close if not any(set(c) < set(other) for other in close)]
    assert sorted(found.groups) == sorted(largest)


def test_only_common_data_sets_count() -> None:
    """On the two that both have, b wins; a's win elsewhere is no comparison."""
    found = rank({"a": {"x": 1, "y": 1, "z": 9}, "b": {"y": 2, "x": 2, "w": 0}})
    assert (found.n_datasets, found.methods, found.average) == (2, ("b", "a"), {"b": 1.0, "a": 2.0})


def test_roundoff_breaks_no_tie() -> None:
    found = rank({"a": {"x": 0.1 + 0.2, "y": 1.0}, "b": {"x": 0.3, "y": 1.0}})
    assert found.average == {"a": 1.5, "b": 1.5}


def test_order_of_methods_changes_no_rank() -> None:
    rng = np.random.default_rng(0)
    scores = {m: {d: float(rng.normal()) for d in "xyz"} for m in "abcde"}
    turned = rank(dict(reversed(scores.items())))
    assert turned.average == rank(scores).average
    assert turned.friedman_p == pytest.approx(rank(scores).friedman_p)


@pytest.mark.parametrize(
    ("scores", "options", "says"),
    [
        ({}, {}, "no method"),
        ({"a": {"x": 1.0}, "b": {"y": 1.0}}, {}, "a, b share no data set"),
        ({"a": {"x": 1.0, "y": math.nan}}, {}, "scores on y"),
        (steps(1, 2), {"better": "bigger"}, "'bigger'"),
        (steps(1, 2), {"alpha": 5}, "alpha is 5"),
    ],
)
def test_bad_input_is_named(scores: Scores, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        rank(scores, **options)
