"""A pandas DataFrame as a table of cells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bes.errors import InputError
from bes.graph.tables import Table, is_nested, make_table, text_of

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
    found = ([None if gone else _plain(value) for value, gone in _values(column)] for column in columns)
    table = make_table(what, header, found, range(len(frame)), "row", [])
    for name, cells in table.columns.items():
        if _NESTED in cells:
            at = table.at(cells.index(_NESTED), name)
            raise InputError(f"The value in {at} is a list or the like: give one number or text a cell.")
    return table


def require_frame(frame: Frame, what: str) -> None:
    """Refuse what is no DataFrame."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        raise InputError(f"A {type(frame).__name__} was given for {what}: give a pandas DataFrame.")


def _values(column: Any) -> Iterable[tuple[object, bool]]:
    return zip(column.astype(object).tolist(), column.isna().tolist(), strict=True)


def _plain(value: object) -> str | None:
    return _NESTED if is_nested(value) else text_of(value)
