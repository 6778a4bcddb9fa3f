"""Paired differences between arms, and what they allow one to say."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]


#: Below so many splits the standard error itself is too uncertain to call anything an effect.
ENOUGH = 5


#: Means closer than this are a tie: they differ by rounding alone.
TIE = 1e-12


def headline(records: list[Record]) -> tuple[str, str]:
    """The metric that says how good a task's arms are, and its name: what validation selects by."""
    config = records[0].get("config", {}) if records else {}
    if not records or records[0]["task"] != "link":
        balanced = config.get("scoring") == "balanced_accuracy"
        return ("balanced_acc", "balanced accuracy") if balanced else ("acc", "accuracy")
    by_hits = config.get("links", {}).get("select") == "hits@50"
    return ("hits@50", "Hits@50") if by_hits else ("auroc", "AUC")


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and standard error of some values; None without values."""

    n: int
    mean: float | None
    std: float | None
    error: float | None

    @classmethod
    def of(cls, values: list[float]) -> Summary:
        n = len(values)
        mean = statistics.fmean(values) if n else None
        std = statistics.stdev(values) if n > 1 else None
        return cls(n, mean, std, std / math.sqrt(n) if std is not None else None)

    def text(self, *, signed: bool = False) -> str:
        """In percent: the mean with its standard error."""
        if self.mean is None:
            return "none"
        number = f"{100 * self.mean:+.2f}" if signed else f"{100 * self.mean:.2f}"
        return number if self.error is None else f"{number} ± {100 * self.error:.2f}"


def values(records: list[Record], arm: str, metric: str, part: str = "test") -> dict[int, float]:
    """A metric by seed for one arm; seeds where it has no value are left out."""
    found = {r["seed"]: r["metrics"][part].get(metric) for r in records if r["arm"] == arm}
    return {seed: value for seed, value in found.items() if value is not None}


def difference(records: list[Record], metric: str, part: str = "test", arm: str = "bes") -> Summary:
    """`arm` minus control, paired by seed."""
    control, shaped = values(records, "control", metric, part), values(records, arm, metric, part)
    return Summary.of([shaped[seed] - control[seed] for seed in sorted(control.keys() & shaped.keys())])


def verdict(records: list[Record]) -> str:
    """One sentence on what shaping did on the test part; two standard errors over enough splits make an effect."""
    metric, name = headline(records)
    found = difference(records, metric)
    if found.mean is None:
        both = {r["seed"] for r in records if r["arm"] == "control"} & {r["seed"] for r in records if r["arm"] == "bes"}
        return "The test part has nothing to score: nothing can be said." if both else "No seed has both arms yet."
    change = f"Shaping changed test {name} by {found.text(signed=True)} points over {found.n} split"
    change += "s" if found.n > 1 else ""
    if found.error is None:
        return f"{change}: one split tells nothing about its noise."
    if not any(r["steps"].get("accepted") or r.get("both_views") for r in records if r["arm"] == "bes"):
        if any("guard" in r for r in records):
            return f"{change}: the guard kept the encoders as they came, so the arms are the same."
        return f"{change}: no shaping step was taken, so the arms are the same."
    if abs(found.mean) <= 2 * found.error:
        return f"{change} (standard error): no clear effect."
    if found.n < ENOUGH:
        return f"{change} (standard error): {found.n} splits are too few to call it an effect."
    return f"{change} (standard error): a {'gain' if found.mean > 0 else 'loss'}."
