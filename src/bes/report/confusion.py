"""Who is taken for whom: confusion matrices of the test part, summed over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bes.graph.arrays import Array
from bes.report.outcomes import Outcome


def confusion(found: Sequence[Outcome], arm: str, n_classes: int) -> Array:
    """Counts `[C, C]` over all seeds: a row a true class, a column a predicted one."""
    counts = np.zeros(n_classes * n_classes, dtype=np.int64)
    for outcome in found:
        counts += np.bincount(outcome.truth * n_classes + outcome.guess[arm], minlength=len(counts))
    return counts.reshape(n_classes, n_classes)


def matrices(found: Sequence[Outcome], names: Sequence[str]) -> dict[str, Any] | None:
    """Control, bes and their difference as rows of cells; None without a test part.

    A cell has its count `n` and `shade`, its share of the true class; in the difference the change of that share,
    signed, as a part of the largest.
    """
    if not found:
        return None
    n = max(len(names), *(outcome.prob["bes"].shape[1] for outcome in found))
    control, bes = (confusion(found, arm, n) for arm in ("control", "bes"))
    size = np.maximum(control.sum(1, keepdims=True), 1)
    change = (bes - control) / size
    tables = [
        ("control", control, control / size),
        ("bes", bes, bes / size),
        ("difference", bes - control, change / (np.abs(change).max() or 1.0)),
    ]
    return {
        "names": [*names, *(str(c) for c in range(len(names), n))],
        "tables": [{"title": title, "rows": _cells(counts, shade)} for title, counts, shade in tables],
        "seeds": len(found),
    }


def _cells(counts: Array, shade: Array) -> list[list[dict[str, Any]]]:
    return [
        [{"n": int(n), "shade": round(float(s), 3)} for n, s in zip(row, shades, strict=True)]
        for row, shades in zip(counts, shade, strict=True)
    ]
