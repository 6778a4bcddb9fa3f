"""The command line: `bes run`, `bes shape`, `bes data`, `bes doctor`. No logic lives here.

Heavy imports happen inside the commands, so that `bes --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bes.errors import InputError

# Before torch is loaded: threads that wait by spinning bring a shared machine to a halt.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Boundary Embedding Shaping for graph embeddings.")
data = typer.Typer(no_args_is_help=True, help="The data sets: what is here, is it whole, add one.")
app.add_typer(data, name="data")

Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any option by its name; may be repeated.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, ... [default: auto]")]


@app.command()
def run(
    dataset: Annotated[
        str | None, typer.Argument(help="A data set's name (see `bes data list`), or a path to an .npz.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="node, link or edge. [default: node]")] = None,
    seeds: Annotated[str, typer.Option(help="Splits to run: 0-4, 3 or 0,2,5-7.")] = "0-2",
    split: Annotated[
        str | None,
        typer.Option(
            help="Nodes: random, random:plain, low:K, public, geom:K or mask. Links: random, random:85/5/10 or "
            "official. [default: the data set's]"
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="paper, official or strong. [default: paper]")] = None,
    encoders: Annotated[str | None, typer.Option(help="Such as cheb,gcn. [default: the paper's pair]")] = None,
    decoder: Annotated[
        str | None, typer.Option(help="cheb, sage or mlp; for pairs mlp, dot or cheb. [default: the paper's, or mlp]")
    ] = None,
    boundary: Annotated[
        str | None, typer.Option(help="What is shaped for links and edges: classes, clusters or pairs. [default: auto]")
    ] = None,
    rivals: Annotated[
        str | None, typer.Option(help="Arms beside control and bes, for links such as cn,aa,gcn,bes-pairs, or none.")
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="Nodes as .csv, the first column their ids; with --edges.")] = None,
    edges: Annotated[Path | None, typer.Option(help="Edges as .csv, the first two columns node ids.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the nodes' classes.")] = None,
    edge_label: Annotated[str | None, typer.Option(help="Column of the edges' classes.")] = None,
    settings: Settings = None,
    config: Annotated[Path | None, typer.Option(help="A .yaml or .json file with the same keys.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to leave the run. [default: runs/DATASET]")] = None,
    jobs: Annotated[int, typer.Option(help="Seeds at a time, each in its own process.")] = 1,
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Train encoders, shape, decode; paired with the same run without shaping.

    Continues where it was when called again with the same --out.
    """
    from bes import console
    from bes.config import RunConfig
    from bes.graph.catalog import load
    from bes.graph.custom import given_graph
    from bes.report.html import write_report
    from bes.runs import parse_seeds
    from bes.runs import run as run_all

    chosen = parse_seeds(seeds)
    given = {
        "task": task,
        "split": split,
        "links": {"boundary": boundary} if boundary else None,
        "rivals": None if rivals is None else "" if rivals == "none" else rivals,
        "device": device,
        "encoders": {"names": encoders} if encoders else None,
        "decoder": {"kind": decoder} if decoder else None,
    }
    name, graph = given_graph(dataset, nodes, edges, label=label, edge_label=edge_label)
    plan = RunConfig.build(name, preset=preset, file=config, given=given, settings=settings or [])
    graph = graph or load(plan.dataset)
    try:
        with console.seeds_bar(len(chosen), show=not quiet) as progress:
            done = run_all(plan, graph, chosen, out or Path("runs") / graph.name, jobs=jobs, progress=progress)
    except KeyboardInterrupt:
        Console(stderr=True).print("bes: stopped; call it again with the same --out to go on.", style="yellow")
        raise typer.Exit(130) from None
    report = write_report(done, graph)
    if not quiet:
        console.print_run(done, graph, report)


@app.command()
def shape(
    embeddings: Annotated[Path, typer.Argument(help="Embeddings [N, D] as .npy.")],
    labels: Annotated[Path, typer.Option(help="Classes [N] as .npy, -1 where unknown.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the shaped embeddings go, as .npy.")],
    edges: Annotated[Path | None, typer.Option(help="Edges [2, E] as .npy, for scope=neighbors and the like.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the fitted shaper in this directory.")] = None,
    settings: Settings = None,
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Sharpen embeddings where classes meet: the plug-in alone."""
    from bes import console
    from bes.plugin import shape_files

    shaper, notes = shape_files(embeddings, labels, out, edges, save, settings or [], device or "auto", show=not quiet)
    if not quiet:
        console.print_shaping(shaper, notes, out)


@data.command("list")
def data_list() -> None:
    """Every data set of the catalogue, and where it lies."""
    from bes import console
    from bes.graph.catalog import available

    console.print_catalog(available())


@data.command("verify")
def data_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Which; all that are here by default.")] = None,
) -> None:
    """Read data sets and check their counts, and their digests where they are known."""
    from bes import console
    from bes.graph.catalog import available, verify

    for name in names or [info.name for info, where in available() if where]:
        console.print_verified(verify(name))


@data.command("add")
def data_add(
    name: Annotated[str, typer.Argument(help="The data set's name in the catalogue.")],
    source: Annotated[Path, typer.Option("--from", help="The folder with its published files.")],
) -> None:
    """Read a data set's published files, check them, and keep it under its name."""
    from bes.graph.catalog import add

    typer.echo(f"Added {name}: {add(name, source)}")


@app.command()
def doctor() -> None:
    """What this installation is: versions, devices, threads, data."""
    from bes import console

    console.print_doctor()


def main() -> None:
    """Entry point: bad input is one sentence on stderr and exit code 2."""
    try:
        app()
    except InputError as error:
        Console(stderr=True, soft_wrap=True).print(f"bes: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
