"""Graphs of one's own: from CSV files, pandas, NetworkX, PyG, SciPy and bare embeddings.

Every one keeps the owner's ids and class names in `graph.names`, and says there what happened on the way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from bes.errors import InputError
from bes.graph.from_arrays import from_embeddings, from_pyg, from_scipy
from bes.graph.from_frames import Frame, frame_table, require_frame
from bes.graph.from_networkx import from_networkx
from bes.graph.from_tables import ends_columns, from_tables
from bes.graph.graph import Graph
from bes.graph.tables import Cells, Table, as_name, read_table

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
    numbers if all are integers; an empty cell is an unknown class, and so is -1 among integers.

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
            index if it has a name or does more than count the rows, and else the first column; the other of the
            two where the edges name nothing that stands in that one. Where both may be meant it has to be given.
    """
    links = frame_table(edges, "the edges")
    require_frame(nodes, "the nodes")
    table, id = _with_index(nodes, links, as_name(id), source, target)
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
    if _by_index(table, index, first, links, (source, target), named=nodes.index.name is not None):
        return table, index
    return replace(table, columns={name: cells for name, cells in table.columns.items() if name != index}), first


def _by_index(
    table: Table, index: str, first: str, links: Table, ends: tuple[str | None, str | None], *, named: bool
) -> bool:
    """Whether the ids are in the column `index` and not in `first`; refused where both may be meant."""
    used = {cell for end in ends_columns(links, *ends) for cell in links.columns.get(end, []) if cell is not None}
    rows, cells = table.cells(index), table.cells(first)
    usual = named or rows != [str(row) for row in range(len(rows))]  # else the index only counts
    here, there = (rows, cells) if usual else (cells, rows)
    if not used or here == there:
        return usual
    if used.isdisjoint(cell for cell in here if cell is not None):
        return usual == used.isdisjoint(cell for cell in there if cell is not None)
    if _misfit(there, used) is not None:
        return usual
    why = _misfit(here, used)
    titles = f"the index of {table.what}", f"column {first!r} of {table.what}"
    one, other = titles if usual else titles[::-1]
    fit = f"both {titles[0]} and {titles[1]}" if why is None else f"{other}, while {one} {why}"
    raise InputError(f"The edges fit {fit}: say which holds the ids by id={index!r} or id={first!r}.")


def _misfit(cells: Cells, used: set[str]) -> str | None:
    """Why these cannot be the ids that the edges name; None if they can."""
    known = {cell for cell in cells if cell is not None}
    if None in cells:
        return "has an empty cell"
    if len(known) < len(cells):
        return f"has {Counter(cells).most_common(1)[0][0]!r} twice"
    return None if used <= known else f"has no {min(used - known)!r}"
