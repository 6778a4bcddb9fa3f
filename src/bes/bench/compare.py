"""Who differs from whom on a sheet: paired by split, with the doubt that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from bes.bench import stats
from bes.bench.fill import FilledSheet, shared_means
from bes.bench.model import Metric
from bes.bench.ranks import Ranks, rank

#: What begins the name of a column that is the mean of all that row and reference have, on the splits all of them have.
EVERY = "mean of all, "


@dataclass(frozen=True)
class Comparison:
    """A row minus the sheet's reference in one column, or in the mean of all columns, paired by split.

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
        for metric in metrics_of(filled):
            found += _family(filled, row, metric)
    return found


def _family(filled: FilledSheet, row: str, metric: Metric) -> list[Comparison]:
    reference, others = _values(filled, filled.sheet.reference, metric), _values(filled, row, metric)
    both = [column for column in others if reference.get(column) and others[column]]
    results = stats.by_dataset({c: reference[c] for c in both}, {c: others[c] for c in both})
    found = [Comparison(row, column, paired, p) for column, (paired, p) in results.items() if paired.n]
    if len(found) > 1:
        columns = [one.column for one in found]
        seeds = set.intersection(*(reference[c].keys() & others[c].keys() for c in columns))
        means = [fmean(others[c][seed] - reference[c][seed] for c in columns) for seed in sorted(seeds)]
        found += [Comparison(row, f"{EVERY}{metric.name}", stats.Paired.of(means), None)] if means else []
    return found


def metrics_of(filled: FilledSheet) -> list[Metric]:
    return list(dict.fromkeys(cell.cell.ask.metric for cell in filled.cells if cell.cell.ask is not None))


def _values(filled: FilledSheet, row: str, metric: Metric) -> dict[str, dict[int, float]]:
    cells = [c for c in filled.cells if c.cell.row == row and c.cell.ask is not None and c.cell.ask.metric == metric]
    return {cell.cell.column: cell.values for cell in cells}


def ranked(filled: FilledSheet, metric: Metric) -> Ranks | None:
    """Average ranks of the rows that are complete where the reference is; None for too few of them or of data sets.

    In each column the means are over the splits that all of these rows have.
    """
    whole = {
        (cell.cell.row, cell.cell.column): cell
        for cell in filled.cells
        if cell.values and not cell.problem and cell.cell.ask is not None and cell.cell.ask.metric == metric
    }
    reference = filled.sheet.reference
    columns = [column for column in filled.sheet.columns if (reference, column) in whole]
    rows = [row for row in filled.sheet.rows if all((row, column) in whole for column in columns)]
    if len(rows) < 3 or len(columns) < 2:
        return None
    scores: dict[str, dict[str, float]] = {row: {} for row in rows}
    for column in columns:
        for row, mean in shared_means({row: whole[row, column] for row in rows}).items():
            scores[row][column] = mean
    if any(len(found) < 2 for found in scores.values()):
        return None
    return rank(scores, better=metric.better)
