"""Do probabilities mean what they say: reliability by probability, and the expected calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bes.graph.arrays import Array
from bes.report.charts import chart
from bes.report.outcomes import ARMS, Outcome

#: Bins of confidence, of equal width.
BINS = 10

#: What goes across and up for classes, and for links, which have no class that is predicted without a threshold.
AXES = ("confidence", "accuracy")
LINK_AXES = ("probability of a link", "share of links")


@dataclass(frozen=True)
class Reliability:
    """Predictions by their probability: bin b holds those in (b / B, (b + 1) / B], and the first one also 0.

    Attributes:
        count: Predictions in each bin `[B]`.
        confidence: Their mean probability, of the predicted class or of the class asked for `[B]`; NaN in an empty bin.
        accuracy: How many of them are of that class, as a share `[B]`; NaN in an empty bin.
    """

    count: Array
    confidence: Array
    accuracy: Array

    @property
    def error(self) -> float:
        """The expected calibration error: the mean over predictions of |accuracy - confidence| of their bin."""
        some = self.count > 0
        gap = np.abs(self.accuracy[some] - self.confidence[some])
        return float((gap * self.count[some]).sum() / self.count.sum())


def reliability(prob: Array, truth: Array, n_bins: int = BINS, of: int | None = None) -> Reliability:
    """Bins of the probabilities `[n, C]` of classes `[n]`.

    Args:
        of: The class whose probability is taken; that of the most probable class where it is None.
    """
    prob = prob.astype(np.float64)
    confidence = prob.max(1) if of is None else prob[:, of]
    right = truth == (prob.argmax(1) if of is None else of)
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    bins = np.digitize(confidence, inner, right=True)
    count = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):  # an empty bin has no mean
        return Reliability(
            count,
            np.bincount(bins, confidence, minlength=n_bins) / count,
            np.bincount(bins, right, minlength=n_bins) / count,
        )


def by_arm(found: Sequence[Outcome], n_bins: int = BINS, of: int | None = None) -> dict[str, Reliability]:
    """Reliability of each arm over the test parts of all seeds; empty without one."""
    if not found:
        return {}
    truth = np.concatenate([outcome.truth for outcome in found])
    return {arm: reliability(np.concatenate([o.prob[arm] for o in found]), truth, n_bins, of) for arm in ARMS}


def diagram(found: dict[str, Reliability], axes: tuple[str, str] = AXES) -> dict[str, Any] | None:
    """The chart of both arms, their errors and the bins as rows; None where nothing was tested."""
    if not found:
        return None
    across, up = axes
    drawn = chart("Reliability", (across, 0.0, 1.0), (up, 0.0, 1.0), height=340.0)
    drawn.line([(0, 0), (1, 1)], "ideal")
    for arm, bins in found.items():
        some = np.flatnonzero(bins.count)
        points = [(float(bins.confidence[b]), float(bins.accuracy[b])) for b in some]
        drawn.line(points, arm)
        for b, (x, y) in zip(some, points, strict=True):
            size = 3 + 9 * float(np.sqrt(bins.count[b] / bins.count.sum()))
            text = f"{arm}: {bins.count[b]} predictions, {across} {x:.2f}, {up} {y:.2f}"
            drawn.dots.append({"style": arm, "x": drawn.x.at(x), "y": drawn.y.at(y), "r": round(size, 1), "text": text})
    errors = {arm: bins.error for arm, bins in found.items()}
    drawn.about = ", ".join(f"expected calibration error of {arm} {error:.3f}" for arm, error in errors.items())
    return {"chart": drawn, "axes": axes, "errors": errors, "rows": _rows(found)}


def _rows(found: dict[str, Reliability]) -> list[dict[str, Any]]:
    """A row a bin that is not empty in both arms."""
    rows = []
    n_bins = len(found["bes"].count)
    for b in range(n_bins):
        if any(bins.count[b] for bins in found.values()):
            by_arm = {
                arm: {"n": int(bins.count[b]), "accuracy": float(bins.accuracy[b])} for arm, bins in found.items()
            }
            rows.append({"low": b / n_bins, "high": (b + 1) / n_bins, **by_arm})
    return rows
