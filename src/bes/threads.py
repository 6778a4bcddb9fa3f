"""Threads by the size of the work: each operation wakes all of them, and small ones are done before they are awake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

#: Numbers below which a step of training is faster on one thread. Measured on two cores, GCN and Cheb 64 wide: one was
#: ahead on Cora (3.5 M by `step_size`), CiteSeer (4.1 M) and Squirrel, filtered (8.3 M), by a tenth to a third; about
#: level on Actor (11 M); behind on PubMed (27 M) and Amazon Photo (29 M).
STEP = 1 << 23


def step_size(nodes: int, arcs: int, stored: int, width: int) -> int:
    """Numbers that a step works on: some sixteen passes over hidden layers, what edges carry, the features."""
    return (16 * nodes + arcs) * width + stored


@contextmanager
def alone(device: torch.device, *, small: bool) -> Iterator[None]:
    """One thread on a CPU where the work is small; the setting is put back."""
    threads = torch.get_num_threads()
    change = small and device.type == "cpu" and threads > 1
    if change:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if change:
            torch.set_num_threads(threads)
