"""Feature columns of a table to numbers, in a way that can be repeated for rows that come later."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch

from bes.errors import InputError
from bes.graph.arrays import Array, to_sparse
from bes.graph.sparse import Features
from bes.graph.tables import Cells, Table, nearest_word, number

#: What stands for no value among numbers; in a column of texts it is a category.
MISSING = frozenset(("na", "n/a", "nan", "null", "none", "?"))

_FLAGS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)  # a decimal comma, or a thousands mark
_LARGEST = float(np.finfo(np.float32).max)
_FILLED = 0.25  # the share of non-zero features from which a dense matrix is the smaller one to work with
_MANY = 20  # so many categories may all be different


@dataclass(frozen=True)
class Column:
    """How one column becomes features.

    Attributes:
        name: What the column is called.
        kind: `number` (centred and scaled), `flag` (0 or 1, as it is), `category` (one feature a category)
            or `dropped`.
        center, scale: A number x becomes (x - center) / scale.
        categories: Of a `category`, in order; any other value has none of them.
        missing: One more feature is 1 where the value is missing.
    """

    name: str
    kind: Literal["number", "flag", "category", "dropped"]
    center: float = 0.0
    scale: float = 1.0
    categories: tuple[str, ...] = ()
    missing: bool = False

    @property
    def width(self) -> int:
        """Features that the column becomes."""
        own = {"number": 1, "flag": 1, "category": len(self.categories), "dropped": 0}[self.kind]
        return own + self.missing


def learn(table: Table, names: Iterable[str]) -> tuple[tuple[Column, ...], list[str]]:
    """How each of the columns `names` becomes features, and what there is to say about it."""
    columns = tuple(_learn(table, name) for name in names)
    told = [column for column in columns if column.missing or column.kind == "dropped"]
    return columns, [_lacks(table, column) if column.missing else _left_out(table, column) for column in told]


def encode(table: Table, columns: Sequence[Column]) -> tuple[Features, list[str]]:
    """The features of every row, dense unless most entries are zero, and what there is to say about them.

    A value that was not learned counts as none: a missing number as the mean, an unknown category as no category.
    """
    parts, notes = [], []
    for column in columns:
        if column.kind != "dropped":
            _check_there(table, column.name)
            part, said = _encode(table, column)
            parts.append(part)
            notes += said
    if not parts:
        return torch.zeros(len(table), 0), notes
    matrix = sp.hstack(parts, format="csr", dtype=np.float32)
    x = to_sparse(matrix, f"features in {table.what}")
    return (x if matrix.nnz < _FILLED * matrix.shape[0] * matrix.shape[1] else x.to_dense()), notes


def _check_there(table: Table, name: str) -> None:
    """Refuse rows without a column that was learned."""
    if name not in table.columns:
        close = nearest_word(name, table.columns)
        hint = f"rename {close!r}" if close is not None else "add it"
        raise InputError(
            f"There is no {table.column} {name!r} in {table.what}, which the model was trained with: {hint}, and leave "
            "cells empty that are unknown."
        )


def _learn(table: Table, name: str) -> Column:
    counts = Counter(table.cells(name))
    gone = counts.pop(None, 0)
    words = {cell: cell.strip().lower() for cell in counts if cell is not None}
    plain = [cell for cell, word in words.items() if word not in MISSING]
    present = sum(counts[cell] for cell in plain)
    if name in table.categorical:
        return _learn_category(name, words, len(table) - gone, gone > 0)
    if not plain:
        return Column(name, "dropped")
    if all(words[cell] in _FLAGS for cell in plain):
        one = len({_FLAGS[words[cell]] for cell in plain}) == 1 and present == len(table)
        return Column(name, "dropped") if one else Column(name, "flag", missing=present < len(table))
    numbers = [cell for cell in plain if number(cell) is not None or _COMMA.fullmatch(words[cell])]
    if 10 * sum(counts[cell] for cell in numbers) >= 9 * present:  # what is meant as numbers, with a typo or without
        return _learn_number(table, name)
    return _learn_category(name, words, len(table) - gone, gone > 0)


def _learn_category(name: str, cells: Iterable[str], present: int, missing: bool) -> Column:
    """A column of texts; what tells nothing of rows that come later is left out: one value, or one for each row."""
    categories = sorted({cell.strip() for cell in cells})
    many = len(categories) > _MANY and 2 * len(categories) > present
    if many or not categories or (len(categories) == 1 and not missing):
        return Column(name, "dropped")
    return Column(name, "category", categories=tuple(categories), missing=missing)


def _learn_number(table: Table, name: str) -> Column:
    values = _numbers(table, name)
    present = values[~np.isnan(values)]
    if present.min() == present.max():
        if len(present) == len(values):
            return Column(name, "dropped")
        center, scale = float(present[0]), 1.0
    else:
        center = float(present.mean())
        furthest = np.abs(present - center).max()  # squares of the tiniest numbers are 0
        scale = float(furthest * np.sqrt((((present - center) / furthest) ** 2).mean()))
    return Column(name, "number", center, scale, missing=len(present) < len(values))


def _encode(table: Table, column: Column) -> tuple[sp.csr_matrix, list[str]]:
    """The features of one column."""
    if column.kind == "category":
        own, absent, notes = _one_hot(table, column)
    else:
        values = _numbers(table, column.name) if column.kind == "number" else _flags(table, column.name)
        notes = _strange_flags(table, column, values) if column.kind == "flag" else []
        absent = np.isnan(values)
        scaled = np.where(absent, 0.0, (values - column.center) / column.scale)
        _check_size(table, column.name, scaled)
        own = sp.csr_matrix(scaled.astype(np.float32)[:, None])
    if absent.any():
        told = () if column.missing else ("and no feature tells, as none lacked in training",)
        notes.append(_lacks(table, column, *told))
    if column.missing:
        own = sp.hstack([own, sp.csr_matrix(absent.astype(np.float32)[:, None])], format="csr")
    return own, notes


def _one_hot(table: Table, column: Column) -> tuple[sp.csr_matrix, Array, list[str]]:
    cells = table.cells(column.name)
    known = {category: i for i, category in enumerate(column.categories)}
    code = {cell: known.get(cell.strip(), -1) for cell in set(cells) if cell is not None}
    codes = np.array([-2 if cell is None else code[cell] for cell in cells], dtype=np.int64)
    row = np.flatnonzero(codes >= 0)
    matrix = sp.csr_matrix((np.ones(len(row), np.float32), (row, codes[row])), shape=(len(cells), len(known)))
    strange = [cell for cell, at in code.items() if at == -1]
    if not strange:
        return matrix, codes == -2, []
    note = f"{_title(table, column)} has values that were not there in training ({_shown(strange)}): "
    return matrix, codes == -2, [note + f"{_rows(int((codes == -1).sum()))} no category in it."]


def _numbers(table: Table, name: str) -> Array:
    """The numbers of a column, NaN where they are missing; anything else is refused."""
    values = _only_numbers(table.cells(name))
    values = _read(table, name, number) if values is None else values
    _check_size(table, name, values)
    return values


def _only_numbers(cells: Cells) -> Array | None:
    """The quick way through a column of plain numbers; None for any other."""
    text = "".join(filter(None, cells))
    if "_" in text or not text.isascii():
        return None
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
    except ValueError:
        return None


def _flags(table: Table, name: str) -> Array:
    """The flags of a column, which may be written as any number, NaN where they are missing."""

    def meaning(cell: str) -> float | None:
        flag = _FLAGS.get(cell.strip().lower())
        return number(cell) if flag is None else flag

    return _read(table, name, meaning)


def _strange_flags(table: Table, column: Column, values: Array) -> list[str]:
    cells = table.cells(column.name)
    rows = np.flatnonzero(~np.isnan(values) & (values != 0) & (values != 1))
    strange = {cell for cell in (cells[row] for row in rows) if cell is not None}
    told = "which were all there was in training: they stand as they are"
    return [f"{_title(table, column)} has numbers other than 0 and 1 ({_shown(strange)}), {told}."] if strange else []


def _read(table: Table, name: str, meaning: Callable[[str], float | None]) -> Array:
    """The meaning of each cell, NaN where it is missing; a cell that has none is refused."""
    cells = table.cells(name)
    value: dict[str | None, float | None] = {None: np.nan}
    value |= {cell: np.nan if cell.strip().lower() in MISSING else meaning(cell) for cell in set(cells) if cell}
    if None in value.values():
        row, cell = next((row, cell) for row, cell in enumerate(cells) if cell and value[cell] is None)
        raise InputError(
            f"The value {cell!r} in {table.at(row, name)} {_not_a_number(cell)}: correct it, or leave the cell empty."
        )
    return np.array([value[cell] for cell in cells], dtype=np.float64)


def _not_a_number(cell: str) -> str:
    if _COMMA.fullmatch(cell.strip()):
        return "has a comma, where numbers have a decimal point and no other mark"
    return "is no number, unlike the others of its column"


def _check_size(table: Table, name: str, values: Array) -> None:
    bad = np.flatnonzero(np.abs(values) > _LARGEST)
    if len(bad):
        row = int(bad[0])
        cell = table.cells(name)[row]
        raise InputError(f"The value {cell!r} in {table.at(row, name)} is no finite number of usual size: give one.")


def _lacks(table: Table, column: Column, telling: str = "and one more feature marks them") -> str:
    among = MISSING if column.kind != "category" else ()
    lacking = sum(cell is None or cell.strip().lower() in among for cell in table.cells(column.name))
    stands = {"number": "the mean stands in", "flag": "0 stands in"}.get(column.kind, "they have no category")
    return f"{_title(table, column)} lacks {lacking} of {len(table)} values: {stands}, {telling}."


def _left_out(table: Table, column: Column) -> str:
    values = {cell.strip() for cell in set(table.cells(column.name)) if cell is not None}
    why = "more than half of its values are different" if len(values) > _MANY else "it has one value only"
    if all(value.lower() in MISSING for value in values):
        why = "it has no value"
    return f"{_title(table, column)} is left out: {why}."


def _title(table: Table, column: Column) -> str:
    return f"{table.column.capitalize()} {column.name!r} of {table.what}"


def _shown(cells: Iterable[str]) -> str:
    first = sorted(cells)
    return ", ".join(map(repr, first[:3])) + (", ..." if len(first) > 3 else "")


def _rows(n: int) -> str:
    return "1 row has" if n == 1 else f"{n} rows have"
