"""Bars with the time left for people at a terminal, and silence for everyone else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Item = TypeVar("Item")

#: Called after each step of a training with the step, what is trained, and the row of its history.
Step = Callable[[int, Any, dict[str, Any]], None]

#: Told that a stage of so many steps begins; gives what to call after each of them.
Watch = Callable[[str, int], Step]


@contextmanager
def iterations(total: int, *, show: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields a function to call with each row of a shaper's history."""
    if not show:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("shaping"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, TextColumn("{task.fields[state]}")) as bar:
        task = bar.add_task("shaping", total=total, state="")
        accepted = 0

        def report(row: dict[str, Any]) -> None:
            nonlocal accepted
            accepted += row["accepted"]
            state = (
                f"layer {row['layer']}  loss {row['loss']:.4g}  displacement {row['displacement']:.3g}  kept {accepted}"
            )
            bar.update(task, advance=1, state=state)

        yield report


def track(items: list[Item], what: str, console: Console, *, show: bool) -> Iterable[Item]:
    """The items one by one, with a bar over them at a terminal."""
    if not (show and console.is_terminal):
        return items
    from rich.progress import track as shown

    return shown(items, what, console=console, transient=True)


class SeedsBar:
    """A bar over the seeds of a run that also moves within a seed.

    Args:
        total: Seeds.
        steps: About how many training steps a seed takes: its share of the bar fills by them.
        show: The bar itself, or nothing.
    """

    def __init__(self, total: int, steps: int, console: Console, *, show: bool) -> None:
        self.total, self.steps, self.console, self.show = total, steps, console, show
        self._done, self._taken = 0, 0
        self._bar: Progress | None = None

    def __enter__(self) -> SeedsBar:
        if self.show and self.console.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            seeds = TextColumn("seed {task.fields[seeds]}")
            left = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[stage]}"))
            self._bar = Progress(seeds, BarColumn(), *left, console=self.console)
            self._task = self._bar.add_task("seeds", total=self.total, seeds=f"1/{self.total}", stage="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def seeds(self, done: int, _: int) -> None:
        """A seed has ended."""
        self._done, self._taken = done, 0
        self._update(stage="")

    def watch(self, stage: str, _: int) -> Step:
        """A stage begins in this process."""

        def step(*_: Any) -> None:
            self._taken += 1
            self._update(stage=stage)

        return step

    @property
    def done(self) -> float:
        """Seeds done, and the share of the one at work."""
        return self._done + (min(0.99, self._taken / self.steps) if self._done < self.total else 0.0)

    def _update(self, stage: str) -> None:
        if self._bar is not None:
            seeds = f"{min(self._done + 1, self.total)}/{self.total}"
            self._bar.update(self._task, completed=self.done, seeds=seeds, stage=stage)
