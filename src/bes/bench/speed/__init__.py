"""`bes bench speed`: ratios, each pair measured in one process, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from bes.bench.speed.growth import grow
from bes.bench.speed.kept import Kept
from bes.bench.speed.model import Timing
from bes.bench.speed.rivals import conv_steps
from bes.bench.speed.roofline import roofline
from bes.bench.speed.stages import stages

__all__ = ["NAME", "PARTS", "QUICK", "TITLE", "Kept", "Timing", "measure"]

#: Its name among the suites, and what it is.
NAME, TITLE = "speed", "Speed: ratios against PyTorch Geometric, stages, this machine's limits, and growth"

#: The parts of the benchmark, in their order; only growth, which takes long, goes on where it was.
PARTS: dict[str, Callable[[Kept], Iterator[Timing]]] = {
    "conv-step": lambda _: conv_steps(),
    "stage": lambda _: stages(),
    "roofline": lambda _: roofline(),
    "growth": lambda kept: grow(kept.known("growth")),
}

#: What `--quick` measures.
QUICK = ("conv-step", "stage", "roofline")


def measure(kept: Kept, parts: Sequence[str] | None = None, minutes: float | None = None) -> Iterator[Timing]:
    """Measure, keep and give one timing after the other.

    Args:
        minutes: Nothing more is begun after so many.
    """
    begun = monotonic()
    for part in PARTS if parts is None else parts:
        for one in PARTS[part](kept):
            kept.add(one)
            yield one
            if minutes is not None and monotonic() - begun > 60 * minutes:
                return
