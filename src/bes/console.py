"""What the commands print."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from bes import runs
from bes.core.shaper import BoundaryShaper
from bes.graph.catalog import Verified, available, data_root
from bes.graph.datasets import DatasetInfo
from bes.graph.graph import Graph
from bes.records import RunDirectory, versions
from bes.report import tables
from bes.summary import verdict

out = Console(highlight=False)


@contextmanager
def seeds_bar(total: int, *, show: bool) -> Iterator[runs.Progress | None]:
    """A bar over the seeds; silent when quiet or not at a terminal."""
    if not (show and out.is_terminal):
        yield None
        return
    columns = (TextColumn("seeds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out) as bar:
        task = bar.add_task("seeds", total=total)
        yield lambda done, _: bar.update(task, completed=done)


def print_run(directory: RunDirectory, graph: Graph, report: Path) -> None:
    """The paired table, the verdict and where the report is."""
    config = directory.config
    peek = "  [red]selected on TEST (test-peek)[/red]" if config.selection == "test-peek" else ""
    seeds = len({record["seed"] for record in directory.records})
    way = f"{' + '.join(config.encoders.names)} → {config.decoder.kind}"
    counted = f"{seeds} seed{'s' if seeds != 1 else ''}"
    task = "" if config.task == "node" else f"{config.task}, boundary {directory.records[0]['boundary_mode']}, "
    title = f"{graph.name}: {task}{way}, preset {config.preset}, split {config.split}, {counted}"
    shown = Table(
        title=escape(title) + peek, caption="percent, mean ± standard error; the difference is paired by split"
    )
    for name in ("part", "metric", "control", "bes", "bes - control"):
        shown.add_column(name, justify="left" if name in ("part", "metric") else "right")
    for row in tables.paired(directory.records, tables.SHORT):
        shown.add_row(*row.values())
    out.print(shown)
    every = tables.arms(directory.records, tables.SHORT)
    if len(every) > 2:
        beside = Table(title="every arm on the test part", caption="percent, mean ± standard error")
        for name in every[0]:
            beside.add_column(name, justify="left" if name == "arm" else "right")
        for row in every:
            beside.add_row(*row.values())
        out.print(beside)
    out.print(verdict(directory.records), markup=False)
    for note in dict.fromkeys(note for record in directory.records for note in record["notes"]):
        out.print(note, style="yellow", markup=False)
    out.print(f"Report: {report}", markup=False, soft_wrap=True)


def print_shaping(shaper: BoundaryShaper, notes: list[str], path: Path) -> None:
    """What the plug-in saw and did, a line a layer, and what it had to remark."""
    for layer, (region, nodes) in enumerate(zip(shaper.region_sizes_, shaper.boundary_, strict=True), start=1):
        rows = [row for row in shaper.history_ if row["layer"] == layer]
        kept = sum(row["accepted"] for row in rows)
        loss = f", loss {rows[0]['loss']:.4g} to {rows[-1]['loss_after']:.4g}" if rows else ""
        seen = f"{region} nodes in the region, {len(nodes)} boundary nodes"
        out.print(f"Layer {layer}: {seen}, {kept} of {len(rows)} steps kept{loss}")
    for note in notes:
        out.print(note, style="yellow", markup=False)
    out.print(f"Shaped embeddings: {path}", markup=False, soft_wrap=True)


def print_catalog(rows: list[tuple[DatasetInfo, str]]) -> None:
    shown = Table(caption=f"Data root: {escape(str(data_root()))} (set BES_DATA to change it)")
    for name in ("name", "nodes", "edges", "features", "classes", "in the paper", "here"):
        shown.add_column(name, justify="right" if name in ("nodes", "edges", "features", "classes") else "left")
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


def print_doctor() -> None:
    """Versions, devices, threads and data sets of this installation."""
    shown = Table(show_header=False)
    for name, value in versions().items():
        shown.add_row(name, value or "not a checkout")
    shown.add_row("system", platform.platform())
    shown.add_row("cores", str(os.cpu_count()))
    shown.add_row("torch threads", str(torch.get_num_threads()))
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none (only the CPU is tested)"
    shown.add_row("GPU", gpu)
    rows = available()
    shown.add_row(
        "data sets", f"{sum(bool(where) for _, where in rows)} of {len(rows)} here, root {escape(str(data_root()))}"
    )
    out.print(shown)
