"""`bes bench speed`: ratios, each pair measured in one process, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bes.bench.speed.model import Timing
from bes.bench.speed.rivals import conv_steps
from bes.bench.speed.roofline import roofline
from bes.bench.speed.stages import stages

#: Its name among the suites, and what it is.
NAME, TITLE = "speed", "Speed: ratios against PyTorch Geometric, stages, and this machine's limits"

#: The parts of the benchmark, in their order.
PARTS: dict[str, Callable[[], Iterator[Timing]]] = {
    "conv-step": conv_steps,
    "stage": stages,
    "roofline": roofline,
}
