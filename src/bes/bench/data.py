"""The graphs of a suite: catalogued ones, files, and two classes of one."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.catalog import load
from bes.graph.datasets import known
from bes.graph.graph import Graph
from bes.graph.sparse import Features, Sparse
from bes.records import data_hash

#: After the name of a data set: its two largest classes alone.
BINARY = "#binary"


@dataclass(frozen=True)
class Data:
    """A data set that is here, or why it is not."""

    name: str
    hash: str | None
    absent: str = ""


def look_up(name: str) -> Data:
    """Whether a data set can be read, and the hash of what is read."""
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")  # of downloads that are tried and come to nothing
            return Data(name, data_hash(load_graph(name)))
    except InputError as error:
        return Data(name, None, f"{error}{_how_to_add(name)}")


def _how_to_add(name: str) -> str:
    info = known(name.removesuffix(BINARY))
    return "" if info is None else f" With the published files: `bes data add {info.name} --from DIR`."


def load_graph(name: str) -> Graph:
    """The graph of a catalogued name or a path; with `#binary`, of its two largest classes."""
    graph = load(name.removesuffix(BINARY))
    return two_classes(graph, name) if name.endswith(BINARY) else graph


def load_checked(name: str, expected: str) -> Graph:
    """The graph of `load_graph`, if it is still the one with that hash."""
    graph = load_graph(name)
    if data_hash(graph) != expected:
        raise InputError(
            f"The data set '{name}' has changed since the grid began: call it again to run on what is there."
        )
    return graph


def two_classes(graph: Graph, name: str) -> Graph:
    """The subgraph of the two classes with the most nodes, as classes 0 and 1."""
    y = graph.y
    counts = torch.bincount(y[y >= 0])
    if int((counts > 0).sum()) < 2:
        raise InputError(f"Graph '{graph.name}' has one class only: two are needed for '{name}'.")
    chosen = counts.topk(2).indices.sort().values
    nodes = torch.isin(y, chosen).nonzero().flatten()
    place = torch.full((graph.n_nodes,), -1)
    place[nodes] = torch.arange(nodes.numel())
    edges = place[graph.edge_index]
    return Graph(_rows(graph.x, nodes, place), edges[:, (edges >= 0).all(0)], (y[nodes] == chosen[1]).long(), name)


def _rows(x: Features, nodes: Tensor, place: Tensor) -> Features:
    """The rows `nodes` of `x`; `place` is where each row goes, -1 for those left out."""
    if not isinstance(x, Sparse):
        return x[nodes]
    row, column, value = x.coo()
    kept = place[row] >= 0
    return Sparse.from_coo(place[row[kept]], column[kept], value[kept], (nodes.numel(), x.shape[1]))
