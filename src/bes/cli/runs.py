"""What is done with finished runs: `bes predict`, `bes report`, `bes explore`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from bes.cli.app import Device, Json, Quiet, RunFolder, app, words


@app.command()
def predict(
    run_dir: RunFolder,
    nodes: Annotated[Path, typer.Option(help="New nodes as .csv or .tsv, with the columns of the first file.")],
    edges: Annotated[
        Path | None, typer.Option(help="Their edges, to one another and to nodes of the run. \\[default: none]")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the predictions go.")] = Path("predictions.csv"),
    arm: Annotated[
        str | None,
        typer.Option(
            help="control or bes. \\[default: the better one on validation]", autocompletion=words("control", "bes")
        ),
    ] = None,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Classes of nodes that were not there when the model was trained."""
    from bes import console
    from bes.predict import predict_new
    from bes.stored import StoredRun

    def over(seeds: list[int]) -> Iterable[int]:
        return console.track(seeds, "seeds", show=not (quiet or as_json))

    count, notes = predict_new(StoredRun(run_dir), nodes, edges, out, arm=arm, device=device or "auto", over=over)
    if as_json:
        console.print_json({"predicted": count, "out": str(out), "notes": notes})
    elif not quiet:
        console.print_predicted(count, notes, out)


@app.command()
def report(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="Runs, or folders that hold runs.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the report goes.")] = Path("report.html"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """One report of one or several runs, with a comparison."""
    from bes import console
    from bes.report.compare import find_runs, write_comparison
    from bes.stored import StoredRun

    def over(runs: list[StoredRun]) -> Iterable[StoredRun]:
        return console.track(runs, "runs", show=not (quiet or as_json))

    found = find_runs(paths)
    written = write_comparison(found, out, over)
    if as_json:
        console.print_json({"report": str(written), "runs": [str(run.path) for run in found]})
    elif not quiet:
        console.print_report(written, len(found))


@app.command()
def explore(
    run_dir: RunFolder,
    seed: Annotated[int | None, typer.Option(help="Which seed to look at. \\[default: the first]")] = None,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1. \\[default: a free one]", show_default=False)] = 0,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """Look at a run's embedding in the browser; served to this machine alone until Ctrl-C."""
    from bes.explore.server import serve
    from bes.stored import StoredRun

    serve(StoredRun(run_dir), port=port, seed=seed, open_browser=open_browser)
