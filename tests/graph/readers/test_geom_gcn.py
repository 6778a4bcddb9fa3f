from __future__ import annotations

import numpy as np
import pytest

from bes.graph.readers import read_geom_gcn

NODES = "node_id\tfeature\tlabel\n1\t0,1,1\t2\n0\t1,0,0\t0\n2\t0,0,0\t1\n"
EDGES = "node_id\tnode_id\n0\t1\n1\t0\n2\t2\n1\t2\n"


def write(folder, nodes=NODES, edges=EDGES, splits=2, n=3):
    (folder / "out1_node_feature_label.txt").write_text(nodes)
    (folder / "out1_graph_edges.txt").write_text(edges)
    for k in range(splits):
        masks = {f"{part}_mask": (np.arange(n) + k) % 3 == i for i, part in enumerate(("train", "val", "test"))}
        np.savez(folder / f"toy_split_0.6_0.2_{k}.npz", **masks)


def test_published_files(tmp_path):
    write(tmp_path)
    graph = read_geom_gcn(tmp_path, "toy")
    assert graph.x.to_dense().tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert graph.y.tolist() == [0, 2, 1]
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert graph.masks["train_mask"].tolist() == [[True, False], [False, False], [False, True]]
    assert read_geom_gcn(tmp_path).name == tmp_path.name


def test_columns_of_unequal_length_are_positions(tmp_path):
    write(tmp_path, "node_id\tfeature\tlabel\n0\t4\t0\n1\t0,2\t1\n2\t\t1\n", splits=0)
    graph = read_geom_gcn(tmp_path)
    assert graph.x.to_dense().tolist() == [[0, 0, 0, 0, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
    assert graph.masks == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": NODES.replace("0,1,1", "0,one,1")}, "not a number"),
        ({"nodes": NODES.replace("0,1,1", "0.5,1")}, "unequal length"),
        ({"nodes": NODES + "7\t0,0,0\t1\n"}, "0, 1, 2"),
        ({"nodes": NODES + "3\t0,0,0\n"}, "3 columns"),
        ({"nodes": "node_id\tfeature\tlabel\n", "splits": 0}, "row a node"),
        ({"edges": EDGES + "0\tx\n"}, "not a number"),
        ({"edges": EDGES + "0\t9\n"}, "0..2"),
        ({"n": 4}, "mask of 3 nodes"),
    ],
)
def test_bad_files_are_refused(tmp_path, change, words, refuses):
    write(tmp_path, **change)
    with refuses(words):
        read_geom_gcn(tmp_path)


def test_missing_files_are_refused(tmp_path, refuses):
    with refuses("out1_node_feature_label.txt", "missing"):
        read_geom_gcn(tmp_path)
    write(tmp_path, splits=3)
    (tmp_path / "toy_split_0.6_0.2_1.npz").unlink()
    with refuses("split files", "numbered"):
        read_geom_gcn(tmp_path)
