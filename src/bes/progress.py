"""A bar for people at a terminal, and silence for everyone else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
