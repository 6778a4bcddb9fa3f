"""Variants of a graph by its name: two classes, edges across classes, features left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bes.errors import InputError
from bes.graph.catalog import load
from bes.graph.graph import Graph
from bes.graph.readers import write_npz
from bes.graph.sparse import Sparse
from bes.graph.synthetic import sbm
from bes.graph.variants import base_name, two_classes, vary, with_edges, without_features


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Classes 1 and 3 are the largest; nodes 4 and 9 have no class, and edges cross in every way."""
    y = torch.tensor([3, 1, 0, 1, -1, 3, 2, 3, 1, -1, 0, 3])
    x = torch.arange(24.0).reshape(12, 2)
    x[::3] = 0  # rows of which a sparse matrix stores nothing
    pairs = [(u, v) for u in range(12) for v in range(u) if (u * 5 + v * 3) % 4 == 0]
    masks = {"train_mask": torch.ones(12, dtype=torch.bool)}
    return Graph(x, torch.tensor(pairs).T, y, "toy", masks)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_two_largest_classes_and_the_edges_among_them(graph: Graph, sparse: bool) -> None:
    given = replace(graph, x=Sparse.from_dense(graph.x)) if sparse else graph
    found = vary(given, "toy#binary")
    old = [i for i, label in enumerate(graph.y.tolist()) if label in (1, 3)]
    assert found.y.tolist() == [int(graph.y[i] == 3) for i in old]
    assert isinstance(found.x, Sparse) == sparse
    x = found.x.csr.to_dense() if isinstance(found.x, Sparse) else found.x
    assert torch.equal(x, graph.x[old])
    edges = {(old[u], old[v]) for u, v in found.edge_index.T.tolist()}
    assert edges == {(u, v) for u, v in graph.edge_index.T.tolist() if u in old and v in old}
    assert 0 < found.edge_index.shape[1] < graph.edge_index.shape[1]
    assert (found.name, found.masks, found.n_classes) == ("toy#binary", {}, 2)


def test_by_its_name_it_is_the_same(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "toy.npz"
    write_npz(graph, path)
    assert load(f"{path}#binary").content_hash == two_classes(graph).content_hash
    both = load(f"{path}#binary#edges:0.5")
    assert both.content_hash == with_edges(two_classes(graph), 0.5).content_hash
    assert both.name == f"{path}#binary#edges:0.5"


@pytest.mark.parametrize("label", [0, -1])
def test_one_class_cannot_be_two(graph: Graph, label: int) -> None:
    with pytest.raises(InputError, match=r"'toy' has one class only: '#binary' needs two\.$"):
        two_classes(replace(graph, y=torch.full((12,), label)))


def test_one_class_cannot_be_two_whatever_its_number(graph: Graph) -> None:
    with pytest.raises(InputError, match="one class only"):
        two_classes(replace(graph, y=torch.full((12,), 1)))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0, 2.0])
def test_edges_are_added_between_classes_and_none_is_lost(share: float) -> None:
    graph = sbm(n_nodes=200, degree=6)
    found = with_edges(graph, share)
    old, new = ({(u, v) for u, v in one.edge_index.T.tolist() if u < v} for one in (graph, found))
    assert old <= new
    assert len(new - old) == round(share * len(old))
    assert all(graph.y[u] != graph.y[v] for u, v in new - old)
    assert torch.equal(found.y, graph.y)
    assert with_edges(graph, share).content_hash == found.content_hash
    if share:
        assert with_edges(graph, share, seed=1).content_hash != found.content_hash


def test_nodes_without_a_class_get_no_edge() -> None:
    graph = sbm(n_nodes=100, degree=4)
    y = graph.y.clone()
    y[::2] = -1
    found = with_edges(replace(graph, y=y), 1.0)
    old = {(u, v) for u, v in graph.edge_index.T.tolist()}
    assert all(y[u] >= 0 and y[v] >= 0 for u, v in found.edge_index.T.tolist() if (u, v) not in old)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_are_left_out_one_by_one(sparse: bool) -> None:
    x = torch.ones(300, 20)
    edges = torch.tensor([[0, 1], [1, 0]])
    graph = Graph(Sparse.from_dense(x) if sparse else x, edges, torch.arange(300) % 2)
    left = without_features(graph, 0.3).x
    dense = left.to_dense() if isinstance(left, Sparse) else left
    assert isinstance(left, Sparse) == sparse
    assert set(dense.unique().tolist()) == {0.0, 1.0}
    assert dense.mean().item() == pytest.approx(0.7, abs=0.03)
    assert 0 < dense.mean(1).std().item() < 0.15
    none = without_features(graph, 1.0).x
    assert not (none.to_dense() if isinstance(none, Sparse) else none).any()


def test_a_file_may_have_the_mark_in_its_name(graph: Graph, tmp_path: Path) -> None:
    write_npz(graph, tmp_path / "my#edges:1.npz")
    assert load(tmp_path / "my#edges:1.npz").content_hash == graph.content_hash


def test_a_name_says_it_all(graph: Graph) -> None:
    assert base_name("cora#edges:1#features:0.5") == "cora"
    assert vary(graph, "toy") is graph
    found = vary(graph, "toy#edges:0.2:7#features:0.5")
    assert found.name == "toy#edges:0.2:7#features:0.5"
    expected = without_features(with_edges(graph, 0.2, 7), 0.5)
    assert found.content_hash == expected.content_hash


@pytest.mark.parametrize(
    "word",
    ["", "edge:1", "edges", "edges:", "edges:x", "edges:-1", "edges:nan", "features:1.5", "features:1:x", "binary:2"],
)
def test_words_that_mean_nothing_are_refused(graph: Graph, word: str) -> None:
    with pytest.raises(InputError, match=rf"^The variant '#{word}' of a graph is not known: use #edges:R"):
        vary(graph, f"toy#{word}")


def test_more_edges_than_there_is_room_for_are_refused(graph: Graph) -> None:
    with pytest.raises(InputError, match=r"'toy' cannot get \d+ more edges between classes, as \d+ pairs are free"):
        with_edges(graph, 50.0)
