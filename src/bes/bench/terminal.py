"""A filled suite at a terminal: ours, and the paper's value beside it."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.output import Filled
from bes.bench.speed.model import Timing
from bes.bench.tables.grid import lay_out


def show(filled: Filled, console: Console) -> None:
    """Every sheet, and what stands out of its comparisons."""
    for one in filled.sheets:
        console.print(_table(one))
        found = filled.comparisons[one.sheet.name]
        clear = [c for c in found if c.clear]
        if found:
            said = f"{len(clear)} of {len(found)} differences to {one.sheet.reference} have zero outside their interval"
            console.print(f"{said}; the tables have them all.", markup=False)
    for name, why in filled.missing.items():
        console.print(f"No picture of {name}: {why}.", style="yellow", markup=False)


def _table(filled: FilledSheet) -> Table:
    grid = lay_out(filled)
    mark = f"  [red]{escape(grid.warning)}[/red]" if grid.warning else ""
    table = Table(title=escape(grid.title) + mark, caption="mean ± standard error (the paper's value)")
    table.add_column("")
    for column in filled.sheet.columns:
        table.add_column(escape(column), justify="right")
    for row in filled.sheet.rows:
        cells = [filled.at(row, column) for column in filled.sheet.columns]
        table.add_row(escape(row), *(escape(_text(cell)) for cell in cells))
    return table


def _text(cell: FilledCell | None) -> str:
    if cell is None:
        return ""
    summary, printed = cell.summary, cell.cell.printed
    parts = []
    if summary.mean is not None:
        parts.append(f"{summary.mean:.2f}" + (f" ± {summary.error:.2f}" if summary.error is not None else ""))
    if cell.problem:
        parts.append(cell.problem)
    if printed is not None:
        parts.append(f"({printed.text})")
    return " ".join(parts)


def show_timing(one: Timing, console: Console) -> None:
    """One line of the benchmark of speed."""
    took = "" if one.ours_ms is None else f"{one.ours_ms:10.2f} ms"
    against = "" if one.ratio is None else f"  {one.rival_ms:10.2f} ms  {one.ratio:7.2f} times"
    limit = f"  {one.more['limit']:.1f}" if "limit" in one.more else ""
    console.print(f"{one.kind:10} {one.graph:18} {one.name:34}{took}{against}{limit}", markup=False, soft_wrap=True)
