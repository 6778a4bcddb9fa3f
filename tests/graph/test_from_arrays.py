from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from bes.core.neighbors import squared_distances
from bes.graph.custom import from_embeddings, from_pyg, from_scipy
from bes.graph.sparse import Sparse

PATH = sp.csr_matrix(np.array([[0, 2, 0], [0, 0, 1], [0, 1, 0]]))


def data(**parts: torch.Tensor):
    from torch_geometric.data import Data

    return Data(edge_index=torch.tensor([[0], [1]]), **parts)


def test_pyg_with_names(refuses):
    given = data(x=torch.eye(2), y=torch.tensor([1, 0]), train_mask=torch.tensor([True, False]))
    graph = from_pyg(given, ids=["a", 5], classes=["no", "yes"], name="x")
    assert (graph.name, graph.ids, graph.class_names) == ("x", ("a", "5"), ("no", "yes"))
    assert graph.masks["train_mask"].tolist() == [True, False]
    plain = from_pyg(given)
    assert (plain.name, plain.ids, plain.class_names) == ("graph", ("0", "1"), ("0", "1"))
    assert plain.content_hash == graph.content_hash
    with refuses("2 nodes but 1 ids"):
        from_pyg(given, ids=["a"])
    with refuses("'a' twice"):
        from_pyg(given, ids=["a", "a"])
    with refuses("2 classes but 1 names"):
        from_pyg(given, classes=["no"])
    with refuses("list", "PyG Data"):
        from_pyg([])


def test_adjacency_features_and_labels():
    features = np.array([[1.0, 2], [3, 4], [5, 6]])
    graph = from_scipy(PATH, features, ["red", "", "blue"], ids=["a", "b", "c"], name="x")
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.x.tolist() == features.tolist()
    assert (graph.y.tolist(), graph.class_names, graph.ids) == ([1, -1, 0], ("blue", "red"), ("a", "b", "c"))
    assert "weights" in graph.names.notes[0]
    plain = from_scipy(sp.coo_array(PATH), sp.csc_matrix(features > 4))
    assert isinstance(plain.x, Sparse)
    assert plain.x.to_dense().tolist() == [[0, 0], [0, 0], [1, 1]]
    assert (plain.y.tolist(), plain.ids) == ([-1] * 3, ("0", "1", "2"))
    assert from_scipy(sp.eye(2, format="csr")).n_edges == 0
    assert from_scipy(sp.eye(2, format="csr")).x.to_dense().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("labels", "y", "classes"),
    [
        (np.array([2, -1, 0]), [1, -1, 0], ("0", "2")),
        (torch.tensor([1, 0, -1]), [1, 0, -1], ("0", "1")),
        ([1.0, float("nan"), 0.0], [1, -1, 0], ("0", "1")),
        (["10", None, "9"], [1, -1, 0], ("9", "10")),
        (np.array(["b", "a", ""]), [1, 0, -1], ("a", "b")),
        (np.array([b"b", b"a", b""]), [1, 0, -1], ("a", "b")),
        (["-1", "0", "1"], [-1, 0, 1], ("0", "1")),
        (np.array(["a", "b", -1]), [0, 1, -1], ("a", "b")),
        (["a", "b", -1.0], [0, 1, -1], ("a", "b")),
        (["0", "NA", "1"], [0, -1, 1], ("0", "1")),
        (pd.Series(["u", None, "v"], index=[5, 6, 7]), [0, -1, 1], ("u", "v")),
        ([True, False, None], [1, 0, -1], ("False", "True")),
        (None, [-1, -1, -1], ()),
    ],
)
def test_labels_of_any_kind(labels, y, classes):
    graph = from_scipy(PATH, labels=labels)
    assert (graph.y.tolist(), graph.class_names) == (y, classes)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((np.eye(3),), ("adjacency", "(3, 3)", "scipy sparse")),
        (([],), ("adjacency", "list")),
        ((PATH[:2],), ("adjacency", "(2, 3)", "(N, N)")),
        ((PATH * 1j,), ("adjacency", "complex", "numbers")),
        ((PATH, np.eye(2)), ("features", "(2, 2)", "3 nodes", "a row a node")),
        ((PATH, np.array([["a"]] * 3)), ("features", "numbers are needed")),
        ((PATH, sp.csr_matrix(PATH * 1j)), ("features", "numbers are needed")),
        ((PATH, np.full((3, 1), np.nan)), ("NaN or infinite",)),
        ((PATH, None, [1, 2]), ("labels", "(2,)", "3 nodes")),
        ((PATH, None, [[1], [2], [3]]), ("labels", "(3, 1)", "3 nodes")),
        ((PATH, None, [[1], [2, 3], 4]), ("label at position 0", "list", "one number or text")),
        ((PATH, None, ["a", "b", {"c"}]), ("label at position 2", "set")),
        ((PATH, None, [np.zeros((2, i)) for i in (2, 3, 4)]), ("labels", "one a node")),
    ],
)
def test_matrices_that_do_not_fit_are_refused(parts, words, refuses):
    with refuses("'graph'", *words):
        from_scipy(*parts)


def test_ids_have_one_text_whatever_they_are():
    for ids in ([1.0, "b", np.int64(3)], np.array([1.0, 2.0, 3.0]), torch.tensor([1, 2, 3]), pd.Series([1, 2, 3.0])):
        assert from_scipy(PATH, ids=ids).ids in (("1", "b", "3"), ("1", "2", "3"))
        assert from_embeddings(np.eye(3), ids=ids).ids[0] == "1"
    assert from_pyg(data(x=torch.eye(2)), ids=[1.0, b"b"]).ids == ("1", "b")


@pytest.mark.parametrize("bad", [None, "", "  ", float("nan"), pd.NA, np.nan])
def test_ids_that_are_none_are_refused(bad, refuses):
    for make in (
        lambda ids: from_scipy(PATH, ids=ids),
        lambda ids: from_embeddings(np.eye(3), ids=ids),
        lambda ids: from_pyg(data(x=torch.eye(3)), ids=ids),
    ):
        with refuses("no id at position 1", "graph '"):
            make(["a", bad, "c"])


def test_ids_and_classes_of_another_kind_are_refused(refuses):
    with refuses("id at position 0", "list", "graph 'graph'"):
        from_scipy(PATH, ids=[["a"], ["b"], ["c"]])
    with refuses("ids of graph 'graph'", "int"):
        from_scipy(PATH, ids=3)
    with refuses("no class name at position 1", "graph 'graph'"):
        from_pyg(data(x=torch.eye(2), y=torch.tensor([1, 0])), classes=["no", None])


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_embeddings_get_the_graph_of_nearest_neighbours(kind):
    z = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
    graph = from_embeddings(kind(z), np.arange(40) % 3, n_neighbors=4)
    distance = squared_distances(z, z).fill_diagonal_(float("inf"))
    near = torch.zeros(40, 40, dtype=torch.bool).scatter_(1, distance.topk(4, largest=False).indices, True)
    assert graph.edge_index.tolist() == (near | near.T).nonzero().T.tolist()
    assert torch.equal(graph.x, z)
    assert (graph.name, graph.class_names) == ("embeddings", ("0", "1", "2"))
    assert "the 4 nearest" in graph.names.notes[0]


def test_embeddings_with_edges_and_in_small_numbers(refuses):
    z = np.arange(6).reshape(3, 2)
    graph = from_embeddings(z, edges=[[0], [2]], ids=[4, 5, 6], name="z")
    assert (graph.name, graph.ids, graph.edge_index.tolist()) == ("z", ("4", "5", "6"), [[0, 2], [2, 0]])
    assert graph.names.notes == ()
    assert from_embeddings(z).n_edges == 3, "no more than there are"
    assert from_embeddings(z[:1]).n_edges == 0
    assert torch.equal(from_embeddings(sp.csr_matrix(z)).x, torch.from_numpy(z).float())
    with refuses("'embeddings'", "NaN"):
        from_embeddings(np.full((3, 2), np.nan))
    with refuses("neighbours is 0", "at least 1"):
        from_embeddings(z, n_neighbors=0)
    for wrong in (2.5, "3", None, True):
        with refuses(f"neighbours is {wrong!r}", "whole number"):
            from_embeddings(z, n_neighbors=wrong)
    assert from_embeddings(z, n_neighbors=np.int64(1)).n_edges == 2
    with refuses("'embeddings'", "0..2"):
        from_embeddings(z, edges=np.array([[0], [3]]))
    with refuses("'embeddings'", "integers"):
        from_embeddings(z, edges=np.array([[0.5], [1]]))
    with refuses("'embeddings'", "a row a node"):
        from_embeddings(z[0])
