"""`bes bench`: the paper's experiments, each one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bes.cli.app import Quiet, app


@app.command()
def bench(
    suite: Annotated[str | None, typer.Argument(help="A suite's name, or `all`. Without it they are listed.")] = None,
    jobs: Annotated[int, typer.Option(help="Runs at a time, each in its own process.")] = 1,
    limit_minutes: Annotated[float | None, typer.Option(help="Start no run after so many minutes.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try runs again that failed.")] = False,
    out: Annotated[Path, typer.Option(help="The store, shared by all suites.")] = Path("bench"),
    quiet: Quiet = False,
) -> None:
    """Run what is not recorded yet of a suite."""
    from rich.console import Console

    from bes.bench.board import LiveBoard
    from bes.bench.runner import Runner
    from bes.bench.store import Store
    from bes.bench.suites import SUITES
    from bes.records import library_version

    console = Console(highlight=False, emoji=False)
    chosen = [make() for name, make in SUITES.items() if suite in (name, "all")]
    store = Store(out, library_version())
    runner = Runner(chosen, store, retry=retry_failed)
    with LiveBoard(console, store.records(), show=not quiet) as board:
        runner.run(board, jobs=jobs, minutes=limit_minutes)
