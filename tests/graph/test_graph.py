from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.errors import InputError
from bes.graph.graph import Graph, undirected
from bes.graph.sparse import Sparse

X = torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
EDGES = torch.tensor([[0, 1], [1, 2]])
Y = torch.tensor([0, 1, -1])
PAIRS = {"val_edges": torch.tensor([[0], [2]]), "test_negatives": torch.zeros(2, 0, dtype=torch.int64)}


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    n = draw(st.integers(1, 12))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node), max_size=40))


def as_tensor(edges: list[tuple[int, int]]) -> torch.Tensor:
    return torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T


@given(edge_lists())
def test_undirected_is_the_set_of_both_directions(case):
    n, edges = case
    expected = set()
    for a, b in edges:
        if a != b:
            expected |= {(a, b), (b, a)}
    assert undirected(as_tensor(edges), n).T.tolist() == [list(pair) for pair in sorted(expected)]


@given(edge_lists(), st.randoms())
def test_hash_does_not_depend_on_how_edges_are_stored(case, random):
    n, edges = case
    other = [pair if random.random() < 0.5 else pair[::-1] for pair in edges + edges[:3]]
    random.shuffle(other)
    first, second = (Graph(torch.eye(n), as_tensor(e), torch.zeros(n, dtype=torch.int64)) for e in (edges, other))
    assert first.content_hash == second.content_hash


def test_hash_depends_on_features_edges_and_labels():
    graphs = [
        Graph(X, EDGES, Y),
        Graph(X + 1, EDGES, Y),
        Graph(X, EDGES[:, :1], Y),
        Graph(X, EDGES, Y.clamp(min=0)),
        Graph(X[:, :1], EDGES, Y),
    ]
    narrow = Graph(Sparse.from_dense(torch.eye(3)), EDGES[:, :0], torch.zeros(3, dtype=torch.long))
    wide = Graph(Sparse.from_dense(torch.eye(3, 9)), EDGES[:, :0], torch.zeros(3, dtype=torch.long))
    assert narrow.content_hash != wide.content_hash
    assert len({graph.content_hash for graph in graphs}) == len(graphs)
    assert Graph(X, EDGES, Y, "other name").content_hash == graphs[0].content_hash
    assert graphs[0].to("cpu").content_hash == graphs[0].content_hash


def test_hash_depends_on_edge_labels_and_pairs_where_there_are_any():
    plain = Graph(X, EDGES, Y)
    other = {"test_edges": PAIRS["val_edges"], "test_negatives": PAIRS["test_negatives"]}
    graphs = [plain] + [replace(plain, edge_label=torch.tensor(label)) for label in ([-1] * 4, [0] * 4, [0, 0, 1, 1])]
    graphs += [replace(plain, pairs=pairs) for pairs in (PAIRS, other, {"val_edges": PAIRS["val_edges"]})]
    assert len({graph.content_hash for graph in graphs}) == len(graphs)
    assert replace(plain, pairs=dict(reversed(PAIRS.items()))).content_hash == graphs[4].content_hash


def test_hash_of_a_graph_without_edge_labels_and_pairs_is_what_it_was():
    # recorded before a graph had either: run ids stand on it
    expected = "0f2c6dc443410259866c15428d7340bfe6deef3da1023950c140831123f69581"
    assert Graph(X, EDGES, Y).content_hash == expected


def test_counts():
    graph = Graph(X, torch.tensor([[0, 1, 0, 2], [1, 0, 1, 2]]), Y)
    assert (graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == (3, 1, 2, 2)
    assert Graph(X, EDGES, torch.full((3,), -1)).n_classes == 0
    assert [Graph(X, EDGES, Y, edge_label=label).n_edge_classes for label in (None, Y[:2], Y[2:].repeat(2))] == [
        0,
        2,
        0,
    ]
    assert Graph(X, EDGES[:, :0], Y, edge_label=Y[:0]).n_edge_classes == 0


def test_small_types_become_the_one_type():
    graph = Graph(X.double(), EDGES.to(torch.int16), Y.to(torch.int8))
    assert (graph.x.dtype, graph.edge_index.dtype, graph.y.dtype) == (torch.float32, torch.int64, torch.int64)
    assert Graph(Sparse.from_dense(X.double()), EDGES, Y).x.dtype == torch.float32


def test_no_features_become_sparse_node_ids():
    graph = Graph(torch.zeros(3, 0), EDGES, Y)
    assert isinstance(graph.x, Sparse)
    assert torch.equal(graph.x.to_dense(), torch.eye(3))


def test_without_labels_hides_labels_masks_and_pairs_and_shares_the_operators():
    graph = Graph(X, EDGES, Y, "toy", {"train_mask": torch.tensor([True, False, False])}, Y[:2], PAIRS)
    blind = graph.without_labels()
    assert blind.y.tolist() == [-1, -1, -1]
    assert (blind.masks, blind.edge_label, blind.pairs) == ({}, None, {})
    assert blind.operators is graph.operators


def test_only_propagation_is_weighted():
    graph = Graph(X, EDGES, Y)
    weight = torch.tensor([0.5, 0.5, 2.0, 2.0])
    found = graph.weighted(weight)
    assert torch.equal(found.operators.weight, weight)
    assert graph.operators.weight is None
    assert torch.equal(found.edge_index, graph.edge_index)
    assert found.content_hash == graph.content_hash
    assert torch.equal(found.without_labels().operators.weight, weight)


@given(edge_lists(), st.integers(-3, 20), st.integers(-3, 20))
def test_edges_outside_the_graph_are_refused_and_others_kept(case, a, b):
    n, edges = case
    parts = (torch.eye(n), as_tensor([*edges, (a, b)]), torch.zeros(n, dtype=torch.int64))
    if 0 <= a < n and 0 <= b < n:
        kept = Graph(*parts).edge_index.T.tolist()
        assert ([a, b] in kept) == ([b, a] in kept) == (a != b)
    else:
        with pytest.raises(InputError, match=r"indices must lie in 0\.\."):
            Graph(*parts)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("x", torch.zeros(0, 2), "a row a node"),
        ("x", torch.zeros(3), "a row a node"),
        ("x", X * float("nan"), "NaN or infinite"),
        ("x", X.double() * 1e300, "NaN or infinite"),
        ("x", Sparse.from_dense(X / 0.0 + 1), "NaN or infinite"),
        ("edge_index", EDGES.float(), "must be integers"),
        ("edge_index", EDGES.bool(), "must be integers"),
        ("edge_index", EDGES[0], "shape (2, E)"),
        ("edge_index", torch.zeros(3, 2, dtype=torch.int64), "shape (2, E)"),
        ("edge_index", EDGES + 1, "0..2"),
        ("edge_index", EDGES - 1, "0..2"),
        ("y", Y[:2], "one class a node"),
        ("y", Y[:, None], "one class a node"),
        ("y", Y.float(), "number the classes"),
        ("y", Y - 1, "number the classes"),
        ("masks", {"train_mask": torch.zeros(2, dtype=torch.bool)}, "train_mask"),
        ("masks", {"train_mask": torch.zeros(3, 0, dtype=torch.bool)}, "train_mask"),
        ("masks", {"train_mask": torch.zeros(3)}, "booleans"),
        ("edge_label", Y, "2 columns"),
        ("edge_label", Y[:2, None], "one class a column"),
        ("edge_label", X[:2, 0], "number the classes"),
        ("edge_label", Y[:2] - 2, "number the classes"),
        ("pairs", {"train_edges": EDGES}, "'train_edges'"),
        ("pairs", {"val_edges": EDGES.float()}, "'val_edges'"),
        ("pairs", {"val_edges": EDGES[:1]}, "shape (2, E)"),
        ("pairs", {"val_edges": EDGES + 1}, "0..2"),
        ("pairs", {"test_negatives": EDGES - 1}, "'test_negatives'"),
    ],
)
def test_bad_parts_are_refused(part, value, words, refuses):
    with refuses("'toy'", words):
        Graph(**{"x": X, "edge_index": EDGES, "y": Y, "name": "toy", part: value})


@given(st.lists(st.floats(width=32), min_size=1, max_size=6))
def test_only_finite_features_pass(values):
    x = torch.tensor(values)[:, None]
    y = torch.zeros(len(values), dtype=torch.int64)
    if np.isfinite(values).all():
        assert torch.equal(Graph(x, EDGES[:, :0], y).x, x)
    else:
        with pytest.raises(InputError, match="NaN or infinite"):
            Graph(x, EDGES[:, :0], y)


@pytest.mark.parametrize("sparse", [False, True])
def test_pyg_round_trip(sparse):
    masks = {"train_mask": torch.tensor([True, False, False]), "geom_test_mask": torch.ones(3, 2, dtype=torch.bool)}
    graph = Graph(Sparse.from_dense(X) if sparse else X, EDGES, Y, "toy", masks, torch.tensor([2, -1]), PAIRS)
    data = graph.to_pyg()
    assert data.num_nodes == 3
    back = Graph.from_pyg(data, "toy")
    assert back.content_hash == graph.content_hash
    assert back.masks.keys() == masks.keys()
    assert all(torch.equal(back.masks[key], masks[key]) for key in masks)


def test_from_pyg_takes_edge_labels_that_are_of_the_edges():
    from torch_geometric.data import Data

    label = torch.tensor([1, 0])
    assert Graph.from_pyg(Data(x=X, edge_index=EDGES, edge_label=label)).edge_label.tolist() == [1, 1, 0, 0]
    assert Graph.from_pyg(Data(x=X, edge_index=EDGES, edge_label=Y)).edge_label is None
    assert Graph.from_pyg(Data(x=X, edge_index=EDGES, edge_label=label, edge_label_index=EDGES)).edge_label is None


def test_other_devices_get_every_part():
    graph = Graph(X, EDGES, Y, edge_label=Y[:2], pairs=PAIRS)
    moved = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bes.graph.graph.replace", lambda _, **parts: moved.update(parts))
        graph.to("meta")
    assert moved["edge_label"].device.type == "meta"
    assert {key: pair.device.type for key, pair in moved["pairs"].items()} == dict.fromkeys(PAIRS, "meta")


def test_other_devices_get_the_weights_of_edges():
    graph = Graph(X, EDGES, Y).weighted(torch.tensor([0.5, 0.5, 2.0, 2.0]))
    plain = Graph(X, EDGES, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bes.graph.graph.replace", lambda *_, **__: plain)  # checks cannot read what has no values
        moved = graph.to("meta")
    assert moved.operators.weight.device.type == "meta"


def test_from_pyg_fills_in_what_is_unknown(refuses):
    from torch_geometric.data import Data

    graph = Graph.from_pyg(Data(edge_index=EDGES, num_nodes=4))
    assert (graph.n_nodes, graph.n_features, graph.y.tolist()) == (4, 4, [-1] * 4)
    with refuses("'graph'", "edge_index"):
        Graph.from_pyg(Data(x=X))
