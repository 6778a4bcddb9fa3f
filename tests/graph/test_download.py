from __future__ import annotations

import gzip
import socket
import zipfile

import pytest
import torch
from torch_geometric.data import Data

from bes.graph.datasets import CATALOG
from bes.graph.download import download
from bes.graph.sparse import Sparse


def test_pyg_data_sets_become_graphs(monkeypatch):
    seen = []

    def webkb(_, name):
        seen.append((name, socket.getdefaulttimeout()))
        x = torch.zeros(3, 9)
        x[0, 4] = 1
        return [Data(x=x, edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1, 1]), num_nodes=3)]

    monkeypatch.setattr("torch_geometric.datasets.WebKB", webkb)
    before = socket.getdefaulttimeout()
    graph = download(CATALOG["texas"])
    assert (graph.name, graph.n_nodes, graph.n_edges) == ("texas", 3, 1)
    assert isinstance(graph.x, Sparse)
    assert seen[0][0] == "Texas"
    assert seen[0][1] > 0
    assert socket.getdefaulttimeout() == before


def test_ogb_archives_are_unpacked_and_read(monkeypatch):
    def fake(url, folder):
        assert url.endswith("arxiv.zip")
        files = {"num-node-list": "2\n", "edge": "0,1\n", "node-feat": "1\n2\n", "node-label": "0\n1\n"}
        with zipfile.ZipFile(f"{folder}/arxiv.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"arxiv/raw/{name}.csv.gz", gzip.compress(text.encode()))
        return f"{folder}/arxiv.zip"

    monkeypatch.setattr("torch_geometric.data.download_url", fake)
    graph = download(CATALOG["ogbn-arxiv"])
    assert (graph.name, graph.y.tolist()) == ("ogbn-arxiv", [0, 1])


def test_what_pyg_lacks_is_not_tried():
    with pytest.raises(LookupError):
        download(CATALOG["twitch_es"])


def test_every_row_names_a_class_that_pyg_has():
    import torch_geometric.datasets

    names = {info.pyg[0] for info in CATALOG.values() if isinstance(info.pyg, tuple)}
    assert all(hasattr(torch_geometric.datasets, name) for name in names)
