from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bes.graph.graph import Graph
from bes.graph.readers import read_npz, write_npz
from bes.graph.sparse import Sparse

DENSE = np.array([[1, 0, 2], [0, 0, 3], [0, 4, 0]], dtype=np.uint8)
CSR = {
    "x_data": np.array([1, 2, 3, 4], dtype=np.uint8),
    "x_indices": np.array([0, 2, 2, 1], dtype=np.uint16),
    "x_indptr": np.array([0, 2, 3, 4], dtype=np.int32),
    "x_shape": np.array([3, 3]),
}
EDGES = np.array([[0, 1, 2, 1], [1, 0, 2, 2]], dtype=np.int32)
Y = np.array([0, 1, -1], dtype=np.int16)


@pytest.fixture
def save(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "toy.npz", **{key: value for key, value in arrays.items() if value is not None})
        return tmp_path / "toy.npz"

    return write


def test_dense_and_csr_are_the_same_graph(save):
    dense = read_npz(save(x=DENSE, edge_index=EDGES, y=Y))
    sparse = read_npz(save(**CSR, edge_index=EDGES, y=Y), "other")
    assert (dense.name, sparse.name) == ("toy", "other")
    assert isinstance(sparse.x, Sparse)
    assert torch.equal(dense.x, sparse.x.to_dense())
    assert dense.edge_index.tolist() == sparse.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert dense.y.tolist() == [0, 1, -1]


def test_unsorted_and_doubled_entries_of_a_row_are_put_right(save):
    mixed = CSR | {"x_indices": np.array([2, 0, 2, 1]), "x_data": np.array([2.0, 1.0, 3.0, 4.0])}
    plain = read_npz(save(**CSR, edge_index=EDGES, y=Y))
    assert read_npz(save(**mixed, edge_index=EDGES, y=Y)).content_hash == plain.content_hash


def test_masks_and_missing_features(save):
    masks = {"train_mask": np.array([1, 0, 0]), "geom_val_mask": np.ones((3, 10), dtype=bool)}
    graph = read_npz(save(edge_index=EDGES, y=Y, **masks))
    assert graph.n_features == 3
    assert graph.masks["train_mask"].tolist() == [True, False, False]
    assert graph.masks["geom_val_mask"].shape == (3, 10)


def test_edge_labels_follow_the_columns_and_pairs_are_read(save):
    pairs = {"val_edges": np.array([[0], [2]]), "test_negatives": np.zeros((2, 0), dtype=np.uint16)}
    graph = read_npz(save(edge_index=EDGES, y=Y, edge_label=np.array([-1, 3, 7, 0], dtype=np.int8), **pairs))
    assert graph.edge_label.tolist() == [3, 3, 0, 0]
    assert {key: pair.tolist() for key, pair in graph.pairs.items()} == {
        "val_edges": [[0], [2]],
        "test_negatives": [[], []],
    }
    assert graph.n_features == 3  # none of them is a stray feature matrix


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edge_index": None}, "no array 'edge_index'"),
        ({"y": None}, "no array 'y'"),
        ({"x": None, "features": DENSE}, "unknown array 'features'"),
        ({"x": None, "x_data": CSR["x_data"]}, "without 'x_indices'"),
        ({"x": DENSE.astype(str)}, "numbers are needed"),
        ({"x": np.full((3, 1), np.nan)}, "NaN"),
        ({"x": np.zeros((0, 3)), "y": Y[:0], "edge_index": EDGES[:, :0]}, "a row a node"),
        ({"x": DENSE[0]}, "a row a node"),
        ({"edge_index": EDGES.astype(float)}, "must be integers"),
        ({"edge_index": EDGES + 1}, "0..2"),
        ({"edge_index": EDGES.T}, "(2, E)"),
        ({"y": Y[:2]}, "one class a node"),
        ({"y": Y.astype(float)}, "integers"),
        ({"train_mask": np.array([0, 1, 2])}, "booleans"),
        ({"train_mask": np.array([True])}, "train_mask"),
        ({"edge_label": np.array([1, 2, 0, 0])}, "nodes 0 and 1"),
        ({"edge_label": np.zeros(3, dtype=int)}, "4 columns"),
        ({"edge_label": np.zeros(4)}, "edge labels"),
        ({"edge_label": np.array(["a"] * 4)}, "numbers are needed"),
        ({"val_edges": EDGES.T}, "'val_edges'"),
        ({"test_edges": EDGES + 1}, "'test_edges'"),
        ({"val_negatives": EDGES.astype(str)}, "'val_negatives'"),
        ({"x": None} | CSR | {"x_indices": np.array([0, 2, 9, 1])}, "not a valid CSR matrix"),
        ({"x": None} | CSR | {"x_indptr": np.array([0, 2, 4])}, "not a valid CSR matrix"),
        ({"x": None} | CSR | {"x_indptr": np.array([0, 4, 2, 4])}, "not a valid CSR matrix"),
        ({"x": None} | CSR | {"x_shape": np.array([3.0, 3.0])}, "not a valid CSR matrix"),
        ({"x": None} | CSR | {"x_data": np.array(["a", "b", "c", "d"])}, "numbers are needed"),
    ],
)
def test_bad_files_are_refused(save, change, words, refuses):
    path = save(**({"x": DENSE, "edge_index": EDGES, "y": Y} | change))
    with refuses("toy", words):
        read_npz(path)


def test_the_heterophilous_family_is_known_by_its_keys(save):
    graph = read_npz(save(node_features=DENSE, node_labels=Y, edges=EDGES.T))
    assert graph.n_edges == 2


@given(st.integers(1, 8), st.booleans(), st.booleans(), st.integers(0, 2**31))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_what_is_written_is_read_back(tmp_path, n, sparse, whole, seed):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randint(0, 3, (n, 4), generator=rng).float() / (1 if whole else 7)
    y = torch.randint(-1, 3, (n,), generator=rng)
    masks = {"train_mask": y > 0, "geom_test_mask": torch.stack([y == 0, y == 1], 1)}
    edges = torch.randint(0, n, (2, 9), generator=rng)
    label = edges.sum(0) % 4 - 1 if whole else None
    pairs = {"val_edges": edges[:, :3], "test_edges": edges[:, :0], "val_negatives": edges.flip(0)} if sparse else {}
    graph = Graph(Sparse.from_dense(x) if sparse else x, edges, y, "toy", masks, label, pairs)
    write_npz(graph, tmp_path / "toy.npz")
    back = read_npz(tmp_path / "toy.npz")
    assert back.content_hash == graph.content_hash
    assert all(torch.equal(back.masks[key], mask) for key, mask in masks.items())


def test_written_types_are_small(tmp_path):
    x, edges = Sparse.from_dense(torch.from_numpy(DENSE).float()), torch.from_numpy(EDGES)
    label = torch.tensor([2, -1, -1, 1])
    write_npz(Graph(x, edges, torch.from_numpy(Y), edge_label=label, pairs={"test_edges": edges}), tmp_path / "toy.npz")
    with np.load(tmp_path / "toy.npz") as file:
        types = {key: file[key].dtype for key in file.files}
        assert file["edge_index"].tolist() == [[0, 1], [1, 2]]
        assert file["edge_label"].tolist() == [2, 1]
        assert file["test_edges"].tolist() == EDGES.tolist()
    assert (types["x_data"], types["x_indices"], types["y"]) == (np.uint8, np.uint16, np.int16)
    assert (types["edge_label"], types["test_edges"]) == (np.int16, np.uint16)
