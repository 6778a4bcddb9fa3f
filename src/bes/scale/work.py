"""Flops and bytes of the operations that stages are made of, and how long a machine takes for them.

Float32 throughout. Bytes are those that must move when nothing stays in a cache from one operation to the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: Results above this size are asked of the system anew each time (glibc's largest threshold for that), but while memory
#: is kept (`bes.machine.retained`): 32 MiB.
FRESH = 32 << 20


@dataclass(frozen=True)
class Work:
    """One operation.

    Attributes:
        flops: Multiplications and additions.
        stream: Bytes that are read or written along arrays.
        random: Bytes of rows that are read in the order of a graph's edges, or of drawn nodes.
        fresh: Of `stream`, bytes of results in memory that was asked for anew.
    """

    name: str
    flops: float
    stream: float
    random: float = 0.0
    fresh: float = 0.0

    @property
    def bytes(self) -> float:
        """All that moves."""
        return self.stream + self.random

    @property
    def intensity(self) -> float:
        """Flops a byte."""
        return self.flops / self.bytes if self.bytes else 0.0

    def times(self, count: float) -> Work:
        """The same so many times."""
        return Work(self.name, *(count * value for value in (self.flops, self.stream, self.random, self.fresh)))


@dataclass(frozen=True)
class Machine:
    """What a machine was measured to do: flops a second, and bytes a second by the way they are reached."""

    flops: float
    stream: float
    random: float
    fresh: float

    def roof(self, work: Work) -> float:
        """Flops a second that are attainable: min(peak, intensity x bandwidth)."""
        return min(self.flops, work.intensity * self.stream)

    def seconds(self, work: Work) -> float:
        """The longer of computing and moving, and what fresh memory costs beyond being written."""
        moving = work.stream / self.stream + work.random / self.random
        asking = work.fresh * max(0.0, 1 / self.fresh - 1 / self.stream)
        return max(work.flops / self.flops, moving) + asking

    def takes(self, works: Iterable[Work]) -> float:
        """Seconds of a stage."""
        return sum(self.seconds(work) for work in works)


def _fresh(size: float) -> float:
    return size if size > FRESH else 0.0


def dense(name: str, rows: float, inner: float, columns: float, *, result: float | None = None) -> Work:
    """`[rows, inner]` times `[inner, columns]`.

    Args:
        result: Numbers of the result where it is not `[rows, columns]`, as for the gradient of a weight, where rows
            are what is added up over.
    """
    written = rows * columns if result is None else result
    read = rows * inner + (inner * columns if result is None else rows * columns)
    return Work(name, 2 * rows * inner * columns, 4 * (read + written), fresh=_fresh(4 * written))


def sparse(name: str, rows: float, entries: float, width: float, index: int = 4) -> Work:
    """A matrix with `entries` stored entries times `[., width]`: the matrix, a row an entry, and the result.

    On a graph without order in its nodes no row is in a cache when it is needed.
    """
    result = 4 * rows * width
    along = entries * (4 + index) + rows * index + result
    return Work(name, 2 * entries * width, along, 4 * entries * width, _fresh(result))


def passes(name: str, numbers: float, moved: float, flops: float = 1.0) -> Work:
    """Element by element over an array, `moved` bytes a number."""
    return Work(name, flops * numbers, moved * numbers)


def gathered(name: str, rows: float, width: float) -> Work:
    """Rows read in any order and laid side by side."""
    return Work(name, 0.0, 4 * rows * width, 4 * rows * width, _fresh(4 * rows * width))
