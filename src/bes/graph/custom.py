"""A graph of one's own from two CSV files: one row a node, one row an edge."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.arrays import to_sparse
from bes.graph.graph import Graph
from bes.graph.sparse import Features

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_MISSING = ("na", "n/a", "null", "none", "?")  # what stands for no value among numbers; in a text it is a category
_LARGEST = float(np.finfo(np.float32).max)
_FILLED = 0.25  # the share of non-zero features from which a dense matrix is the smaller one to work with


def given_graph(
    dataset: str | None, nodes: Path | None, edges: Path | None, *, label: str | None, edge_label: str | None
) -> tuple[str, Graph | None]:
    """What the command line names: a data set still to be loaded, or the graph of two CSV files.

    Returns:
        The name under which the run is configured, and the graph if it is already here.
    """
    if nodes is None and edges is None:
        if dataset is None:
            raise InputError("No graph was given: name a data set or an .npz, or give --nodes and --edges.")
        if label or edge_label:
            raise InputError("--label and --edge-label name columns of CSV files: give --nodes and --edges with them.")
        return dataset, None
    if nodes is None or edges is None or dataset is not None:
        raise InputError("A graph from CSV needs --nodes and --edges, and no data set's name beside them.")
    return str(nodes), from_csv(nodes, edges, label=label, edge_label=edge_label)


def from_csv(
    nodes: str | Path,
    edges: str | Path,
    *,
    label: str | None = None,
    id: str | None = None,
    edge_label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    name: str | None = None,
) -> Graph:
    """The graph in two CSV files with a header each, comma-separated and in UTF-8.

    Every column of `nodes` but `id` and `label` is a feature: numbers as they are, text as one column
    a category, in sorted order. Classes are numbered in sorted order, as numbers if all are integers;
    an empty cell is an unknown class.

    Args:
        nodes: The file of nodes; without features a node gets its one-hot id.
        edges: The file of edges; columns that are not named here do not matter.
        label: The column of `nodes` with the class.
        id: The column of `nodes` with the id; the first unless given.
        edge_label: The column of `edges` with the class of the edge.
        source, target: The columns of `edges` with the two ids; the first and the second unless given.
        name: What the graph is called; as the file of nodes unless given.
    """
    table, links = _read(Path(nodes)), _read(Path(edges))
    if not table.rows:
        raise InputError(f"The file {nodes} has a header but no rows: give one row a node.")
    if len(links.header) < 2:
        raise InputError(f"The header of {edges} has one column: give two node ids a row, separated by a comma.")
    id = table.header[0] if id is None else id
    source = links.header[0] if source is None else source
    target = links.header[1] if target is None else target
    table.distinct(id, label)
    links.distinct(source, target, edge_label)
    position = _positions(table, id)
    y = torch.full((len(position),), -1) if label is None else _classes(table.column(label))
    ends = torch.tensor([_ends(links, end, position, table.path) for end in (source, target)], dtype=torch.int64)
    x = _features(table, [column for column in table.header if column not in (id, label)])
    edge_y = None if edge_label is None else _classes(links.column(edge_label))
    return Graph(x, ends, y, name or Path(nodes).stem, edge_label=edge_y)


@dataclass(frozen=True)
class _Table:
    """A CSV file: the header, the rows, and the line at which each row begins."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        if name not in self.header:
            found = ", ".join(map(repr, self.header))
            raise InputError(f"The file {self.path} has no column {name!r}: it has {found}.")
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    def distinct(self, *names: str | None) -> None:
        """Refuse one column in two roles."""
        given = [name for name in names if name is not None]
        twice = next((name for name in given if given.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"The column {twice!r} of {self.path} is to be two things at once: name two columns.")

    def at(self, row: int, column: str) -> str:
        """The place of a cell, for messages."""
        return f"line {self.lines[row]}, column {column!r} of {self.path}"


def _read(path: Path) -> _Table:
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    table: list[list[str]] = []
    lines: list[int] = []
    end = 0
    try:
        for cells in reader:
            begin, end = end + 1, reader.line_num  # a quoted cell may run over several lines
            if cells:
                table.append(cells)
                lines.append(begin)
    except csv.Error as error:
        raise InputError(f"Line {reader.line_num} of {path} is not valid CSV ({error}): check its quotes.") from error
    if not table:
        raise InputError(f"The file {path} is empty: give a header and rows.")
    header = table[0]
    twice = next((column for column in header if header.count(column) > 1), None)
    if twice is not None:
        raise InputError(f"The header of {path} has the column {twice!r} twice: rename one.")
    for cells, line in zip(table, lines, strict=True):
        if len(cells) != len(header):
            raise InputError(
                f"Line {line} of {path} has {len(cells)} cells, but the header has {len(header)} columns: "
                "separate them by commas and quote text that holds one."
            )
    return _Table(path, header, table[1:], lines[1:])


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"The file {path} cannot be read ({error.strerror}): give the path of a CSV file.") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(f"Line {line} of {path} is not UTF-8: save the file as CSV in UTF-8.") from error


def _positions(table: _Table, column: str) -> dict[str, int]:
    """The row of each node id."""
    position: dict[str, int] = {}
    for row, cell in enumerate(table.column(column)):
        if not cell.strip():
            raise InputError(f"There is no node id in {table.at(row, column)}: give each node one.")
        if cell in position:
            first = table.lines[position[cell]]
            raise InputError(f"The node id {cell!r} in {table.at(row, column)} is that of line {first}: use each once.")
        position[cell] = row
    return position


def _classes(cells: list[str]) -> Tensor:
    """The number of each cell's class, -1 where the cell is empty."""
    names = sorted({cell for cell in cells if cell.strip()})
    if all(_INTEGER.fullmatch(name) for name in names):
        names.sort(key=int)
    number = {name: i for i, name in enumerate(names)}
    return torch.tensor([number.get(cell, -1) for cell in cells], dtype=torch.int64)


def _ends(table: _Table, column: str, position: dict[str, int], nodes: Path) -> list[int]:
    cells = table.column(column)
    unknown = next((row for row, cell in enumerate(cells) if cell not in position), None)
    if unknown is not None:
        raise InputError(
            f"The node {cells[unknown]!r} in {table.at(unknown, column)} is not in {nodes}: "
            "add it there or remove the edge."
        )
    return [position[cell] for cell in cells]


def _features(table: _Table, columns: list[str]) -> Features:
    """The feature columns side by side, dense unless most entries are zero."""
    if not columns:
        return torch.zeros(len(table.rows), 0)
    matrix = sp.hstack([_feature(table, column) for column in columns], format="csr")
    x = to_sparse(matrix, f"features in {table.path}")
    return x if matrix.nnz < _FILLED * matrix.shape[0] * matrix.shape[1] else x.to_dense()


def _feature(table: _Table, column: str) -> sp.csr_matrix:
    """One column of numbers, or one column a category of a text."""
    cells = table.column(column)
    numbers = [_number(cell) for cell in cells]
    _check_values(table, column, cells, numbers)
    if None not in numbers:
        return sp.csr_matrix(np.array(numbers, dtype=np.float32)[:, None])
    code = {category: i for i, category in enumerate(sorted(set(cells)))}
    one_hot = (np.arange(len(cells)), [code[cell] for cell in cells])
    return sp.csr_matrix((np.ones(len(cells), dtype=np.float32), one_hot))


def _check_values(table: _Table, column: str, cells: list[str], numbers: list[float | None]) -> None:
    """Refuse what is missing, and among numbers what is not finite."""
    text = {cell.strip().lower() for cell, number in zip(cells, numbers, strict=True) if number is None}
    numeric = text <= {"", *_MISSING} and any(number is not None for number in numbers)
    for row, (cell, number) in enumerate(zip(cells, numbers, strict=True)):
        if not cell.strip() or (numeric and number is None):
            raise InputError(f"The value in {table.at(row, column)} is missing: fill it in or drop the column.")
        if numeric and number is not None and not abs(number) <= _LARGEST:
            raise InputError(f"The value {cell!r} in {table.at(row, column)} is no finite number: give one.")


def _number(cell: str) -> float | None:
    """The number in `cell`; what only Python reads as one, as 1_000, is text."""
    try:
        return float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        return None
