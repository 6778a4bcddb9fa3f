"""What paired differences allow one to say: intervals, signed-rank tests, and p values for many data sets at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from bes.errors import InputError
from bes.summary import Summary

#: Differences closer than this share of the largest one are ties: subtraction leaves roundoff, and ranks would see it.
DIGITS = 9

#: Up to so many differences all signs are gone through, 2 ** 13 at most.
ALL_SIGNS = 13

#: Resamples of the bootstrap, and where its random numbers start.
RESAMPLES, SEED = 9999, 0


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class Paired:
    """Some differences, all in their own unit; None is what too few of them cannot give.

    Attributes:
        error: Standard error of the mean.
        t: Student's confidence interval of the mean.
        bootstrap: The percentile bootstrap's interval of the mean.
        p: Of Wilcoxon's two-sided signed-rank test; None without a difference that is not zero.
    """

    n: int
    mean: float | None
    error: float | None
    t: Interval | None
    bootstrap: Interval | None
    p: float | None

    @classmethod
    def of(cls, differences: Sequence[float], confidence: float = 0.95) -> Paired:
        if not 0 < confidence < 1:
            raise InputError(f"confidence is {confidence}: give a share between 0 and 1, such as 0.95.")
        found = sorted(float(value) for value in differences)  # resampling must not depend on their order
        if not all(map(math.isfinite, found)):
            raise InputError("differences hold a value that is not finite: leave out the runs that it comes from.")
        summary = Summary.of(found)
        t, bootstrap = _student(summary, confidence), _bootstrap(found, confidence)
        return cls(summary.n, summary.mean, summary.error, t, bootstrap, signed_rank(found))


def _student(summary: Summary, confidence: float) -> Interval | None:
    if summary.mean is None or summary.error is None:
        return None
    half = float(stats.t.ppf((1 + confidence) / 2, summary.n - 1)) * summary.error
    return Interval(summary.mean - half, summary.mean + half)


def _bootstrap(found: list[float], confidence: float) -> Interval | None:
    """Percentiles, not BCa: its acceleration, a third moment of five or ten values, is noise or not defined at all."""
    if len(found) < 2:
        return None
    if found[0] == found[-1]:
        return Interval(found[0], found[0])
    rng = np.random.default_rng(SEED)
    got = stats.bootstrap(
        (found,), np.mean, n_resamples=RESAMPLES, confidence_level=confidence, method="percentile", rng=rng
    ).confidence_interval
    return Interval(float(got.low), float(got.high))


def signed_rank(differences: Sequence[float]) -> float | None:
    """Two-sided p of Wilcoxon's signed-rank test; zeros are left out, for they have no sign to test."""
    values = np.asarray(differences, dtype=float)
    if not values.any():
        return None
    values = np.round(values / np.abs(values).max(), DIGITS)
    values = values[values != 0]
    # scipy's "exact" knows the distribution without ties only, and accuracies on one test part tie often. Going through
    # all signs of the ranks at hand is exact with ties too; where these are too many, "auto" is exact without ties and
    # otherwise normal, with the variance that ties leave.
    if len(values) > ALL_SIGNS:
        return float(stats.wilcoxon(values, method="auto").pvalue)
    if len(values) == 1:
        return 1.0
    ranks = np.sign(values) * stats.rankdata(np.abs(values))
    found = stats.permutation_test((ranks,), np.sum, permutation_type="samples", n_resamples=2**ALL_SIGNS)
    return float(found.pvalue)


def smallest_p(n: int) -> float:
    """The smallest two-sided p that a signed-rank test over `n` pairs can give: 0.0625 over five."""
    return min(1.0, 2 * 0.5**n)


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> Paired:
    """`b` minus `a` over the seeds that both have."""
    return Paired.of([b[seed] - a[seed] for seed in sorted(a.keys() & b.keys())])


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p values, in the order given; None stays None and counts for nothing."""
    tested = sorted((value, place) for place, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    largest = 0.0
    for done, (value, place) in enumerate(tested):
        if not 0 <= value <= 1:
            raise InputError(f"p holds {value}: give values between 0 and 1, or None where there is no test.")
        largest = max(largest, min(1.0, (len(tested) - done) * value))
        adjusted[place] = largest
    return adjusted


def by_dataset(
    control: Mapping[str, Mapping[int, float]], arm: Mapping[str, Mapping[int, float]]
) -> dict[str, tuple[Paired, float | None]]:
    """`arm` minus `control` on every data set that both have, with its p adjusted by Holm over these data sets."""
    found = {name: paired(control[name], arm[name]) for name in control if name in arm}
    adjusted = holm([one.p for one in found.values()])
    return {name: (one, p) for (name, one), p in zip(found.items(), adjusted, strict=True)}
