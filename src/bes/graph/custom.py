"""Graphs of one's own: from CSV files, pandas, NetworkX, PyG, SciPy and bare embeddings.

Every one keeps the owner's ids and class names in `graph.names`, and says there what happened on the way.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bes.errors import InputError
from bes.graph.from_arrays import from_embeddings, from_pyg, from_scipy
from bes.graph.from_frames import Frame, frame_table, require_frame
from bes.graph.from_networkx import from_networkx
from bes.graph.from_tables import ends_columns, from_tables
from bes.graph.graph import Graph
from bes.graph.tables import Table, read_table

__all__ = ["from_csv", "from_embeddings", "from_networkx", "from_pandas", "from_pyg", "from_scipy"]


def from_csv(
    nodes: str | Path,
    edges: str | Path,
    *,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    edge_label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    name: str | None = None,
) -> Graph:
    """The graph in two files with a header each, in UTF-8, separated by commas, or by tabs if they end in `.tsv`.

    Every column of `nodes` but `id`, `label` and `split` is a feature, encoded as in `bes.graph.encoding`:
    numbers centred and scaled, texts as one feature a category. Classes are numbered in sorted order, as
    numbers if all are integers; an empty cell is an unknown class.

    Args:
        nodes: The file of nodes; without features a node gets its one-hot id.
        edges: The file of edges; columns that are not named here do not matter.
        label: The column of `nodes` with the class.
        id: The column of `nodes` with the id; the first unless given.
        split: The column of `nodes` with the words train, val and test: they become the graph's masks.
        edge_label: The column of `edges` with the class of the edge.
        source, target: The columns of `edges` with the two ids; the first and the second unless given.
        name: What the graph is called; as the file of nodes unless given.
    """
    return from_tables(
        read_table(nodes),
        read_table(edges),
        id=id,
        label=label,
        split=split,
        edge_label=edge_label,
        source=source,
        target=target,
        name=name or Path(nodes).stem,
    )


def from_pandas(
    nodes: Frame,
    edges: Frame,
    *,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    edge_label: str | None = None,
    source: str | None = None,
    target: str | None = None,
    name: str | None = None,
) -> Graph:
    """The graph in two DataFrames, as `from_csv` reads it from two files.

    Args:
        id: The column of `nodes` with the id, or the name of its index (`node` if it has none). Unless given, the
            index where the edges name what stands in it, and else the first column.
    """
    links = frame_table(edges, "the edges")
    require_frame(nodes, "the nodes")
    table, id = _with_index(nodes, links, id, source, target)
    return from_tables(
        table,
        links,
        id=id,
        label=label,
        split=split,
        edge_label=edge_label,
        source=source,
        target=target,
        name=name or "graph",
    )


def _with_index(
    nodes: Frame, links: Table, id: str | None, source: str | None, target: str | None
) -> tuple[Table, str | None]:
    """The nodes, with the index as their first column where that is where the ids are."""
    index = "node" if nodes.index.name is None else str(nodes.index.name)
    if nodes.index.nlevels > 1 or index in map(str, nodes.columns) or (id is not None and id != index):
        return frame_table(nodes, "the nodes"), id
    table = frame_table(nodes, "the nodes", index)
    first = next((column for column in table.header if column != index), index)
    if id == index or first == index:
        return table, index
    plain = replace(table, columns={name: cells for name, cells in table.columns.items() if name != index})
    named = {cell for end in ends_columns(links, source, target) for cell in links.columns.get(end, [])}
    rows, cells = table.cells(index), table.cells(first)
    in_index = named <= set(rows)
    in_first = named <= set(cells) and len(set(cells)) == len(cells) and None not in cells
    if named and in_index and in_first and rows != cells:
        raise InputError(
            f"The edges fit both the index of the nodes and their column {first!r}: "
            f"say which holds the ids by id={index!r} or id={first!r}."
        )
    counted = nodes.index.name is None and rows == [str(row) for row in range(len(rows))]
    by_index = not counted if in_index == in_first else in_index
    return (table, index) if by_index else (plain, first)
