"""What the commands print, as tables for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bes import progress
from bes.config import RunConfig
from bes.core.shaper import BoundaryShaper
from bes.graph.catalog import Verified, available, data_root
from bes.graph.datasets import DatasetInfo
from bes.graph.graph import Graph
from bes.pipeline.batching import sentence
from bes.pipeline.methods import resolved
from bes.records import versions
from bes.report import methods, tables
from bes.stored import StoredRun
from bes.summary import verdict

out = Console(highlight=False, emoji=False)
Item = TypeVar("Item")

#: Where the predictions are, and by which arm.
Predicted = tuple[Path, str] | None


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def track(items: list[Item], what: str, *, show: bool) -> Iterable[Item]:
    return progress.track(items, what, out, show=show)


def waiting(what: str, *, show: bool) -> AbstractContextManager[object]:
    """A sign of life while something takes its time in one piece; silent when quiet or not at a terminal."""
    return out.status(what) if show and out.is_terminal else nullcontext()


def seeds_bar(config: RunConfig, total: int, *, show: bool) -> progress.SeedsBar:
    """A bar over a run's seeds; silent when quiet or not at a terminal."""
    options = resolved(config).methods
    steps = sum(options[name].get("epochs", 0) for name in config.methods_alone)
    if config.paired:
        steps += len(config.encoders.names) * config.encoders.epochs
        layers = 2 * config.decoder.epochs + config.shaper.n_layers * config.shaper.n_iter
        steps += layers if config.shaping == "layers" else config.encoder_shaper.epochs
    return progress.SeedsBar(total, max(1, steps), out, show=show)


def print_start(config: RunConfig, graph: Graph) -> None:
    """What memory a run will need, and how it will train."""
    out.print(sentence(config, graph), markup=False, soft_wrap=True)


def print_run(run: StoredRun, report: Path, predicted: Predicted) -> None:
    """The table of the arms or methods, the verdict, and where report and predictions are."""
    (_print_paired if run.config.paired else _print_methods)(run)
    out.print(_verdict(run), markup=False)
    _print_notes(_notes(run))
    if predicted is not None:
        out.print(f"Predictions: {predicted[0]} ({predicted[1]})", markup=False, soft_wrap=True)
    out.print(f"Report: {report}", markup=False, soft_wrap=True)


def _print_paired(run: StoredRun) -> None:
    config, records = run.config, run.records
    decoder = config.decoder.kind if config.shaping == "layers" else "own heads"
    join = " or " if config.encoders.n_kept < len(config.encoders.names) else " + "
    way = f"{join.join(config.encoders.names)} → {decoder}"
    task = "" if config.task == "node" else f"{config.task}, boundary {records[0]['boundary_mode']}, "
    caption = "percent, mean ± standard error; the difference is paired by split"
    title = _title(run, f"{task}{way}, preset {config.preset}")
    _print_rows(tables.paired(records, tables.SHORT), title, caption, {"difference": "bes - control"})
    every = tables.arms(records, tables.SHORT)
    if len(every) > 2:
        _print_rows(every, "every arm on the test part", "percent, mean ± standard error")


def _print_methods(run: StoredRun) -> None:
    config = run.config
    task = "" if config.task == "node" else f"{config.task}, "
    tuned = f", tuned by {config.tune} trials" if config.tune else ""
    caption = "percent, mean ± standard error; * is best on validation, the difference to it is paired by split"
    _print_rows(methods.short(run.records), _title(run, f"{task}methods{tuned}"), caption)


def _title(run: StoredRun, what: str) -> str:
    """What was run, as markup."""
    peek = "  [red]selected on TEST (test-peek)[/red]" if run.config.selection == "test-peek" else ""
    counted = f"{len(run.seeds)} seed{'s' if len(run.seeds) != 1 else ''}"
    return escape(f"{run.name}: {what}, split {run.config.split}, {counted}") + peek


def run_as_json(run: StoredRun, report: Path, predicted: Predicted) -> dict[str, Any]:
    """What `print_run` prints."""
    paired = run.config.paired
    rows = [] if paired else methods.rows(run.records)
    return {
        "dataset": run.config.dataset,
        "task": run.config.task,
        "split": run.config.split,
        "preset": run.config.preset,
        "selection": run.config.selection,
        "scoring": run.config.scoring,
        "seeds": run.seeds,
        "paired": tables.paired(run.records) if paired else [],
        "arms": tables.arms(run.records) if paired else [{"arm": row["method"], **row["test"]} for row in rows],
        "methods": rows,
        "verdict": _verdict(run),
        "batching": run.records[0].get("batching"),
        "memory_estimate_mib": run.records[0].get("memory_estimate_mib"),
        "notes": _notes(run),
        "out": str(run.path),
        "report": str(report),
        "predictions": str(predicted[0]) if predicted else None,
    }


def _verdict(run: StoredRun) -> str:
    return verdict(run.records) if run.config.paired else methods.verdict(run.records)


def _notes(run: StoredRun) -> list[str]:
    """What is to be said of the input, then of the seeds, each once."""
    own = run.graph.names.notes if run.graph.names else ()
    said = [note for record in run.records for note in record["notes"]]
    return list(dict.fromkeys([*own, *(said if run.config.paired else methods.notes(run.records))]))


def _print_rows(rows: list[dict[str, str]], title: str, caption: str, titles: dict[str, str] | None = None) -> None:
    shown = Table(title=title, caption=caption)
    for name in rows[0]:
        side = "left" if name in ("part", "metric", "arm", "method") else "right"
        shown.add_column((titles or {}).get(name, name), justify=side, no_wrap=name == "method")  # type: ignore[arg-type]
    for row in rows:
        shown.add_row(*row.values())
    out.print(shown)


def _print_notes(notes: list[str]) -> None:
    for note in notes:
        out.print(note, style="yellow", markup=False)


def print_predicted(count: int, notes: list[str], path: Path) -> None:
    _print_notes(notes)
    nodes = "1 new node" if count == 1 else f"{count:,} new nodes"
    out.print(f"Predicted {nodes}: {path}", markup=False, soft_wrap=True)


def print_report(path: Path, runs: int) -> None:
    out.print(f"Report of {runs} run{'s' if runs != 1 else ''}: {path}", markup=False, soft_wrap=True)


def layers(shaper: BoundaryShaper) -> list[dict[str, Any]]:
    """What the plug-in saw and did, a row a layer."""
    rows = []
    for layer, (region, nodes) in enumerate(zip(shaper.region_sizes_, shaper.boundary_, strict=True), start=1):
        steps = [row for row in shaper.history_ if row["layer"] == layer]
        losses = {"loss": steps[0]["loss"], "loss_after": steps[-1]["loss_after"]} if steps else {}
        kept = sum(row["accepted"] for row in steps)
        rows.append(
            {"layer": layer, "region": region, "boundary": len(nodes), "steps": len(steps), "kept": kept, **losses}
        )
    return rows


def print_shaping(shaper: BoundaryShaper, notes: list[str], path: Path) -> None:
    """A line a layer, and what there is to remark."""
    for row in layers(shaper):
        loss = f", loss {row['loss']:.4g} to {row['loss_after']:.4g}" if "loss" in row else ""
        seen = f"{row['region']} nodes in the region, {row['boundary']} boundary nodes"
        out.print(f"Layer {row['layer']}: {seen}, {row['kept']} of {row['steps']} steps kept{loss}")
    _print_notes(notes)
    out.print(f"Shaped embeddings: {path}", markup=False, soft_wrap=True)


def catalog_as_json(rows: list[tuple[DatasetInfo, str]]) -> list[dict[str, Any]]:
    keys = ("name", "title", "nodes", "edges", "features", "classes", "split", "paper")
    return [{**{key: getattr(info, key) for key in keys}, "here": where or None} for info, where in rows]


def print_catalog(rows: list[tuple[DatasetInfo, str]]) -> None:
    shown = Table(caption=f"Data root: {escape(str(data_root()))} (set BES_DATA to change it)")
    for name in ("name", "nodes", "edges", "features", "classes", "in the paper", "here"):
        side = "right" if name in ("nodes", "edges", "features", "classes") else "left"
        shown.add_column(name, justify=side, no_wrap=name == "name", overflow="fold")  # type: ignore[arg-type]
    for info, where in rows:
        counts = [f"{n:,}" if n else "-" for n in (info.nodes, info.edges, info.features, info.classes)]
        shown.add_row(info.name, *counts, "yes" if info.paper else "", escape(where) or "[yellow]missing[/yellow]")
    out.print(shown)


def print_verified(found: Verified) -> None:
    digest = f"SHA-256 {found.sha256[:12]}…" if found.sha256 else "no digest known"
    note = f"; note: {found.info.note}" if found.info.note else ""
    out.print(
        f"{found.info.title} ({found.info.name}): counts as expected, {digest} ({found.where}){note}",
        markup=False,
        soft_wrap=True,
    )


def installation() -> dict[str, Any]:
    """Versions, devices, threads and data sets of this installation."""
    rows = available()
    return {
        **versions(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "torch threads": torch.get_num_threads(),
        "GPU": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "data sets": f"{sum(bool(where) for _, where in rows)} of {len(rows)} here, root {data_root()}",
    }


def print_installation(found: dict[str, Any]) -> None:
    missing = {"commit": "not a checkout", "GPU": "none (only the CPU is tested)"}
    shown = Table(show_header=False)
    for name, value in found.items():
        shown.add_row(name, escape(str(missing.get(name) if value is None else value)))
    out.print(shown)


def print_suites(suites: list[tuple[str, str]]) -> None:
    """The suites of `bes bench` by name."""
    table = Table(title="suites")
    table.add_column("name")
    table.add_column("what")
    for name, title in suites:
        table.add_row(name, escape(title))
    out.print(table)


def print_written(files: list[Path], notes: list[str]) -> None:
    _print_notes(notes)
    out.print(f"Written: {', '.join(str(path) for path in files)}", markup=False, soft_wrap=True)


def print_bench(absent: list[str], failed: list[str]) -> None:
    """What a grid lacks: data sets that are not here, and runs that failed."""
    _print_notes(absent)
    for line in failed:
        out.print(f"Failed: {line}", style="red", markup=False, soft_wrap=True)
    if failed:
        out.print("Runs that failed are tried again with --retry-failed.", markup=False)
