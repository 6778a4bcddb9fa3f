"""New nodes beside those of a graph that is here already: encoded as the old ones were, joined by new edges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.encoding import encode
from bes.graph.from_frames import Frame, frame_table, require_frame
from bes.graph.from_tables import check_columns, check_rows, find_ends, positions
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.graph.sparse import Features, Sparse
from bes.graph.tables import Table, read_table


def extend(
    graph: Graph,
    nodes: str | Path | Frame,
    edges: str | Path | Frame | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
) -> tuple[Graph, int]:
    """`graph` with new nodes after the old ones, all of unknown class.

    Args:
        graph: Made by `from_csv` or `from_pandas`, or read back from where it was kept.
        nodes: A CSV file or a DataFrame with the columns that the graph was made from; others are ignored.
        edges: The same, of edges among new and old ids; None if there are none.
        source, target: The columns of `edges` with the two ids; the first and the second unless given.

    Returns:
        The graph, whose notes are about the new rows alone, and the number of old nodes.
    """
    names = _names(graph)
    table = _nodes_table(nodes, names)
    links = None if edges is None else _table(edges, "the new edges")
    check_rows(table, links)
    new = positions(table, names.id_column)
    old = {name: row for row, name in enumerate(names.ids)}
    for name, row in new.items():
        if name in old:
            raise InputError(
                f"The node {name!r} in {table.at(row, names.id_column)} is in the trained graph already: "
                "give new nodes only, and name old ones in the edges."
            )
    position = old | {name: row + len(old) for name, row in new.items()}
    ends = torch.zeros(2, 0, dtype=torch.int64)
    if links is not None:
        columns = check_columns(links, position, source, target)
        ends = torch.from_numpy(find_ends(links, columns, position, table, " and not in the trained graph"))
    x, notes = encode(table, names.columns)
    said = [*table.notes, *(links.notes if links else ()), *_ignored(table, names), *notes]
    said += _alone(ends, len(old), len(new))
    grown = replace(
        graph,
        x=_below(graph.x, x.to(graph.device)),
        edge_index=torch.cat([graph.edge_index, ends.to(graph.device)], dim=1),
        y=_pad(graph.y, len(new), -1),
        masks={key: _pad(mask, len(new), False) for key, mask in graph.masks.items()},
        edge_label=None if graph.edge_label is None else _pad(graph.edge_label, ends.shape[1], -1),
        names=replace(names, ids=tuple(position), notes=tuple(said)),
    )
    return grown, graph.n_nodes


def _names(graph: Graph) -> Names:
    """How the graph was made, refused where that is not known."""
    names = graph.names
    if names is None or sum(column.width for column in names.columns) != graph.n_features:
        raise InputError(
            f"New nodes cannot be added to graph '{graph.name}', as its features were not made from a table: "
            "make it by from_csv or from_pandas, with columns that say something about each node."
        )
    return names


def _table(rows: str | Path | Frame, what: str, index: str | None = None) -> Table:
    return read_table(rows) if isinstance(rows, (str, Path)) else frame_table(rows, what, index)


def _nodes_table(nodes: str | Path | Frame, names: Names) -> Table:
    """The new rows; the ids of a DataFrame may be in its index, under the name they had."""
    if isinstance(nodes, (str, Path)):
        return read_table(nodes)
    require_frame(nodes, "the new nodes")
    index = "node" if nodes.index.name is None else str(nodes.index.name)
    by_index = index == names.id_column and index not in map(str, nodes.columns)
    return _table(nodes, "the new nodes", index if by_index else None)


def _ignored(table: Table, names: Names) -> list[str]:
    known = {names.id_column, names.label_column, *(column.name for column in names.columns)}
    others = [name for name in table.header if name not in known]
    shown = ", ".join(map(repr, others[:3])) + (", ..." if len(others) > 3 else "")
    return [f"What {table.what} has beside the columns of the trained graph is ignored: {shown}."] if others else []


def _alone(ends: Tensor, n_old: int, n_new: int) -> list[str]:
    """What to say of new nodes that no edge joins to another."""
    joined = ends[:, ends[0] != ends[1]].unique()
    n = n_new - int((joined >= n_old).sum())
    does = "has no edge: it is predicted from its" if n == 1 else "have no edge: they are predicted from their"
    return [f"{n} of {n_new} new nodes {does} features alone."] if n else []


def _below(old: Features, new: Features) -> Features:
    """The rows of both, sparse or dense as the old ones are."""
    if not isinstance(old, Sparse):
        return torch.cat([old, new.to_dense() if isinstance(new, Sparse) else new])
    new = new if isinstance(new, Sparse) else Sparse.from_dense(new)
    (row, col, value), (row_, col_, value_) = old.coo(), new.coo()
    joined = torch.cat([row, row_ + old.shape[0]]), torch.cat([col, col_]), torch.cat([value, value_])
    return Sparse.from_coo(*joined, (old.shape[0] + new.shape[0], old.shape[1]))


def _pad(values: Tensor, n: int, fill: int | bool) -> Tensor:
    return torch.cat([values, values.new_full((n, *values.shape[1:]), fill)])
