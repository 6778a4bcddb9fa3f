"""Data sets from the network, through PyG's downloaders."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

from torch import Tensor

from bes.graph.datasets import DatasetInfo
from bes.graph.graph import Graph
from bes.graph.readers import read_ogb
from bes.graph.sparse import Sparse

_PATIENCE = 20.0  # seconds without an answer before the network counts as absent


def download(info: DatasetInfo) -> Graph:
    """The graph of `info` from the network; fails in whatever way PyG or the network does."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_PATIENCE)
    try:
        with tempfile.TemporaryDirectory() as folder:
            if info.pyg is None:
                raise LookupError("PyG does not have it")
            if isinstance(info.pyg, str):
                return _archive(info.pyg, folder, info.name)
            return _dataset(*info.pyg, folder, info.name)
    finally:
        socket.setdefaulttimeout(previous)


def _archive(url: str, folder: str, name: str) -> Graph:
    from torch_geometric.data import download_url, extract_zip

    extract_zip(download_url(url, folder), folder)
    return read_ogb(next(Path(folder).glob("*/raw")).parent, name)


def _dataset(kind: str, argument: str, folder: str, name: str) -> Graph:
    import torch_geometric.datasets

    data = getattr(torch_geometric.datasets, kind)(folder, *[argument] if argument else [])[0]
    if isinstance(data.x, Tensor) and (data.x != 0).float().mean() < 0.25:
        data.x = Sparse.from_dense(data.x).csr  # bags of words, kept as the other sources keep them
    return Graph.from_pyg(data, name)
