"""What is timed, and how: in turns, and by medians, as a shared machine has slow moments."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

Kind = Literal["conv-step", "stage", "product", "roofline", "growth"]


@dataclass(frozen=True)
class Timing:
    """One pair.

    Attributes:
        ours_ms, rival_ms: Medians; None where there is nothing to hold against.
        more: What else belongs to it, such as a share of a limit or bytes.
    """

    kind: Kind
    graph: str
    name: str
    ours_ms: float | None
    rival_ms: float | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times as long the rival takes."""
        return self.rival_ms / self.ours_ms if self.ours_ms and self.rival_ms is not None else None

    def as_dict(self) -> dict[str, Any]:
        own = {key: getattr(self, key) for key in ("kind", "graph", "name", "ours_ms", "rival_ms", "ratio")}
        return {**own, **self.more}


def in_turns(*calls: Callable[[], object], seconds: float = 1.0, least: int = 5, most: int = 200) -> list[float]:
    """Median milliseconds of each call, one after the other in turns, after one of each that does not count.

    Args:
        seconds: Time that all turns may take together, once there were `least`.
    """
    took: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    start = time.perf_counter()
    while len(took[0]) < least or (len(took[0]) < most and time.perf_counter() - start < seconds):
        for times, call in zip(took, calls, strict=True):
            begun = time.perf_counter()
            call()
            times.append(1000 * (time.perf_counter() - begun))
    return [median(times) for times in took]
