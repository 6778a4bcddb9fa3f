"""The layout of a filled sheet as plain texts: what all formats show, decided once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from bes.bench.fill import NOT_MEASURED, FilledCell, FilledSheet, shared_means
from bes.bench.tables.words import about, protocol

#: What a text stands for, beyond what it says: a partial one lacks splits, a missing one has no number at all.
Mark = Literal["", "best", "second", "partial", "missing"]

#: Where a number could be and is none: never an empty text, never a zero.
NONE = "none"


@dataclass(frozen=True)
class Text:
    """What stands at one place; `note` says what is wrong with a partial number."""

    text: str
    mark: Mark = ""
    note: str = ""

    @property
    def full(self) -> str:
        return f"{self.text} ({self.note})" if self.note else self.text


@dataclass(frozen=True)
class Group:
    """A column of the sheet: its title over one head or three."""

    title: str
    heads: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """A row of the sheet: its name, and as many texts in each group as the group has heads."""

    name: str
    groups: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True)
class Grid:
    """A sheet ready to be written.

    Attributes:
        warning: Such as `NOT HONEST: test-peek`; empty for an honest protocol.
        protocol: One sentence on how the numbers came about.
        about: Sentences for the caption: what is shown, and from which tables of the paper.
    """

    name: str
    title: str
    warning: str
    protocol: str
    about: tuple[str, ...]
    note: str
    groups: tuple[Group, ...]
    lines: tuple[Line, ...]

    def legend(self, best: str, second: str) -> str:
        """What the marks mean, given how they look: only those that are in the grid."""
        marks = {text.mark for line in self.lines for group in line.groups for text in group}
        parts = [f"{best}: the best of ours in its column, among cells with every split"] if "best" in marks else []
        parts += [f"{second}: the second"] if "second" in marks else []
        return f"{'; '.join(parts)}." if parts else ""


def lay_out(filled: FilledSheet) -> Grid:
    """The grid of a filled sheet."""
    sheet = filled.sheet
    columns = {column: {row: filled.at(row, column) for row in sheet.rows} for column in sheet.columns}
    printed = {column: any(_printed(cell) for cell in cells.values()) for column, cells in columns.items()}
    marks = {column: _marks(cells) for column, cells in columns.items()}
    return Grid(
        name=sheet.name,
        title=sheet.title,
        warning="" if sheet.protocol.honest else f"NOT HONEST: {sheet.protocol.name}",
        protocol=protocol(sheet.protocol),
        about=about(filled),
        note=sheet.note,
        groups=tuple(Group(column, _heads(filled, paper=printed[column])) for column in columns),
        lines=tuple(
            Line(
                row,
                tuple(
                    _texts(cells[row], marks[column].get(row, ""), printed[column]) for column, cells in columns.items()
                ),
            )
            for row in sheet.rows
        ),
    )


def grid_of(given: FilledSheet | Grid) -> Grid:
    return given if isinstance(given, Grid) else lay_out(given)


def _heads(filled: FilledSheet, *, paper: bool) -> tuple[str, ...]:
    """A protocol that is not honest is named wherever its numbers stand."""
    protocol = filled.sheet.protocol
    ours = "ours" if protocol.honest else f"ours ({protocol.name})"
    return ("paper", ours, f"{ours} - paper") if paper else (ours,)


def _texts(cell: FilledCell | None, mark: Mark, paper: bool) -> tuple[Text, ...]:
    ours = _ours(cell, mark)
    return (_paper(cell), ours, _difference(cell)) if paper else (ours,)


def _printed(cell: FilledCell | None) -> bool:
    return cell is not None and cell.cell.printed is not None


def _paper(cell: FilledCell | None) -> Text:
    printed = cell.cell.printed if cell else None
    return Text(printed.text) if printed and printed.text.strip() else Text("not printed", "missing")


def _ours(cell: FilledCell | None, mark: Mark) -> Text:
    if cell is None:
        return Text("not asked for", "missing")
    found = cell.summary
    if found.mean is None:
        words = (cell.problem, cell.cell.why, NOT_MEASURED)
        return Text(next(filter(str.strip, words)), "missing")
    text = f"{found.mean:z.2f}" if found.error is None else f"{found.mean:z.2f} ± {found.error:.2f}"
    return Text(text, "partial", cell.problem) if cell.problem else Text(text, mark)


def _difference(cell: FilledCell | None) -> Text:
    change = cell.difference if cell else None
    if cell is None or change is None:
        return Text(NONE, "missing")
    return Text(f"{change:+z.2f}", "partial" if cell.problem else "")


def _marks(cells: dict[str, FilledCell | None]) -> dict[str, Mark]:
    """Best and second by row, among the complete cells of a column; what looks equal when rounded is a tie.

    Where some have more splits than others, those that all have decide.

    A single complete cell has nothing to be better than, and different metrics have no order: no marks.
    """
    asks = {cell.cell.ask.metric for cell in cells.values() if cell and cell.cell.ask}
    complete = {row: cell for row, cell in cells.items() if cell is not None and _complete(cell) is not None}
    means = {row: round(mean, 2) for row, mean in shared_means(complete).items()}
    if len(asks) != 1 or len(means) < 2:
        return {}
    order = sorted(set(means.values()), reverse=asks.pop().better == "higher")
    names: dict[float, Mark] = dict(zip(order, ("best", "second"), strict=False))
    return {row: names[mean] for row, mean in means.items() if mean in names}


def _complete(cell: FilledCell | None) -> float | None:
    mean = None if cell is None or cell.problem else cell.summary.mean
    return mean if mean is not None and math.isfinite(mean) else None
