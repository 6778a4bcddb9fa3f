"""Sheets filled from recorded runs, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bes.bench.model import Ask, Cell, Metric, Sheet
from bes.bench.store import has_failed
from bes.bench.units import unit_of
from bes.summary import Record, Summary

if TYPE_CHECKING:
    from bes.bench.data import Data
    from bes.bench.store import Store


@dataclass(frozen=True)
class FilledCell:
    """A cell with what was recorded for it.

    Attributes:
        values: The metric by seed, scaled as it is shown.
        runs: The run ids that the values come from, by seed.
        problem: Why values are missing, in a few words; empty where none is.
    """

    cell: Cell
    values: dict[int, float]
    runs: dict[int, str]
    problem: str = ""

    @property
    def summary(self) -> Summary:
        return Summary.of([self.values[seed] for seed in sorted(self.values)])

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, in the unit of the cell."""
        mean, printed = self.summary.mean, self.cell.printed
        return None if mean is None or printed is None or printed.value is None else mean - printed.value


@dataclass(frozen=True)
class FilledSheet:
    sheet: Sheet
    cells: tuple[FilledCell, ...]

    def at(self, row: str, column: str) -> FilledCell | None:
        return next((c for c in self.cells if (c.cell.row, c.cell.column) == (row, column)), None)


def read(record: Record, metric: Metric) -> float | None:
    """The metric of a record as it is shown; None where the record has none."""
    found: Any = record
    for key in metric.path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return None if found is None else metric.scale * float(found)


def fill(sheet: Sheet, store: Store, data: Mapping[str, Data]) -> FilledSheet:
    """Every cell with what the store holds for it; `data` says of each data set whether it is here."""
    return FilledSheet(sheet, tuple(_fill(cell, store, data) for cell in sheet.cells))


def _fill(cell: Cell, store: Store, data: Mapping[str, Data]) -> FilledCell:
    if cell.ask is None:
        return FilledCell(cell, {}, {}, cell.why)
    here = data[cell.ask.config.dataset]
    known = here.hash or store.known_hash(here.name)  # recorded runs can be shown where their data are not
    if known is None:
        return FilledCell(cell, {}, {}, "data set absent")
    return _read(cell, cell.ask, store, known)


def _read(cell: Cell, ask: Ask, store: Store, data_hash: str) -> FilledCell:
    values, runs, errors, recorded = {}, {}, [], 0
    for unit in unit_of(ask):
        record = store.of(unit, data_hash).get(ask.arm)
        if record is None:
            continue
        if has_failed(record):
            errors.append(record["error"])
            continue
        value = read(record, ask.metric)
        recorded += 1
        if value is not None:
            values[unit.seed], runs[unit.seed] = value, record["run_id"]
    problem = ""
    if errors and not values:
        problem = f"failed: {errors[0]}"
    elif len(values) < len(ask.seeds):
        none = "no value recorded" if recorded else "not run yet"
        problem = f"{len(values)} of {len(ask.seeds)} splits" if values else none
    return FilledCell(cell, values, runs, problem)
