"""OGB's raw format (Hu et al. 2020), ogbn-arxiv and ogbl-collab, without the ogb package."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.arrays import Array
from bes.graph.graph import Graph
from bes.graph.readers.ogb_links import read_link_split


def read_ogb(folder: str | Path, name: str | None = None) -> Graph:
    """The graph from `raw/{num-node-list,edge,node-feat,node-label}.csv.gz` in `folder`.

    A folder without `node-label.csv.gz` (ogbl-collab) gives a graph without labels.
    `split/*/{train,valid,test}.csv.gz`, lists of nodes, give the masks, and `.pt` files there, of links, the pairs.
    """
    folder = Path(folder)
    raw = folder / "raw"
    n = int(_csv(raw / "num-node-list.csv.gz", np.int64).sum())
    x = _csv(raw / "node-feat.csv.gz", np.float32)
    edges = _csv(raw / "edge.csv.gz", np.int64).reshape(-1, 2).T
    if len(x) != n:
        raise InputError(f"The files in {raw} name {n} nodes but features of {len(x)}: use the published files.")
    y = np.full(n, -1)
    if (raw / "node-label.csv.gz").exists():
        y = _csv(raw / "node-label.csv.gz", np.int64).reshape(-1)
    graph = Graph(
        torch.from_numpy(x), torch.from_numpy(edges.copy()), torch.from_numpy(y), name or folder.name, _masks(folder, n)
    )
    return replace(graph, pairs=read_link_split(folder, graph.edge_index, n))


def _masks(folder: Path, n: int) -> dict[str, Tensor]:
    masks = {}
    for path in sorted(folder.glob("split/*/*.csv.gz")):
        part = path.name.removesuffix(".csv.gz").replace("valid", "val")
        nodes = _csv(path, np.int64).reshape(-1)
        if nodes.size and not 0 <= nodes.min() <= nodes.max() < n:
            raise InputError(f"The file {path} names nodes outside 0..{n - 1}: use the published file.")
        masks[f"{part}_mask"] = torch.zeros(n, dtype=torch.bool).index_fill_(0, torch.from_numpy(nodes), True)
    return masks


def _csv(path: Path, dtype: type[Any]) -> Array:
    """The numbers in a headless, gzipped csv as a matrix."""
    try:
        return np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2)
    except FileNotFoundError as error:
        raise InputError(f"The file {path} does not exist: put the published files of the data set there.") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"The file {path} is damaged or not a gzipped csv of numbers: get it again.") from error
