"""Planetoid's format (Yang et al. 2016): cora, citeseer and pubmed as `ind.NAME.*` files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from bes.errors import InputError
from bes.graph.arrays import Array, to_sparse
from bes.graph.graph import Graph
from bes.graph.readers.geom_gcn import geom_masks
from bes.graph.readers.unpickle import unpickle

_USE = "use the published files of one data set"


def read_planetoid(folder: str | Path, name: str) -> Graph:
    """The graph `name` from `ind.NAME.{x,tx,allx,y,ty,ally,graph,test.index}` in `folder`.

    Row `i` of `tx` belongs to the `i`-th node of `test.index`. Nodes that no file describes (15 of
    citeseer's) get a zero row and class 0, as in PyG. The masks are the public split: the nodes of
    `y`, the 500 after them, the test nodes; Geom-GCN's split files beside them give `geom_*_mask`.
    """
    folder = Path(folder)
    stem = f"ind.{name}"
    allx, tx = (unpickle(folder / f"{stem}.{key}", sp.csr_matrix) for key in ("allx", "tx"))
    ally, ty, y = (unpickle(folder / f"{stem}.{key}", np.ndarray) for key in ("ally", "ty", "y"))
    test = _test_index(folder / f"{stem}.test.index")
    n_known = allx.shape[0]
    if len(test) != tx.shape[0] or test.min(initial=n_known) < n_known or len(np.unique(test)) < len(test):
        raise InputError(f"The files {stem}.tx and {stem}.test.index in {folder} do not fit together: {_USE}.")
    if ally.ndim != 2 or ty.ndim != 2 or len(ally) != n_known or len(ty) != len(test) or allx.shape[1] != tx.shape[1]:
        raise InputError(f"The files {stem}.* in {folder} differ in their numbers of nodes or columns: {_USE}.")
    place = np.concatenate([np.arange(n_known), test])
    n = int(place.max(initial=-1)) + 1
    labels = np.zeros(n, dtype=np.int64)
    labels[place] = np.concatenate([ally, ty]).argmax(1)
    masks = _public(n, len(y), n_known, test) | geom_masks(folder, n, prefix="geom_")
    x = to_sparse(_spread(sp.vstack([allx, tx]).tocoo(), place, n), f"features in {folder}")
    edges = _edges(unpickle(folder / f"{stem}.graph", dict), folder / f"{stem}.graph")
    return Graph(x, edges, torch.from_numpy(labels), name, masks)


def _spread(matrix: sp.coo_matrix, place: Array, n: int) -> sp.csr_matrix:
    """Row `i` of `matrix` at row `place[i]` of `n`; the rest is zero."""
    return sp.csr_matrix((matrix.data, (place[matrix.row], matrix.col)), shape=(n, matrix.shape[1]))


def _test_index(path: Path) -> Array:
    try:
        return np.array(path.read_text().split(), dtype=np.int64)
    except (OSError, ValueError) as error:
        raise InputError(f"The file {path} is missing or not a list of nodes: use the published file.") from error


def _edges(graph: dict[Any, Any], path: Path) -> torch.Tensor:
    try:
        pairs = [(node, other) for node, others in graph.items() for other in others]
        return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"The file {path} does not map nodes to lists of nodes: {_USE}.") from error


def _public(n: int, n_train: int, n_known: int, test: Array) -> dict[str, torch.Tensor]:
    masks = {key: torch.zeros(n, dtype=torch.bool) for key in ("train_mask", "val_mask", "test_mask")}
    masks["train_mask"][:n_train] = True
    masks["val_mask"][n_train : min(n_train + 500, n_known)] = True
    masks["test_mask"][torch.from_numpy(test)] = True
    return masks
