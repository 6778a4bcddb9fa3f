"""Who differs from whom on a sheet: paired by split, with the doubt that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass

from bes.bench import stats
from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.model import Metric
from bes.bench.ranks import Ranks, rank
from bes.errors import InputError


@dataclass(frozen=True)
class Comparison:
    """A row minus the sheet's reference in one column, paired by split.

    Attributes:
        p: Of the Wilcoxon signed-rank test, corrected by Holm over the data sets; None where there is none.
    """

    row: str
    column: str
    paired: stats.Paired
    p: float | None

    @property
    def clear(self) -> bool:
        """Whether the t interval leaves zero out."""
        interval = self.paired.t
        return interval is not None and (interval.low > 0 or interval.high < 0)


def compare(filled: FilledSheet) -> list[Comparison]:
    """Every row against the reference, column by column, corrected within a row and metric over the data sets."""
    sheet = filled.sheet
    if not sheet.reference:
        return []
    found = []
    for row in sheet.rows:
        if row == sheet.reference:
            continue
        for metric in _metrics(filled):
            found += _family(filled, row, metric)
    return found


def _family(filled: FilledSheet, row: str, metric: Metric) -> list[Comparison]:
    reference, others = _values(filled, filled.sheet.reference, metric), _values(filled, row, metric)
    both = [column for column in others if reference.get(column) and others[column]]
    results = stats.by_dataset({c: reference[c] for c in both}, {c: others[c] for c in both})
    return [Comparison(row, column, paired, p) for column, (paired, p) in results.items() if paired.n]


def _metrics(filled: FilledSheet) -> list[Metric]:
    return list(dict.fromkeys(cell.cell.ask.metric for cell in filled.cells if cell.cell.ask is not None))


def _values(filled: FilledSheet, row: str, metric: Metric) -> dict[str, dict[int, float]]:
    cells = [c for c in filled.cells if c.cell.row == row and c.cell.ask is not None and c.cell.ask.metric == metric]
    return {cell.cell.column: cell.values for cell in cells}


def ranked(filled: FilledSheet, metric: Metric) -> Ranks | None:
    """Average ranks of the methods that are complete on every data set that any of them has; None for too few."""
    means: dict[str, dict[str, float]] = {}
    for cell in filled.cells:
        mean = cell.summary.mean
        if _complete(cell) and mean is not None and cell.cell.ask is not None and cell.cell.ask.metric == metric:
            means.setdefault(cell.cell.row, {})[cell.cell.column] = mean
    columns = {column for scores in means.values() for column in scores}
    whole = {row: scores for row, scores in means.items() if scores.keys() == columns}
    if len(whole) < 3 or len(columns) < 2:
        return None
    try:
        return rank(whole, better=metric.better)
    except InputError:
        return None


def _complete(cell: FilledCell) -> bool:
    return bool(cell.values) and not cell.problem
