"""Graphs from what is numbers already: PyG data, sparse matrices and bare embeddings, with names around them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from bes.core.neighbors import nearest
from bes.errors import InputError
from bes.graph.arrays import to_sparse, to_tensor
from bes.graph.from_columns import doubtful_word, known_classes, number_classes
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.graph.sparse import Features, Sparse
from bes.graph.tables import is_nested, text_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


def from_pyg(
    data: Data, *, ids: Iterable[object] | None = None, classes: Iterable[object] | None = None, name: str = "graph"
) -> Graph:
    """The graph of a PyG `Data`, see `Graph.from_pyg`.

    Args:
        ids: What each node is called; its number unless given.
        classes: What each class is called, in order; its number unless given.
    """
    if not (hasattr(data, "edge_index") and hasattr(data, "num_nodes")):
        raise InputError(f"A {type(data).__name__} was given as the graph: give one PyG Data with an edge_index.")
    graph = Graph.from_pyg(data, name)
    called = () if classes is None else _texts(classes, "class name", name)
    return replace(graph, names=Names(_ids(ids, graph.n_nodes, name), classes=called))


def from_scipy(
    adjacency: Any,
    features: Any = None,
    labels: Any = None,
    *,
    ids: Iterable[object] | None = None,
    name: str = "graph",
) -> Graph:
    """The graph of an adjacency matrix: an entry that is not zero is an edge, whatever its weight and direction.

    Args:
        adjacency: A scipy sparse matrix or array `[N, N]`.
        features: Numbers `[N, F]`, sparse or numpy; without them a node gets its one-hot id.
        labels: The class of each node, as integers or texts; None, "", NaN and -1 are unknown.
        ids: What each node is called; its number unless given.
    """
    matrix = _csr(adjacency, f"adjacency of graph '{name}'")
    if matrix is None or matrix.shape[0] != matrix.shape[1]:
        shape = getattr(adjacency, "shape", type(adjacency).__name__)
        raise InputError(f"The adjacency of graph '{name}' is {shape}: give a scipy sparse matrix of shape (N, N).")
    edges = torch.from_numpy(np.stack(matrix.nonzero()).astype(np.int64))
    n = matrix.shape[0]
    notes = []
    if matrix.nnz and not (matrix.data == 1).all():
        notes.append(f"The weights in the adjacency of graph '{name}' are not used: what is not zero is an edge.")
    x = torch.zeros(n, 0) if features is None else _matrix(features, name)
    if tuple(x.shape[:1]) != (n,):
        raise InputError(
            f"The features of graph '{name}' have shape {tuple(x.shape)}, but it has {n} nodes: give a row a node."
        )
    y, classes, told = _labels(labels, n, name)
    return Graph(x, edges, y, name, names=Names(_ids(ids, n, name), classes=classes, notes=(*notes, *told)))


def from_embeddings(
    z: Any,
    labels: Any = None,
    edges: Any = None,
    *,
    n_neighbors: int = 10,
    ids: Iterable[object] | None = None,
    name: str = "embeddings",
) -> Graph:
    """Embeddings as the features of a graph, that of their nearest neighbours unless edges are given.

    Args:
        z: Embeddings `[N, D]`, numpy or torch.
        labels: The class of each row, as integers or texts; None, "", NaN and -1 are unknown.
        edges: Node indices `[2, E]`, numpy or torch.
        n_neighbors: Without `edges`, each row is joined to so many others.
        ids: What each row is called; its number unless given.
    """
    x = _matrix(z, name)
    if isinstance(x, Sparse):
        x = x.to_dense()
    y, classes, notes = _labels(labels, x.shape[0], name)
    if edges is None:
        if not isinstance(n_neighbors, Integral) or isinstance(n_neighbors, bool) or n_neighbors < 1:
            raise InputError(f"The number of neighbours is {n_neighbors!r}: give a whole number, at least 1.")
        Graph(
            x, torch.zeros(2, 0, dtype=torch.int64, device=x.device), y.to(x.device), name
        )  # checks z before the search
        edges = _neighbors(x, int(n_neighbors))
        joined = f"Graph '{name}' came without edges: each node is joined to the {n_neighbors} nearest to it."
        notes = [joined, *notes]
    links = edges if isinstance(edges, Tensor) else to_tensor(np.asarray(edges), f"edges of graph '{name}'")
    names = Names(_ids(ids, x.shape[0], name), classes=classes, notes=tuple(notes))
    return Graph(x, links.to(x.device), y.to(x.device), name, names=names)


def _neighbors(x: Tensor, k: int) -> Tensor:
    """Each row and its nearest others, as edges."""
    rows = torch.arange(x.shape[0], device=x.device)
    found = nearest(rows, x, k)
    return torch.stack([rows.repeat_interleave(found.shape[1]), found.flatten()])


def _matrix(values: Any, name: str) -> Features:
    """Features as a graph takes them."""
    if isinstance(values, Tensor):
        return values.detach().float()
    matrix = _csr(values, f"features of graph '{name}'")
    if matrix is not None:
        return to_sparse(matrix, f"features of graph '{name}'")
    return to_tensor(np.asarray(values), f"features of graph '{name}'").float()


def _csr(values: Any, what: str) -> Any:
    """A sparse matrix of scipy as CSR; None for anything else."""
    sparse: bool = sp.issparse(values)
    if not sparse or len(values.shape) != 2:
        return None
    matrix = values.tocsr()
    to_tensor(matrix.data[:0], what)  # refuses what is not a number
    return matrix


def _labels(labels: Any, n: int, name: str) -> tuple[Tensor, tuple[str, ...], list[str]]:
    """The class of each row, what the classes are called, and what is doubtful about them."""
    if labels is None:
        return torch.full((n,), -1), (), []
    title = f"labels of graph '{name}'"
    try:
        values = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels, dtype=object)
    except ValueError as error:  # lists of arrays of several shapes
        raise InputError(f"The {title} are no array: give one a node.") from error
    if values.shape != (n,):
        raise InputError(f"The {title} have shape {values.shape}, but it has {n} nodes: give one a node.")
    given = values.tolist()
    _refuse_nested(given, "label", name)
    cells, _, words = known_classes([text_of(value) for value in given], numeric=True)
    notes = [doubtful_word(f"The array of {title}", words[0], words[0] in cells)] if words else []
    return *number_classes(cells), notes


def _ids(ids: Iterable[object] | None, n: int, name: str) -> tuple[str, ...]:
    return tuple(map(str, range(n))) if ids is None else _texts(ids, "id", name)


def _texts(values: Iterable[object], what: str, name: str) -> tuple[str, ...]:
    """Names as text, by the rule for the cells of a table; each has to be there."""
    if not hasattr(values, "__iter__"):
        raise InputError(f"The {what}s of graph '{name}' are one {type(values).__name__}: give a list of them.")
    given = list(values)
    _refuse_nested(given, what, name)
    texts = [text_of(value) for value in given]
    if None in texts:
        raise InputError(f"There is no {what} at position {texts.index(None)} for graph '{name}': give one.")
    return tuple(text for text in texts if text is not None)


def _refuse_nested(values: list[object], what: str, name: str) -> None:
    for position, value in enumerate(values):
        if is_nested(value):
            raise InputError(
                f"The {what} at position {position} for graph '{name}' is a {type(value).__name__}: "
                "give one number or text."
            )
