from __future__ import annotations

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


def test_counts():
    graph = Graph(X, torch.tensor([[0, 1, 0, 2], [1, 0, 1, 2]]), Y)
    assert (graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == (3, 1, 2, 2)
    assert Graph(X, EDGES, torch.full((3,), -1)).n_classes == 0


def test_small_types_become_the_one_type():
    graph = Graph(X.double(), EDGES.to(torch.int16), Y.to(torch.int8))
    assert (graph.x.dtype, graph.edge_index.dtype, graph.y.dtype) == (torch.float32, torch.int64, torch.int64)
    assert Graph(Sparse.from_dense(X.double()), EDGES, Y).x.dtype == torch.float32


def test_no_features_become_sparse_node_ids():
    graph = Graph(torch.zeros(3, 0), EDGES, Y)
    assert isinstance(graph.x, Sparse)
    assert torch.equal(graph.x.to_dense(), torch.eye(3))


def test_without_labels_hides_labels_and_masks_and_shares_the_operators():
    graph = Graph(X, EDGES, Y, masks={"train_mask": torch.tensor([True, False, False])})
    blind = graph.without_labels()
    assert blind.y.tolist() == [-1, -1, -1]
    assert blind.masks == {}
    assert blind.operators is graph.operators


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
    graph = Graph(Sparse.from_dense(X) if sparse else X, EDGES, Y, "toy", masks)
    data = graph.to_pyg()
    assert data.num_nodes == 3
    back = Graph.from_pyg(data, "toy")
    assert back.content_hash == graph.content_hash
    assert back.masks.keys() == masks.keys()
    assert all(torch.equal(back.masks[key], masks[key]) for key in masks)


def test_from_pyg_fills_in_what_is_unknown(refuses):
    from torch_geometric.data import Data

    graph = Graph.from_pyg(Data(edge_index=EDGES, num_nodes=4))
    assert (graph.n_nodes, graph.n_features, graph.y.tolist()) == (4, 4, [-1] * 4)
    with refuses("'graph'", "edge_index"):
        Graph.from_pyg(Data(x=X))
