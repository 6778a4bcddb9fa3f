"""When shaping has converged, and training as curves by the second."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bes.progress import Step

#: Iterations whose losses are averaged: a batch is a random part of the boundary.
WINDOW = 10

#: The share of a layer's whole fall in loss that may be left when it counts as converged.
LEFT = 0.05


def converged(history: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, float | bool]:
    """How many iterations and seconds shaping took until its last layer had converged.

    A layer has converged at the first iteration from which its loss, averaged over `WINDOW` iterations, stays
    within `LEFT` of its whole fall above the lowest; where the last one is not, it has not `converged` and all
    iterations count. Iterations of one shaping take about the same time each.
    """
    if not history:
        return {"iterations": 0, "of": 0, "seconds": seconds, "converged": True}
    last = history[-1]["layer"]
    before = sum(row["layer"] != last for row in history)
    loss = np.array([row["loss_after"] for row in history if row["layer"] == last])
    window = min(WINDOW, len(loss))
    smooth = np.convolve(loss, np.full(window, 1 / window), mode="valid")
    near = smooth <= smooth.min() + LEFT * (smooth.max() - smooth.min())
    outside = np.flatnonzero(~near)
    end = bool(near[-1])
    taken = before + window + (int(outside[-1]) + 1 if len(outside) else 0) if end else len(history)
    return {"iterations": taken, "of": len(history), "seconds": seconds * taken / len(history), "converged": end}


class Curves:
    """A watcher that keeps each stage's loss and score with the seconds since the run began."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._stages: list[dict[str, Any]] = []

    def watch(self, stage: str, _: int) -> Step:
        rows: dict[str, Any] = {"name": stage, "seconds": [], "loss": [], "score": []}
        self._stages.append(rows)

        def step(_: int, __: Any, row: dict[str, Any]) -> None:
            rows["seconds"].append(time.perf_counter() - self._start)
            rows["loss"].append(row["loss"])
            rows["score"].append(row.get("score"))

        return step

    def as_dict(self) -> dict[str, Any]:
        return {"stages": self._stages}
