"""A filled sheet as Markdown, with GitHub's tables."""

from __future__ import annotations

from collections.abc import Iterable

from bes.bench.fill import FilledSheet
from bes.bench.tables.grid import Grid, Text, grid_of
from bes.errors import InputError

#: Backslashes where every Markdown knows them, entities where only some do.
ESCAPES = str.maketrans({**{mark: f"\\{mark}" for mark in "\\`*_[]|#"}, "&": "&amp;", "<": "&lt;", ">": "&gt;"})


def to_markdown(filled: FilledSheet | Grid, level: int = 3) -> str:
    """The sheet under a heading of the given level."""
    if not 1 <= level <= 6:
        raise InputError(f"A heading of level {level} does not exist in Markdown: give 1 to 6.")
    grid = grid_of(filled)
    heading = f"{'#' * level} {_plain(grid.title)}"
    if grid.warning:
        heading += f" **{_plain(grid.warning)}**"
    below = [" ".join((*grid.about, grid.legend("Bold", "Italic"))).strip()]
    below += [f"Note: {grid.note}"] if grid.note.strip() else []
    parts = [heading, _plain(grid.protocol), "\n".join(_table(grid)), *map(_plain, below)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(grid: Grid) -> Iterable[str]:
    heads = [_plain(f"{group.title}: {head}" if group.title else head) for group in grid.groups for head in group.heads]
    yield _row(["", *heads])
    yield _row(["---", *("---:" for _ in heads)])
    for line in grid.lines:
        yield _row([_plain(line.name), *(_marked(text) for group in line.groups for text in group)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(text: Text) -> str:
    around = {"best": "**", "second": "*"}.get(text.mark, "")
    return f"{around}{_plain(text.full)}{around}"


def _plain(text: str) -> str:
    """The text on one line, as it is read and not as Markdown."""
    return " ".join(text.split()).translate(ESCAPES)
