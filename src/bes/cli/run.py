"""`bes run`: train, shape, decode, record and report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bes.cli.app import Device, Json, Quiet, Settings, app, data_sets, method_names, words
from bes.presets import ENCODERS, PRESETS

if TYPE_CHECKING:
    from bes.config import RunConfig
    from bes.graph.graph import Graph

_SPLITS = ("random", "random:plain", "low:", "public", "geom", "mask", "official")


@app.command()
def run(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="A data set's name (see `bes data list`), or a file: .npz, .graphml, .gml, .gexf, PyG's .pt.",
            autocompletion=data_sets,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="node, link or edge. \\[default: node]", autocompletion=words("node", "link", "edge")),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Splits to run: 0-4, 3 or 0,2,5-7.")] = "0-2",
    split: Annotated[
        str | None,
        typer.Option(
            help="Nodes: random, random:plain, low:K, public, geom:K or mask. Links: random, random:85/5/10 or "
            "official. \\[default: the data set's]",
            autocompletion=words(*_SPLITS),
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="paper, official or strong. \\[default: paper]", autocompletion=words(*PRESETS)),
    ] = None,
    encoders: Annotated[
        str | None,
        typer.Option(help="Such as cheb,gcn. \\[default: the paper's pair]", autocompletion=words(*ENCODERS)),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            help="cheb, sage or mlp; for pairs mlp, dot or cheb. \\[default: the paper's, or mlp]",
            autocompletion=words("cheb", "sage", "mlp", "dot"),
        ),
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(
            help="What is shaped for links and edges: classes, clusters or pairs. \\[default: auto]",
            autocompletion=words("auto", "classes", "clusters", "pairs"),
        ),
    ] = None,
    rivals: Annotated[
        str | None,
        typer.Option(help="Arms beside control and bes: gcn,sage,...; for links also cn,aa,bes-pairs; or none."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Methods instead of control and bes, such as gcn,h2gcn; bes among them brings both back. "
            "`bes methods` lists them.",
            autocompletion=method_names,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--settings",
            help="Whose settings the methods get: paper, official or ours. \\[default: the first that a method has]",
            autocompletion=words("paper", "official", "ours"),
        ),
    ] = None,
    tune: Annotated[
        int | None,
        typer.Option(help="Try so many settings of each method on the validation part of split 0, and use the best."),
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="Nodes as .csv or .tsv with a header; with --edges.")] = None,
    edges: Annotated[
        Path | None, typer.Option(help="Edges as .csv or .tsv, the first two columns node ids; with --embeddings .npy.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of the nodes' classes; empty cells are predicted.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of the nodes' ids. \\[default: the first]")
    ] = None,
    split_column: Annotated[
        str | None, typer.Option(help="Column with the words train, val and test; the split is then `mask`.")
    ] = None,
    edge_label: Annotated[str | None, typer.Option(help="Column of the edges' classes.")] = None,
    embeddings: Annotated[Path | None, typer.Option(help="Embeddings [N, D] as .npy instead of a graph.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Their classes [N] as .npy, -1 or empty where unknown.")] = None,
    settings: Settings = None,
    config: Annotated[Path | None, typer.Option(help="A .yaml or .json file with the same keys.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to leave the run. \\[default: runs/DATASET]")] = None,
    log: Annotated[
        str | None,
        typer.Option(
            help="Log every epoch: csv, tensorboard or mlflow.", autocompletion=words("csv", "tensorboard", "mlflow")
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="Seeds (of methods alone, methods of a seed) at a time, each in its own process.")
    ] = 1,
    batching: Annotated[
        str | None,
        typer.Option(
            help="full trains on the whole graph at once, parts on METIS parts of it. \\[default: auto, full while "
            "memory is enough]",
            autocompletion=words("auto", "full", "parts"),
        ),
    ] = None,
    device: Device = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train encoders, shape, decode; paired with the same run without shaping.

    Continues where it was when called again with the same --out.
    """
    from bes import console
    from bes.runs import parse_seeds
    from bes.runs import run as run_all
    from bes.scale.ranks import asked_for, leave
    from bes.torchrun import apart, run_on_ranks

    chosen = parse_seeds(seeds)
    _check_methods(method, rivals)
    given = {
        "task": task,
        "split": "mask" if split is None and split_column else split,
        "links": {"boundary": boundary} if boundary else None,
        "rivals": None if rivals is None else "" if rivals == "none" else rivals,
        "methods": method,
        "settings": source,
        "tune": tune,
        "batching": batching,
        "device": device,
        "encoders": {"names": encoders} if encoders else None,
        "decoder": {"kind": decoder} if decoder else None,
    }
    show = not (quiet or as_json)
    named = {
        "dataset": dataset,
        "nodes": nodes,
        "edges": edges,
        "label": label,
        "id": id_column,
        "split_column": split_column,
        "edge_label": edge_label,
        "embeddings": embeddings,
        "labels": labels,
    }
    read = partial(_read, named, {"preset": preset, "file": config, "given": given, "settings": settings or []})
    if asked_for() > 1:
        ranked = run_on_ranks(read, chosen, out, device=device or "auto", jobs=jobs, log=log)
        if ranked is not None:
            apart(_report, ranked, as_json, quiet)
        leave()
    with console.waiting("reading the graph", show=show):
        plan, graph = read()
    place = out or Path("runs") / graph.name
    try:
        with console.seeds_bar(plan, len(chosen), show=show) as bar:
            begin = console.print_start if show else None
            run_all(plan, graph, chosen, place, jobs=jobs, begin=begin, progress=bar.seeds, watch=bar.watch, log=log)
    except KeyboardInterrupt:
        Console(stderr=True).print("bes: stopped; call it again with the same --out to go on.", style="yellow")
        raise typer.Exit(130) from None
    _report(place, as_json, quiet)


def _read(source: dict[str, Any], options: dict[str, Any]) -> tuple[RunConfig, Graph]:
    """The configuration and the graph that the command names."""
    from bes.config import RunConfig
    from bes.graph.catalog import load
    from bes.graph.given import given_graph
    from bes.predict import check_columns

    name, graph = given_graph(**source)
    plan = RunConfig.build(name, **options)
    graph = graph or load(plan.dataset)
    if plan.task == "node":
        check_columns(graph)
    return plan, graph


def _report(place: Path, as_json: bool, quiet: bool) -> None:
    """Write what people read, and print it."""
    from bes import console
    from bes.predict import predict_run
    from bes.report.html import write_report
    from bes.stored import StoredRun

    with console.waiting("writing the report", show=not (quiet or as_json)):
        done = StoredRun(place)
        predicted = predict_run(done) if done.config.task == "node" and done.config.paired else None
        report = write_report(done)
    if as_json:
        console.print_json(console.run_as_json(done, report, predicted))
    elif not quiet:
        console.print_run(done, report, predicted)


def _check_methods(method: str | None, rivals: str | None) -> None:
    """Refuse what would be passed over."""
    from bes.errors import InputError

    names = [name.strip() for name in (method or "").split(",") if name.strip()]
    if method is not None and not names:
        raise InputError("--method names nothing: name some methods, see `bes methods`.")
    if names and rivals and not {"bes", "control"} & set(names):
        raise InputError("--rivals stand beside control and bes: name them by --method, or add bes to --method.")
