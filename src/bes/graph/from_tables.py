"""A graph from a table of nodes and a table of edges: ids, ends, and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bes.errors import InputError
from bes.graph.arrays import Array
from bes.graph.from_columns import assemble
from bes.graph.graph import Graph
from bes.graph.tables import Table, as_name, nearest_word, number


def from_tables(
    nodes: Table,
    edges: Table,
    *,
    id: str | None,
    label: str | None,
    split: str | None,
    edge_label: str | None,
    source: str | None,
    target: str | None,
    name: str,
) -> Graph:
    """The graph of two tables; see `from_csv` for the columns."""
    id, label, split, edge_label = map(as_name, (id, label, split, edge_label))
    try:
        check_rows(nodes, edges)
        id = first_column(nodes) if id is None else id
        nodes.distinct(id, label, split)
        position = positions(nodes, id)
        columns = check_columns(edges, position, source, target, edge_label)
        ends = find_ends(edges, columns, position, nodes)
    except InputError:
        if _swapped(nodes, edges):
            raise InputError(
                f"{nodes.what} was given as the nodes and {edges.what} as the edges, but the rows of the first join "
                "ids that the second lists: give them the other way round."
            ) from None
        raise
    features = [column for column in nodes.header if column not in (id, label, split)]
    return assemble(
        nodes,
        edges,
        tuple(position),
        ends,
        features=features,
        label=label,
        split=split,
        edge_label=edge_label,
        id_column=id,
        name=name,
    )


def check_rows(nodes: Table, edges: Table | None) -> None:
    """Refuse tables too small to be one of nodes and one of edges, and one file for both."""
    if edges is not None and nodes.row == edges.row == "line" and nodes.what == edges.what:
        raise InputError(f"The file {nodes.what} was given for the nodes and for the edges: give a file for each.")
    if not len(nodes) or not nodes.columns:
        raise InputError(f"There are no rows in {nodes.what}: give one row a node, under a header.")
    if edges is not None and len(edges.columns) < 2:
        raise InputError(f"There is only one column in {edges.what}: give two node ids a row, separated by a comma.")


def first_column(nodes: Table) -> str:
    """The column that holds the ids unless another is named."""
    name = nodes.header[0]
    if nodes.row == "line" and number(name) is not None:
        raise _no_header(nodes, name)
    return name


def ends_columns(edges: Table, source: str | None, target: str | None) -> tuple[str, str]:
    """The two columns of node ids; the first two unless named."""
    first, second, *_ = [*edges.header, "", ""]
    return first if source is None else str(source), second if target is None else str(target)


def check_columns(
    edges: Table, position: Mapping[str, int], source: str | None, target: str | None, edge_label: str | None = None
) -> tuple[str, str]:
    """The two columns of node ids, after a check that these columns and the one of the classes are there."""
    columns = ends_columns(edges, source, target)
    unnamed = edges.row == "line" and source is None and target is None
    if unnamed and all(name in position or number(name) is not None for name in columns):
        raise _no_header(edges, columns[0])
    edges.distinct(*columns, edge_label)
    return columns


def positions(nodes: Table, column: str) -> dict[str, int]:
    """The row of each node id."""
    cells = nodes.cells(column)
    position = {cell: row for row, cell in enumerate(cells) if cell is not None}
    if len(position) == len(cells):
        return position
    if None in cells:
        raise InputError(f"There is no node id in {nodes.at(cells.index(None), column)}: give each node one.")
    seen: dict[str | None, int] = {}
    row, cell = next((row, cell) for row, cell in enumerate(cells) if seen.setdefault(cell, row) < row)
    raise InputError(
        f"The node id {cell!r} in {nodes.at(row, column)} is that of {nodes.row} {nodes.places[seen[cell]]} already: "
        "use each once."
    )


def find_ends(
    edges: Table, columns: tuple[str, str], position: Mapping[str, int], nodes: Table, others: str = ""
) -> Array:
    """The rows `[2, E]` of the nodes that the edges join; `others` says where else ids may stand."""
    found = []
    for column in columns:
        rows = list(map(position.get, edges.cells(column)))  # type: ignore[arg-type]
        if None in rows:
            raise _unknown(edges, rows.index(None), column, position, nodes, others)
        found.append(rows)
    return np.array(found, dtype=np.int64).reshape(2, -1)


def _unknown(edges: Table, row: int, column: str, position: Mapping[str, int], nodes: Table, others: str) -> InputError:
    cell, place = edges.cells(column)[row], edges.at(row, column)
    if cell is None:
        return InputError(f"There is no node id in {place}: name both ends, or remove the edge.")
    if cell == nodes.header[0] and nodes.row == "line":
        return _no_header(nodes, cell)
    close = nearest_word(cell, position)
    if close is not None and cell.strip() == close.strip():
        return InputError(
            f"The node {cell!r} in {place} is {close!r} among the nodes: remove the white space around the id."
        )
    end = "add it there or remove the edge."
    if close is not None:
        end = f"did you mean {close!r}?"
    elif not any(other in position for other in edges.cells(column)):  # not one id of the column is known
        end = f"is {column!r} one of the two columns of ids, and are the nodes' ids in their first, or in --id?"
    return InputError(f"The node {cell!r} in {place} is not in {nodes.what}{others}: {end}")


def _no_header(table: Table, cell: str) -> InputError:
    return InputError(
        f"The first line of {table.what}, which begins with {cell!r}, looks like data and not like a header: "
        "put a line with the columns' names above it."
    )


def _swapped(nodes: Table, edges: Table) -> bool:
    """Whether `edges` lists, each once, all the ids that the first two columns of `nodes` join."""
    if not (len(nodes) and len(nodes.columns) > 1 and edges.columns):
        return False
    ids = edges.cells(edges.header[0])
    ends = {cell for name in nodes.header[:2] for cell in nodes.cells(name)}
    return len(set(ids)) == len(ids) and None not in ends and ends <= set(ids)
