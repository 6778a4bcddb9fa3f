"""A live table of a grid for people at a terminal, a line a run for logs."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bes.bench.order import Expected
from bes.bench.units import Outcome, Unit
from bes.summary import Record

#: Runs that ended last, as many as are shown.
SHOWN = 5


class LiveBoard:
    """What is done, running and failed, and about how long the rest takes.

    Args:
        records: Earlier runs: how long they took says how long others will.
        show: Or nothing at all.
    """

    def __init__(self, console: Console, records: Iterable[Record] = (), *, show: bool = True) -> None:
        self.console, self.show = console, show
        self.counts: Counter[str] = Counter()
        self._expected = Expected(records)
        self._left: list[Unit] = []
        self._running: dict[Unit, float] = {}
        self._ended: deque[Text] = deque(maxlen=SHOWN)
        self._jobs = 1
        live = show and console.is_terminal
        self._live = Live(console=console, refresh_per_second=4, transient=True) if live else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, todo: Sequence[Unit], done: int, jobs: int) -> None:
        self._left, self._jobs = list(todo), jobs
        self.counts.update(recorded=done)
        if self.show and self._live is None:
            self.console.print(f"{done} runs recorded, {len(todo)} to do.", markup=False)

    def start(self, unit: Unit) -> None:
        self._running[unit] = time.monotonic()

    def end(self, outcome: Outcome) -> None:
        unit = outcome.unit
        del self._running[unit]
        self._left.remove(unit)
        self.counts["failed" if outcome.error else "done"] += 1
        if not outcome.error:
            self._expected.learn(unit, outcome.seconds)
        said = f"failed: {outcome.error}" if outcome.error else f"{outcome.seconds:.1f} s"
        line = Text(f"{unit.title}: {said}", style="red" if outcome.error else "")
        self._ended.append(line)
        if self.show and self._live is None:
            total = sum(self.counts.values()) + len(self._left)
            left = f"{duration(self.seconds_left())} left"
            self.console.print(f"{total - len(self._left)}/{total}  {line}  ({left})", markup=False, soft_wrap=True)

    def tick(self) -> None:
        if self._live is not None:
            self._live.update(self._draw())

    def seconds_left(self) -> float:
        """By what runs of the same kind took; those at work count for what is left of them."""
        now = time.monotonic()
        left = (max(0.0, self._expected.seconds(unit) - (now - self._running.get(unit, now))) for unit in self._left)
        return sum(left) / self._jobs

    def _draw(self) -> RenderableType:
        table = Table(title="runs")
        for name in ("recorded before", "done", "running", "failed", "to do", "time left"):
            table.add_column(name, justify="right")
        counts, waiting = self.counts, len(self._left) - len(self._running)
        numbers = (counts["recorded"], counts["done"], len(self._running), counts["failed"], waiting)
        table.add_row(*map(str, numbers), duration(self.seconds_left()))
        now = time.monotonic()
        running = [Text(f"… {unit.title}: {now - since:.0f} s") for unit, since in self._running.items()]
        return Group(table, *running, *self._ended)


def duration(seconds: float) -> str:
    """Such as `42 s`, `7 min` or `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
