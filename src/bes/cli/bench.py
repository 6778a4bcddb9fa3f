"""`bes bench`: the paper's experiments, each one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bes.cli.app import Json, Quiet, app, words


def _suites(incomplete: str) -> list[str]:
    from bes.bench import speed
    from bes.bench.suites import SUITES

    return [name for name in [*SUITES, speed.NAME, "all"] if name.startswith(incomplete)]


@app.command()
def bench(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SUITE]...",
            help="Suites by name, `all`, or a .yaml or .json file with one of your own. Without it they are listed.",
            autocompletion=_suites,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs at a time, each in its own process with its share of cores.")] = 1,
    resume: Annotated[
        bool,
        typer.Option("--resume/--no-resume", help="Go on with the store, or set its records aside and begin anew."),
    ] = True,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try runs again that failed.")] = False,
    limit_minutes: Annotated[
        float | None, typer.Option(help="Start no run after so many minutes; those at work come to their end.")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            help="Where runs are at work: here in processes, or on a ray cluster.",
            autocompletion=words("processes", "ray"),
        ),
    ] = "processes",
    quick: Annotated[
        bool, typer.Option("--quick", help="Of the suite speed: without growth, which takes an hour or more.")
    ] = False,
    out: Annotated[Path, typer.Option(help="The store, shared by all suites, and what is written from it.")] = Path(
        "bench"
    ),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Regenerate the paper's tables and figures: run what is not recorded yet, then write and show them.

    Continues where it was when called again; suites share their runs.
    """
    from rich.console import Console

    from bes import console
    from bes.bench import speed
    from bes.bench.board import LiveBoard
    from bes.bench.crews import pick_crew
    from bes.bench.output import Filled, write
    from bes.bench.runner import Runner
    from bes.bench.store import Store
    from bes.bench.suites import chosen_suites, listed
    from bes.bench.terminal import show
    from bes.errors import InputError
    from bes.records import library_version

    shown = not (quiet or as_json)
    if not suites:
        every = [*listed(), (speed.NAME, speed.TITLE)]
        console.print_json([{"suite": name, "title": title} for name, title in every]) if as_json else (
            console.print_suites(every)
        )
        return
    if speed.NAME in suites:
        _speed(suites, out, quick=quick, resume=resume, minutes=limit_minutes, as_json=as_json, shown=shown)
        return
    if quick:
        raise InputError(f"--quick is of the suite '{speed.NAME}' alone: leave it out, or use --limit-minutes.")
    chosen, make_crew = chosen_suites(suites), pick_crew(on)
    store = Store(out, library_version())
    with console.waiting("reading the data sets", show=shown):
        runner = Runner(chosen, store, retry=retry_failed)
    try:
        with LiveBoard(console.out, store.records(), show=shown) as board:
            runner.run(board, jobs=jobs, minutes=limit_minutes, make_crew=make_crew, anew=not resume)
    except KeyboardInterrupt:
        Console(stderr=True).print("bes: stopped; call it again with the same --out to go on.", style="yellow")
        raise typer.Exit(130) from None
    results = [Filled.of(suite, store, runner.data) for suite in chosen]
    for filled in results:
        with console.waiting(f"writing {filled.suite.name}", show=shown):
            files, notes = write(filled, out / filled.suite.name)
        if shown:
            show(filled, console.out)
            console.print_written(files, notes)
    if shown:
        console.print_bench(runner.absent_data, runner.failed())
    if as_json:
        console.print_json({"suites": [filled.as_json() for filled in results], "failed": runner.failed()})
    if runner.failed():
        raise typer.Exit(1)


def _speed(
    suites: list[str], out: Path, *, quick: bool, resume: bool, minutes: float | None, as_json: bool, shown: bool
) -> None:
    """Ratios that are measured here and now; only growth goes on where it was."""
    from bes import console
    from bes.bench.speed import NAME, QUICK, Kept, measure
    from bes.bench.speed.output import as_json as listed
    from bes.bench.speed.output import write
    from bes.bench.terminal import show_timing
    from bes.errors import InputError

    if suites != [NAME]:
        raise InputError(f"The suite '{NAME}' measures time, and others would disturb it: call it by itself.")
    kept = Kept(out / NAME)
    if not resume:
        kept.set_aside()
    for one in measure(kept, QUICK if quick else None, minutes):
        if shown:
            show_timing(one, console.out)
    if as_json:
        console.print_json(listed(kept.lines()))
    files, notes = write(kept.lines(), out / NAME)
    if shown:
        console.print_written(files, notes)
