"""`bes bench speed`: ratios, each pair measured in one process, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from bes.bench.speed.growth import LARGE, WORK, grow
from bes.bench.speed.kept import Kept
from bes.bench.speed.model import Timing
from bes.bench.speed.products import products
from bes.bench.speed.rivals import conv_steps
from bes.bench.speed.roofline import roofline
from bes.bench.speed.stages import stages

__all__ = ["NAME", "PARTS", "QUICK", "TITLE", "Kept", "Timing", "measure"]

#: Its name among the suites, and what it is.
NAME, TITLE = "speed", "Speed: ratios against PyTorch Geometric, stages, this machine's limits, and growth"

#: The parts of the benchmark, in their order; only growth, which takes long, goes on where it was.
PARTS: dict[str, Callable[[Kept, int], Iterator[Timing]]] = {
    "conv-step": lambda *_: conv_steps(),
    "stage": lambda *_: stages(),
    "product": lambda *_: products(),
    "roofline": lambda *_: roofline(),
    "growth": lambda kept, large: grow(kept.known("growth", work=WORK), large=large),
}

#: What `--quick` measures.
QUICK = ("conv-step", "stage", "product", "roofline")


def measure(
    kept: Kept, parts: Sequence[str] | None = None, minutes: float | None = None, large: int = LARGE
) -> Iterator[Timing]:
    """Measure, keep and give one timing after the other.

    Args:
        minutes: Nothing more is begun after so many.
        large: Nodes of the largest embeddings that are shaped, the last of growth; 0 leaves them out.
    """
    begun = monotonic()
    for part in PARTS if parts is None else parts:
        for one in PARTS[part](kept, large):
            kept.add(one)
            yield one
            if minutes is not None and monotonic() - begun > 60 * minutes:
                return
