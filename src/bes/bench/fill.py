"""Sheets filled from recorded runs, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bes.bench.model import Ask, Cell, Metric, Sheet
from bes.bench.store import has_failed
from bes.bench.units import unit_of
from bes.summary import Record, Summary

if TYPE_CHECKING:
    from bes.bench.data import Data
    from bes.bench.store import Store

#: Why a cell is empty: its data set is not here, or nobody has run it.
ABSENT, NOT_MEASURED = "data set absent", "not measured yet"


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


def shared_means(cells: Mapping[str, FilledCell]) -> dict[str, float]:
    """The means of several cells over the splits that all of them have: only those can be ordered."""
    seeds = set.intersection(*(set(cell.values) for cell in cells.values())) if cells else set()
    if not seeds:
        return {}
    return {name: fmean(cell.values[seed] for seed in sorted(seeds)) for name, cell in cells.items()}


def read(record: Record, metric: Metric) -> float | None:
    """The metric of a record as it is shown; None where the record has none."""
    found = _at(record, metric.path)
    return None if found is None else metric.scale * float(found)


def _at(record: Record, path: str) -> Any:
    found: Any = record
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def fill(sheet: Sheet, store: Store, data: Mapping[str, Data]) -> FilledSheet:
    """Every cell with what the store holds for it; that of a data set which is not here or not known stays empty."""
    return FilledSheet(sheet, tuple(_fill(cell, store, data) for cell in sheet.cells))


def _fill(cell: Cell, store: Store, data: Mapping[str, Data]) -> FilledCell:
    if cell.ask is None:
        return FilledCell(cell, {}, {}, cell.why)
    found = data[cell.ask.config.dataset]
    if found.hash is None:
        return FilledCell(cell, {}, {}, ABSENT if found.absent else NOT_MEASURED)
    return _read(cell, cell.ask, store, found.hash)


def _read(cell: Cell, ask: Ask, store: Store, data_hash: str) -> FilledCell:
    found = {unit.seed: store.of(unit, data_hash).get(ask.arm) for unit in unit_of(ask)}
    records = {seed: record for seed, record in found.items() if record is not None}
    errors = [record["error"] for record in records.values() if has_failed(record)]
    ended = {seed: record for seed, record in records.items() if not has_failed(record)}
    values = {seed: value for seed, record in ended.items() if (value := read(record, ask.metric)) is not None}
    unsure = sum(not _at(ended[seed], ask.metric.sure) for seed in values) if ask.metric.sure else 0
    problems = []
    if not values:
        none = "no value recorded" if ended else NOT_MEASURED
        problems = [f"failed: {errors[0]}" if errors else none]
    elif len(values) < len(ask.seeds):
        problems.append(f"{len(values)} of {len(ask.seeds)} splits")
        problems += [f"{len(errors)} failed: {errors[0]}"] if errors else []
    problems += [f"{unsure} of {len(values)} not {ask.metric.sure.rpartition('.')[2]}"] if unsure else []
    return FilledCell(cell, values, {seed: ended[seed]["run_id"] for seed in values}, ", ".join(problems))
