import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bes.bench.stats import Interval, Paired, by_dataset, holm, paired, signed_rank, smallest_p
from bes.errors import InputError

unhurried = settings()  # time is not what these tests are about

#: Whole multiples of a quarter: ties and zeros are many, and sums exact.
quarters = st.lists(st.integers(-20, 20).map(lambda n: n / 4), min_size=1, max_size=9)
ps = st.lists(st.none() | st.floats(0, 1), max_size=9)


def naive_signed_rank(differences: list[float]) -> float:
    """Every sign of every rank, counted; twice the smaller tail."""
    nonzero = [d for d in differences if d != 0]
    ranks = [sum(abs(e) < abs(d) for e in nonzero) + (sum(abs(e) == abs(d) for e in nonzero) + 1) / 2 for d in nonzero]
    seen = sum(math.copysign(r, d) for r, d in zip(ranks, nonzero, strict=True))
    sums = [
        sum(s * r for s, r in zip(signs, ranks, strict=True)) for signs in itertools.product((-1, 1), repeat=len(ranks))
    ]
    tails = sum(total <= seen for total in sums), sum(total >= seen for total in sums)
    return min(1.0, 2 * min(tails) / len(sums))


def test_mean_error_and_student_interval_by_hand() -> None:
    """1 to 5: mean 3, error sqrt(2.5 / 5), and 2.776 is Student's t of four degrees of freedom at 97.5 %."""
    found = Paired.of([4, 2, 5, 1, 3])
    assert (found.n, found.mean) == (5, 3)
    assert found.error == pytest.approx(math.sqrt(0.5))
    assert found.t is not None
    assert found.t.low == pytest.approx(3 - 2.776 * math.sqrt(0.5), abs=1e-3)
    assert found.t.high == pytest.approx(3 + 2.776 * math.sqrt(0.5), abs=1e-3)
    assert found.p == 0.0625


def test_too_few_differences_give_none() -> None:
    assert Paired.of([]) == Paired(0, None, None, None, None, None)
    assert Paired.of([2.5]) == Paired(1, 2.5, None, None, None, 1.0)
    assert Paired.of([0.0]).p is None


def test_equal_differences_have_intervals_without_width() -> None:
    at = Interval(0.1, 0.1)
    assert Paired.of([0.1] * 10) == Paired(10, 0.1, 0.0, at, at, 2 / 2**10)
    zero = Interval(0.0, 0.0)
    assert Paired.of([0.0] * 4) == Paired(4, 0.0, 0.0, zero, zero, None)


@unhurried
@given(quarters, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_intervals_hold_the_mean(differences: list[float], random: object) -> None:
    shuffled = list(differences)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = Paired.of(differences)
    assert found == Paired.of(shuffled)
    assert found.mean == statistics.fmean(differences)
    for interval in (found.t, found.bootstrap):
        assert (interval is None) == (len(differences) == 1)
        assert interval is None or interval.low <= found.mean + 1e-12
        assert interval is None or found.mean - 1e-12 <= interval.high


@unhurried
@given(quarters.filter(lambda d: len(d) > 1))
def test_bootstrap_stays_within_the_differences(differences: list[float]) -> None:
    found = Paired.of(differences).bootstrap
    assert found is not None
    assert min(differences) - 1e-9 <= found.low <= found.high <= max(differences) + 1e-9


def test_more_confidence_is_wider() -> None:
    narrow, wide = (Paired.of([0.3, -0.2, 0.9, 1.4, 0.1, 0.7], confidence) for confidence in (0.5, 0.99))
    for name in ("t", "bootstrap"):
        inner, outer = getattr(narrow, name), getattr(wide, name)
        assert outer.low < inner.low < inner.high < outer.high


def test_bootstrap_nears_the_normal_interval_of_many_differences() -> None:
    values = np.random.default_rng(3).normal(1, 2, 400)
    found = Paired.of(values.tolist())
    assert found.bootstrap is not None
    assert found.t is not None
    assert found.bootstrap.low == pytest.approx(found.t.low, abs=0.02)
    assert found.bootstrap.high == pytest.approx(found.t.high, abs=0.02)


@unhurried
@given(quarters)
def test_signed_rank_goes_through_all_signs(differences: list[float]) -> None:
    found = signed_rank(differences)
    if any(differences):
        assert found == pytest.approx(naive_signed_rank(differences))
    else:
        assert found is None


@unhurried
@given(quarters.filter(any))
def test_signed_rank_knows_no_side_and_no_unit(differences: list[float]) -> None:
    found = signed_rank(differences)
    assert signed_rank([-d for d in differences]) == pytest.approx(found)
    assert signed_rank([100 * d for d in differences]) == pytest.approx(found)
    assert found is not None
    assert found >= smallest_p(sum(d != 0 for d in differences)) - 1e-12


@pytest.mark.parametrize("n", [2, 7, 13, 14, 30])
def test_signed_rank_without_ties_is_scipys_exact(n: int) -> None:
    values = np.random.default_rng(n).normal(0.3, 1, n)
    assert signed_rank(values.tolist()) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


def test_signed_rank_with_many_ties_is_normal() -> None:
    values = [1.0, 1.0, 2.0, -2.0, 0.0] * 6
    nonzero = [v for v in values if v]
    assert signed_rank(values) == pytest.approx(stats.wilcoxon(nonzero, method="asymptotic").pvalue)


def test_roundoff_breaks_no_tie() -> None:
    """0.83 - 0.81, 0.73 - 0.71 and 0.43 - 0.41 differ in the last bits only, and so do 0.1 + 0.2 and 0.3."""
    drifting = [0.83 - 0.81, 0.73 - 0.71, 0.41 - 0.43, 0.05, 0.1 + 0.2 - 0.3]
    assert len(set(map(abs, drifting[:3]))) > 1
    assert signed_rank(drifting) == signed_rank([0.02, 0.02, -0.02, 0.05, 0.0]) == 0.5


@pytest.mark.parametrize(("n", "expected"), [(0, 1.0), (1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125)])
def test_smallest_p_is_reached_when_all_agree(n: int, expected: float) -> None:
    assert smallest_p(n) == expected
    if n:
        assert signed_rank([float(i) for i in range(1, n + 1)]) == pytest.approx(expected)


def test_pairs_are_b_minus_a_by_common_seed() -> None:
    found = paired({0: 80.0, 1: 81.0, 2: 82.0, 9: 1.0}, {2: 85.0, 1: 83.0, 0: 81.0, 7: 0.0})
    assert found == Paired.of([1, 2, 3])
    assert paired({0: 1.0}, {1: 2.0}).mean is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_named(bad: float) -> None:
    with pytest.raises(InputError, match="not finite"):
        Paired.of([1.0, bad])


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence"):
        Paired.of([1.0, 2.0], confidence)


def naive_holm(p: list[float]) -> list[float]:
    """The largest, over all p values up to this one, of p times how many are at least as large from there on."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    return [max(min(1.0, (len(p) - j) * p[order[j]]) for j in range(order.index(i) + 1)) for i in range(len(p))]


def test_holm_by_hand() -> None:
    """0.01, 0.03 and 0.04, three tests: 0.03, 0.06, and 0.04 raised to the 0.06 before it."""
    assert holm([0.03, None, 0.01, 0.04]) == [pytest.approx(0.06), None, pytest.approx(0.03), pytest.approx(0.06)]


@unhurried
@given(ps)
def test_holm_is_the_naive_one_and_keeps_its_promises(p: list[float | None]) -> None:
    adjusted = holm(p)
    assert [a is None for a in adjusted] == [raw is None for raw in p]
    tested = [(raw, a) for raw, a in zip(p, adjusted, strict=True) if raw is not None and a is not None]
    assert [a for _, a in tested] == pytest.approx(naive_holm([raw for raw, _ in tested]))
    assert all(raw <= a <= 1 for raw, a in tested)
    ordered = [a for _, a in sorted(tested)]
    assert ordered == sorted(ordered)
    if len(tested) == 1:
        assert tested[0][0] == tested[0][1]


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_holm_wants_p_values(bad: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([0.5, bad])


def test_data_sets_are_adjusted_together() -> None:
    control = {name: dict.fromkeys(range(8), 1.0) for name in ("cora", "pubmed", "same", "left out", "no seed")}
    up = {seed: 2.0 + seed for seed in range(8)}
    wavering = {seed: 1.0 + (-1) ** seed * (seed + 1) for seed in range(8)}
    arm = {"pubmed": wavering, "cora": up, "same": control["same"], "no seed": {99: 1.0}}
    found = by_dataset(control, arm)
    assert list(found) == ["cora", "pubmed", "same", "no seed"]
    assert found["cora"] == (paired(control["cora"], up), pytest.approx(2 * 2 / 2**8))
    assert found["pubmed"][1] == found["pubmed"][0].p
    assert found["same"] == (Paired.of([0.0] * 8), None)
    assert found["no seed"][0].n == 0
