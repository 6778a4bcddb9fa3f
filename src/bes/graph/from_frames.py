"""A pandas DataFrame as a table of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bes.errors import InputError
from bes.graph.tables import Cells, Table, is_nested, make_table, text_of

#: A pandas DataFrame; pandas itself is needed only by those who have one.
Frame = Any

_NESTED = "\0nested"  # no cell: it marks what cannot be one


def frame_table(frame: Frame, what: str, index: str | None = None) -> Table:
    """The cells of a DataFrame as text, whole numbers without a point; with its index as the column `index`."""
    require_frame(frame, what)
    header = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, i] for i in range(len(header))]
    if index is not None:
        header, columns = [index, *header], [frame.index.to_series(), *columns]
    found = [[None if gone else _plain(value) for value, gone in _values(column)] for column in columns]
    table = make_table(what, header, found, _places(frame.index), "row", [])
    for name, cells in table.columns.items():
        if _NESTED in cells:
            at = table.at(cells.index(_NESTED), name)
            raise InputError(f"The value in {at} is a list or the like: give one number or text a cell.")
    typed = list(zip(header, columns, found, strict=True))
    return replace(
        table,
        categorical=frozenset(name for name, column, _ in typed if hasattr(column.dtype, "categories")),
        numeric=frozenset(name for name, column, cells in typed if _is_numeric(column, cells)),
    )


def require_frame(frame: Frame, what: str) -> None:
    """Refuse what is no DataFrame."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        raise InputError(f"A {type(frame).__name__} was given for {what}: give a pandas DataFrame.")


def _places(index: Any) -> Sequence[object]:
    """What each row is called: its label in the index, which is its position where the index only counts."""
    if type(index).__name__ == "RangeIndex":
        return range(index.start, index.stop, index.step)
    return [repr(name) if isinstance(name, str) else name for name in index.tolist()]


def _is_numeric(column: Any, cells: Cells) -> bool:
    """Whether a -1 in this column is a number: in one of mixed values, whether one is."""
    if getattr(column.dtype, "kind", "O") in "iuf":
        return True
    return "-1" in cells and any(
        text == "-1" and not isinstance(value, (str, bytes))
        for text, value in zip(cells, column.astype(object).tolist(), strict=True)
    )


def _values(column: Any) -> Iterable[tuple[object, bool]]:
    return zip(column.astype(object).tolist(), column.isna().tolist(), strict=True)


def _plain(value: object) -> str | None:
    return _NESTED if is_nested(value) else text_of(value)
