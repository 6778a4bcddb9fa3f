from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import bes
from bes.graph import catalog
from bes.graph.datasets import CATALOG
from bes.graph.graph import Graph
from bes.graph.readers import write_npz
from bes.graph.splits import make_split

NODES = "node_id\tfeature\tlabel\n0\t1,0\t0\n1\t0,1\t1\n2\t1,1\t1\n"
EDGES = "node_id\tnode_id\n0\t1\n1\t2\n"


@pytest.fixture
def texas(monkeypatch) -> Graph:
    """A graph of three nodes, and a catalogue that expects it under the name texas."""
    small = replace(CATALOG["texas"], nodes=3, edges=2, features=2, classes=2)
    monkeypatch.setitem(CATALOG, "texas", small)
    x, y = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([0, 1, 1])
    return Graph(x, torch.tensor([[0, 1], [1, 2]]), y, "texas")


def publish(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "out1_node_feature_label.txt").write_text(NODES)
    (folder / "out1_graph_edges.txt").write_text(EDGES)
    return folder


@pytest.mark.usefixtures("data_root")
def test_embedded_citeseer():
    graph = catalog.load("citeseer")
    assert (graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == (3327, 4552, 3703, 6)
    assert [int(graph.masks[f"{part}_mask"].sum()) for part in ("train", "val", "test")] == [120, 500, 1000]
    assert int((graph.operators.degree == 0).sum()) == 48
    row, col = graph.edge_index
    assert float((graph.y[row] == graph.y[col]).float().mean()) == pytest.approx(0.736, abs=5e-4)
    folder = Path(bes.__file__).parent / "data"
    assert catalog.verify("citeseer").sha256 in (folder / "PROVENANCE.md").read_text()


@pytest.mark.usefixtures("data_root")
def test_generated_graphs_follow_the_seed():
    assert catalog.load("digits").n_nodes == 1797
    assert catalog.load("sbm", seed=1).content_hash == catalog.load("sbm", seed=1).content_hash
    assert catalog.load("sbm", seed=1).content_hash != catalog.load("sbm", seed=2).content_hash


def test_paths_are_read_without_the_catalogue(tmp_path, texas, refuses):
    write_npz(texas, tmp_path / "my_graph.npz")
    for path in (tmp_path / "my_graph.npz", str(tmp_path / "my_graph.npz")):
        assert catalog.load(path).name == "my_graph"
    with refuses("none.npz", "does not exist"):
        catalog.load(tmp_path / "none.npz")


def test_names_are_looked_for_in_order(data_root, tmp_path, texas, monkeypatch):
    monkeypatch.setattr(catalog, "download", lambda _: texas)
    assert catalog.load("texas").n_nodes == 3
    cached = tmp_path / "cache" / "bes" / "texas.npz"
    assert catalog.find(CATALOG["texas"]) == cached  # what was downloaded is kept
    publish(data_root / "texas")
    assert catalog.find(CATALOG["texas"]) == data_root / "texas"
    assert catalog.load("texas").x.to_dense().tolist() == texas.x.tolist()
    write_npz(texas, data_root / "texas.npz")
    assert catalog.find(CATALOG["texas"]) == data_root / "texas.npz"
    monkeypatch.delenv("BES_DATA")
    assert catalog.find(CATALOG["texas"]) == cached
    assert catalog.data_root() == cached.parent


def test_masks_of_geom_gcn_graphs_answer_to_geom(data_root, texas):
    masks = {
        f"{part}_mask": torch.eye(3, dtype=torch.bool).roll(i, 0) for i, part in enumerate(("train", "val", "test"))
    }
    write_npz(replace(texas, masks=masks), data_root / "texas.npz")
    graph = catalog.load("texas")
    assert make_split(graph, "geom:1").train.tolist() == make_split(graph, "mask:1").train.tolist() == [1]


def test_folders_may_be_called_as_ogb_calls_them(data_root):
    (data_root / "ogbn_arxiv").mkdir()
    assert catalog.find(CATALOG["ogbn-arxiv"]) == data_root / "ogbn_arxiv"


@pytest.mark.parametrize(
    "name", ["wikics", "roman_empire", "cora", "ogbn-arxiv", "ogbl-collab", "cornell", "twitch_es", "amazon_photo"]
)
def test_missing_data_sets_say_what_to_put_where(data_root, name, refuses):
    with refuses(f"'{name}'", "no network", f"put {name}.npz", str(data_root), *CATALOG[name].files()):
        catalog.load(name)


def test_published_folders_without_their_files_say_so(data_root, refuses):
    for name in ("wikics", "cora", "texas", "ogbn-arxiv", "minesweeper"):
        (data_root / name).mkdir()
        with refuses(str(data_root / name)):
            catalog.load(name)


def test_wrong_counts_are_refused(data_root, texas, refuses):
    write_npz(texas, data_root / "cornell.npz")
    with refuses("'cornell'", "3 nodes", "183 are expected"):
        catalog.load("cornell")


def test_bes_data_must_be_a_folder(monkeypatch, tmp_path, refuses):
    monkeypatch.setenv("BES_DATA", str(tmp_path / "none"))
    with refuses("BES_DATA", "not a folder"):
        catalog.load("cora")


def test_available_says_where(data_root, texas):
    write_npz(texas, data_root / "texas.npz")
    rows = {info.name: where for info, where in catalog.available()}
    assert list(rows) == list(CATALOG)
    assert rows["texas"] == str(data_root / "texas.npz")
    assert (rows["sbm"], rows["wikics"]) == ("generated", "")
    assert rows["citeseer"].endswith("citeseer.npz")


def test_verify_compares_digests_where_they_are_listed(data_root, texas, refuses):
    path = data_root / "texas.npz"
    write_npz(texas, path)
    assert catalog.verify("texas").sha256 is None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (data_root / "SHA256SUMS").write_text(f"{'0' * 64}  other.npz\n{digest}  texas.npz\n")
    assert catalog.verify("texas").sha256 == digest
    (data_root / "SHA256SUMS").write_text(f"{'0' * 64}  texas.npz\n")
    with refuses("texas.npz", digest, "0000"):
        catalog.verify("texas")
    assert catalog.verify("digits").where == "generated"
    with refuses("'wikics'", "has not been added", "data.json"):
        catalog.verify("wikics")


def test_add_writes_the_published_files_once(data_root, tmp_path, texas, refuses):
    source = publish(tmp_path / "download")
    target = catalog.add("texas", source)
    assert target == data_root / "texas.npz"
    assert catalog.load("texas").edge_index.tolist() == texas.edge_index.tolist()
    with refuses("texas.npz", "exists already"):
        catalog.add("texas", source)
    assert sorted(path.name for path in data_root.iterdir()) == ["texas.npz"]


def test_add_keeps_the_link_split(data_root, tmp_path, monkeypatch):
    monkeypatch.setitem(CATALOG, "ogbl-collab", replace(CATALOG["ogbl-collab"], nodes=3, features=1))
    raw, split = tmp_path / "collab" / "raw", tmp_path / "collab" / "split" / "time"
    raw.mkdir(parents=True)
    split.mkdir(parents=True)
    for name, text in {"num-node-list": "3\n", "edge": "0,1\n1,0\n", "node-feat": "1\n2\n3\n"}.items():
        (raw / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    for part, edge in (("train", [[0, 1]]), ("valid", [[1, 0], [1, 2]]), ("test", [[2, 0]])):
        torch.save({"edge": np.array(edge), "edge_neg": np.array([[0, 2]])}, split / f"{part}.pt")
    assert catalog.add("ogbl-collab", tmp_path / "collab") == data_root / "ogbl-collab.npz"
    graph = catalog.load("ogbl-collab")
    assert graph.edge_index.tolist() == [[0, 1], [1, 0]]
    assert {key: pair.T.tolist() for key, pair in graph.pairs.items()} == {
        "val_edges": [[1, 0], [1, 2]],
        "test_edges": [[2, 0]],
        "val_negatives": [[0, 2]],
        "test_negatives": [[0, 2]],
    }


def test_add_refuses_what_it_cannot_use(data_root, tmp_path, refuses):
    source = publish(tmp_path / "download")
    with refuses("'cornell'", "3 nodes"):
        catalog.add("cornell", source)
    with refuses("'sbm'", "generated"):
        catalog.add("sbm", source)
    with refuses("nowhere", "does not exist", "data.json"):
        catalog.add("wikics", tmp_path / "nowhere")
    with refuses("minesweeper.npz"):
        catalog.add("minesweeper", source)
    np.savez(source / "minesweeper.npz", node_labels=np.zeros(3))
    with refuses("minesweeper.npz", "'node_features'"):
        catalog.add("minesweeper", source)
    assert list(data_root.iterdir()) == []
