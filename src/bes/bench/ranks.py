"""Methods ranked over data sets, after Demšar (2006): Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bes.errors import InputError

#: Scores of a data set closer than this share of the largest one are ties: means over seeds carry roundoff.
DIGITS = 12


@dataclass(frozen=True)
class Ranks:
    """How methods rank over the data sets that all of them have.

    Attributes:
        methods: Best first.
        average: The mean rank of each method, 1 is best; ties share their ranks.
        friedman_p: Of the test that all methods rank alike; None with fewer than three methods or two data sets, and
            where all methods tie on all data sets.
        critical: Nemenyi's critical difference of two mean ranks; None with fewer than two methods or data sets.
        groups: Methods that do not differ by more than `critical`, best first: as large as can be, two or more each.
    """

    methods: tuple[str, ...]
    n_datasets: int
    average: dict[str, float]
    friedman_p: float | None
    critical: float | None
    groups: list[tuple[str, ...]]


def rank(
    scores: Mapping[str, Mapping[str, float]], better: Literal["higher", "lower"] = "higher", alpha: float = 0.05
) -> Ranks:
    """Ranks of the methods in `scores[method][dataset]`."""
    if better not in ("higher", "lower"):
        raise InputError(f"better is {better!r}: give 'higher' or 'lower'.")
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}: give a share between 0 and 1, such as 0.05.")
    table = _table(scores)
    n, k = table.shape
    ranks = stats.rankdata(-table if better == "higher" else table, axis=1)
    means = dict(zip(scores, ranks.mean(axis=0).tolist(), strict=True))
    average = {method: means[method] for method in sorted(means, key=means.__getitem__)}
    critical = critical_value(k, alpha) * math.sqrt(k * (k + 1) / (6 * n)) if min(k, n) > 1 else None
    return Ranks(tuple(average), n, average, _friedman(ranks), critical, _groups(average, critical))


def critical_value(k: int, alpha: float = 0.05) -> float:
    """Nemenyi's q for `k` methods: the studentized range with infinite degrees of freedom, over the root of two."""
    return float(stats.studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)


def _table(scores: Mapping[str, Mapping[str, float]]) -> NDArray[np.float64]:
    """Scores by common data set and method, each data set's over its largest, rounded."""
    columns = list(scores.values())
    common = [name for name in columns[0] if all(name in column for column in columns)] if columns else []
    if not common:
        raise InputError(f"scores of {', '.join(scores) or 'no method'} share no data set: run all on one at least.")
    table = np.array([[column[name] for column in columns] for name in common], dtype=float)
    for name, row in zip(common, table, strict=True):
        if not np.isfinite(row).all():
            raise InputError(f"scores on {name} hold a value that is not finite: leave that method or data set out.")
    top = np.abs(table).max(axis=1, keepdims=True)
    return np.round(table / np.where(top == 0, 1, top), DIGITS)


def _friedman(ranks: NDArray[np.float64]) -> float | None:
    n, k = ranks.shape
    if k < 3 or n < 2 or bool((ranks == ranks[:, :1]).all()):
        return None
    return float(stats.friedmanchisquare(*ranks.T).pvalue)


def _groups(average: Mapping[str, float], critical: float | None) -> list[tuple[str, ...]]:
    """Runs of methods along their ranks; one that ends where the run before it ended is part of that."""
    methods = list(average)
    found: list[tuple[str, ...]] = []
    reached = 0
    for first in range(len(methods) if critical is not None else 0):
        near = [m for m in methods[first:] if critical is not None and average[m] - average[methods[first]] <= critical]
        if len(near) > 1 and first + len(near) > reached:
            found.append(tuple(near))
            reached = first + len(near)
    return found
