"""The `.npz` of this project: one file a graph, plain arrays only.

| key | what |
|---|---|
| `x`, or `x_data, x_indices, x_indptr, x_shape` | features, dense or CSR; none of them: one-hot node ids |
| `edge_index` | `(2, E)` integers, directed, stored once or both ways, with or without loops |
| `y` | integer class of each node, -1 where unknown |
| `*_mask` | booleans `[N]` or `[N, K]` |
| `edge_label` | integer class of each column of `edge_index`, -1 where unknown |
| `val_edges`, `test_edges`, `val_negatives`, `test_negatives` | `(2, n)` node pairs: the source's own link split |
| `names` | UTF-8 bytes of the JSON of `bes.graph.names.Names`: ids, class names, how features were made |
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

from bes.errors import InputError
from bes.graph.arrays import Array, load_arrays, save_arrays, to_sparse, to_tensor
from bes.graph.edges import PAIRS
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.graph.readers.heterophilous import from_heterophilous
from bes.graph.sparse import Features, Sparse

_CSR = ("x_data", "x_indices", "x_indptr", "x_shape")
_OTHERS = ("edge_index", "y", "edge_label", "names", *PAIRS)


def read_npz(path: str | Path, name: str | None = None) -> Graph:
    """The graph in the file at `path`, called `name` or as the file.

    A file of the heterophilous family is known by its keys and read as such.
    """
    path = Path(path)
    name = name or path.stem
    arrays = load_arrays(path)
    if "node_labels" in arrays:
        return from_heterophilous(arrays, path, name)
    for key, what in (("edge_index", "the edges of shape (2, E)"), ("y", "a class a node, -1 where unknown,")):
        if key not in arrays:
            raise InputError(f"The file {path} has no array '{key}': save {what} under that name.")
    masks = {key: to_mask(array, f"mask '{key}' in {path}") for key, array in arrays.items() if key.endswith("_mask")}
    y = to_tensor(arrays["y"], f"labels in {path}")
    edges = to_tensor(arrays["edge_index"], f"edges in {path}")
    label = to_tensor(arrays["edge_label"], f"edge labels in {path}") if "edge_label" in arrays else None
    pairs = {key: to_tensor(arrays[key], f"pairs '{key}' in {path}") for key in PAIRS if key in arrays}
    return Graph(_features(arrays, path), edges, y, name, masks, label, pairs, _names(arrays, path))


def _names(arrays: dict[str, Array], path: Path) -> Names | None:
    if "names" not in arrays:
        return None
    try:
        return Names.from_json(arrays["names"].tobytes().decode())
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"The array 'names' in {path} cannot be read: remove it, or write the file again.") from error


def _features(arrays: dict[str, Array], path: Path) -> Features:
    if "x" in arrays:
        return to_tensor(arrays["x"], f"features in {path}")
    if any(key in arrays for key in _CSR):
        return _csr(arrays, path)
    stray = [key for key in arrays if key not in _OTHERS and not key.endswith("_mask")]
    if stray:  # more likely a misnamed feature matrix than a graph without features
        raise InputError(f"The file {path} has no features 'x' but an unknown array '{stray[0]}': rename or remove it.")
    return torch.zeros(len(np.atleast_1d(arrays["y"])), 0)


def _csr(arrays: dict[str, Array], path: Path) -> Sparse:
    missing = [key for key in _CSR if key not in arrays]
    if missing:
        raise InputError(f"The file {path} has CSR features without '{missing[0]}': save all of {', '.join(_CSR)}.")
    data, indices, indptr, shape = (arrays[key] for key in _CSR)
    what = f"features in {path}"
    if any(array.dtype.kind not in "iu" for array in (indices, indptr, shape)) or shape.shape != (2,):
        raise InputError(f"The {what} are not a valid CSR matrix: indices and shape must be integers.")
    to_tensor(data[:0], what)  # refuses what is not a number
    try:
        index = (indices.astype(np.int64), indptr.astype(np.int64))
        matrix = sp.csr_matrix((data.astype(np.float32), *index), shape=(int(shape[0]), int(shape[1])))
    except ValueError as error:
        raise InputError(f"The {what} are not a valid CSR matrix: {error}.") from error
    return to_sparse(matrix, what)


def to_mask(array: Array, what: str) -> torch.Tensor:
    """A boolean tensor from booleans, or from integers that are 0 or 1."""
    if array.dtype.kind not in "biu" or not np.isin(array, (0, 1)).all():
        raise InputError(f"The {what} does not hold booleans: save True for the nodes of the part.")
    return torch.from_numpy(array.astype(np.bool_))


def write_npz(graph: Graph, path: str | Path) -> None:
    """Write `graph` to `path`, small types where they lose nothing and each edge once.

    The file appears whole or not at all, and the same graph gives the same bytes.
    """
    edges = graph.edge_index.cpu().numpy()
    once = edges[0] < edges[1]
    arrays = {"edge_index": _small(edges[:, once]), "y": _small(graph.y.cpu().numpy(), signed=True)}
    if graph.edge_label is not None:
        arrays["edge_label"] = _small(graph.edge_label.cpu().numpy()[once], signed=True)
    arrays |= {key: _small(pair.cpu().numpy()) for key, pair in graph.pairs.items()}
    if isinstance(graph.x, Sparse):
        csr = graph.x.csr.cpu()
        data = csr.values().numpy()
        whole = data.size == 0 or bool((np.isin(data, np.arange(256))).all())
        arrays["x_data"] = data.astype(np.uint8) if whole else data
        arrays["x_indices"] = _small(csr.col_indices().numpy())
        arrays["x_indptr"] = _small(csr.crow_indices().numpy())
        arrays["x_shape"] = np.array(csr.shape, dtype=np.int64)
    else:
        arrays["x"] = graph.x.cpu().numpy()
    arrays |= {key: mask.cpu().numpy() for key, mask in graph.masks.items()}
    if graph.names is not None:
        arrays["names"] = np.frombuffer(graph.names.to_json().encode(), dtype=np.uint8)
    save_arrays(Path(path), arrays)


def _small(array: Array, *, signed: bool = False) -> Array:
    """Integers in the smallest of the common types that holds them."""
    types = (np.int16, np.int32) if signed else (np.uint16, np.int32)
    top = int(array.max(initial=0))
    return next((array.astype(kind) for kind in types if top <= np.iinfo(kind).max), array)
