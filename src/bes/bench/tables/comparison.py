"""Comparisons on a sheet as a table: a line a row and column, with intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence

from bes.bench.compare import EVERY, Comparison
from bes.bench.fill import FilledSheet
from bes.bench.stats import Interval, smallest_p
from bes.bench.tables.grid import NONE, Grid, Group, Line, Text
from bes.bench.tables.words import protocol

HEADS = ("splits", "difference", "95% interval (t)", "95% interval (bootstrap)", "p", "p (Holm)", "beyond zero")


def comparison_grid(filled: FilledSheet, found: Sequence[Comparison]) -> Grid:
    """Every row of the sheet minus its reference, paired by split."""
    sheet = filled.sheet
    splits = sorted({one.paired.n for one in found})
    every = any(one.column.startswith(EVERY) for one in found)
    least = ", ".join(f"{smallest_p(n):.3f} over {n}" for n in splits)
    about = (
        f"Each row minus {sheet.reference}, paired by split, mean ± standard error.",
        "p is of the Wilcoxon signed-rank test, then corrected by Holm over the data sets of a row.",
        f"The smallest p that so many splits can give: {least}." if splits else "",
        "Beyond zero: the t interval leaves zero out.",
        "Mean of all: of the data sets' differences, on the splits that all of them have." if every else "",
    )
    return Grid(
        name=f"{sheet.name}-comparisons",
        title=f"{sheet.title}: differences to {sheet.reference}",
        warning="" if sheet.protocol.honest else f"NOT HONEST: {sheet.protocol.name}",
        protocol=protocol(sheet.protocol),
        about=tuple(text for text in about if text),
        note="",
        groups=(Group("", HEADS),),
        lines=tuple(Line(f"{one.row}, {one.column}", (_texts(one),)) for one in found),
    )


def _texts(one: Comparison) -> tuple[Text, ...]:
    paired = one.paired
    error = "" if paired.error is None else f" ± {paired.error:.2f}"
    words = "yes" if one.clear else "no"
    return (
        Text(str(paired.n)),
        Text(f"{paired.mean:+.2f}{error}"),
        Text(_interval(paired.t)),
        Text(_interval(paired.bootstrap)),
        Text(_p(paired.p)),
        Text(_p(one.p)),
        Text(words if paired.t is not None else NONE),
    )


def _interval(interval: Interval | None) -> str:
    return NONE if interval is None else f"{interval.low:+.2f} to {interval.high:+.2f}"


def _p(p: float | None) -> str:
    return NONE if p is None else f"{p:.3f}"
