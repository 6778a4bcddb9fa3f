from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch

from bes.graph.readers import read_ogb

ARXIV = {
    "raw/num-node-list": "4\n",
    "raw/edge": "0,1\n1,0\n2,3\n3,3\n",
    "raw/node-feat": "0.5,-1\n1e-3,2\n0,0\n4,5\n",
    "raw/node-label": "3\n0\n1\n2\n",
    "split/time/train": "0\n3\n",
    "split/time/valid": "1\n",
    "split/time/test": "2\n",
}


def write(folder, files):
    for name, text in files.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))


def test_arxiv_layout(tmp_path):
    write(tmp_path, ARXIV)
    graph = read_ogb(tmp_path, "ogbn-arxiv")
    assert (graph.name, graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == ("ogbn-arxiv", 4, 2, 2, 4)
    assert graph.x[1].tolist() == pytest.approx([1e-3, 2])
    assert graph.y.tolist() == [3, 0, 1, 2]
    assert {key: mask.nonzero().flatten().tolist() for key, mask in graph.masks.items()} == {
        "train_mask": [0, 3],
        "val_mask": [1],
        "test_mask": [2],
    }


def test_collab_layout_has_no_labels_and_its_link_split_as_pairs(tmp_path):
    write(tmp_path, {key: text for key, text in ARXIV.items() if key.startswith("raw") and "label" not in key})
    graph = read_ogb(tmp_path)
    assert graph.y.tolist() == [-1] * 4
    assert (graph.masks, graph.pairs) == ({}, {})
    (tmp_path / "split" / "time").mkdir(parents=True)
    for part in ("train", "valid", "test"):
        edges = {"edge": np.array([[0, 1], [3, 2]]), "edge_neg": np.array([[1, 3]])}
        torch.save(edges, tmp_path / "split" / "time" / f"{part}.pt")
    graph = read_ogb(tmp_path)
    assert graph.n_edges == 2
    assert list(graph.pairs) == ["val_edges", "test_edges", "val_negatives", "test_negatives"]
    assert graph.pairs["test_edges"].tolist() == [[0, 3], [1, 2]]
    assert graph.pairs["val_negatives"].tolist() == [[1], [3]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"raw/num-node-list": "5\n"}, "5 nodes but features of 4"),
        ({"raw/edge": "0,9\n"}, "0..3"),
        ({"raw/edge": "0,x\n"}, "edge.csv.gz"),
        ({"raw/edge": "0,1\n2\n"}, "edge.csv.gz"),
        ({"raw/node-label": "0\n"}, "one class a node"),
        ({"raw/node-feat": "0\nnan\n0\n0\n"}, "NaN"),
        ({"split/time/train": "7\n"}, "train.csv.gz"),
    ],
)
def test_bad_files_are_refused(tmp_path, change, words, refuses):
    write(tmp_path, ARXIV | change)
    with refuses(words):
        read_ogb(tmp_path)


def test_missing_and_damaged_files_are_refused(tmp_path, refuses):
    with refuses("num-node-list.csv.gz", "does not exist"):
        read_ogb(tmp_path)
    write(tmp_path, ARXIV)
    path = tmp_path / "raw" / "node-feat.csv.gz"
    for raw in (path.read_bytes()[:-9], b"plain text"):
        path.write_bytes(raw)
        with refuses("node-feat.csv.gz", "damaged"):
            read_ogb(tmp_path)
