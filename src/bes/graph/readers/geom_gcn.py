"""Geom-GCN's format (Pei et al. 2020): chameleon, cornell, texas, wisconsin and actor as text files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.arrays import Array, load_arrays
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse

_SPLIT = re.compile(r"(.+)_split_0\.6_0\.2_(\d+)\.npz")


def read_geom_gcn(folder: str | Path, name: str | None = None) -> Graph:
    """The graph from `out1_node_feature_label.txt` and `out1_graph_edges.txt` in `folder`.

    Each node's feature column is its vector. Where the columns differ in length (actor), it is the
    list of its non-zero positions instead. `*_split_0.6_0.2_K.npz` beside them give the masks.
    """
    folder = Path(folder)
    path = folder / "out1_node_feature_label.txt"
    rows = _table(path, 3)
    try:
        node, y = np.array([(row[0], row[2]) for row in rows], dtype=np.int64).reshape(-1, 2).T
        values = [np.array(row[1].split(",") if row[1] else [], dtype=np.float32) for row in rows]
    except ValueError as error:
        raise InputError(f"The file {path} holds something that is not a number: use the published file.") from error
    if not np.array_equal(np.sort(node), np.arange(len(node))):
        raise InputError(f"The file {path} does not number its nodes 0, 1, 2, ...: use the published file.")
    order = np.argsort(node)
    x = Sparse.from_dense(torch.from_numpy(_matrix([values[i] for i in order], path)))  # bags of words
    edges = _edges(folder / "out1_graph_edges.txt")
    return Graph(x, edges, torch.from_numpy(y[order]), name or folder.name, geom_masks(folder, len(node)))


def geom_masks(folder: Path, n_nodes: int, prefix: str = "") -> dict[str, Tensor]:
    """The masks `[N, K]` of the files `*_split_0.6_0.2_K.npz` in `folder`; none where there is no such file."""
    found = sorted((int(match[2]), path) for path in folder.glob("*.npz") if (match := _SPLIT.fullmatch(path.name)))
    if [number for number, _ in found] != list(range(len(found))):
        raise InputError(f"The split files in {folder} are not numbered 0, 1, 2, ...: keep those of one data set.")
    columns: dict[str, list[Array]] = {f"{prefix}{part}_mask": [] for part in ("train", "val", "test")}
    for _, path in found:
        arrays = load_arrays(path)
        for key, column in columns.items():
            mask = arrays.get(key.removeprefix(prefix))
            if mask is None or mask.shape != (n_nodes,):
                raise InputError(
                    f"The file {path} has no mask of {n_nodes} nodes for each part: use the published file."
                )
            column.append(mask.astype(bool))
    return {key: torch.from_numpy(np.stack(column, 1)) for key, column in columns.items()} if found else {}


def _table(path: Path, width: int) -> list[list[str]]:
    """The rows of a tab-separated file below its header."""
    try:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:] if line]
    except (OSError, ValueError) as error:
        raise InputError(f"The file {path} is missing or not text: put the published file there.") from error
    if any(len(row) != width for row in rows):
        raise InputError(f"The file {path} has a row without {width} columns: use the published file.")
    return rows


def _edges(path: Path) -> Tensor:
    try:
        pairs = np.array(_table(path, 2), dtype=np.int64).reshape(-1, 2)
    except ValueError as error:
        raise InputError(f"The file {path} holds something that is not a number: use the published file.") from error
    return torch.from_numpy(pairs.T.copy())


def _matrix(values: list[Array], path: Path) -> Array:
    if len({len(value) for value in values}) <= 1:
        return np.stack(values) if values else np.zeros((0, 0), dtype=np.float32)
    width = int(max(value.max(initial=0) for value in values)) + 1
    x = np.zeros((len(values), width), dtype=np.float32)
    for row, value in zip(x, values, strict=True):
        if not (np.mod(value, 1) == 0).all() or value.min(initial=0) < 0:
            raise InputError(f"The file {path} has feature columns of unequal length: use the published file.")
        row[value.astype(np.int64)] = 1
    return x
