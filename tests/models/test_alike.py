"""Look-alikes by the angle between features, and what both views say."""

import gc

import pytest
import torch
from oracles.soft import smoothed_by_loop
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.models import alike as module
from bes.models.alike import HEARD, LEAST, NEAREST, RESTART, STEPS, WIDTH, alike, both_views, compressed, read


def with_features(graph: Graph, x: Tensor | Sparse) -> Graph:
    return Graph(x, graph.edge_index, graph.y, "g")


def links(x: Tensor) -> set[tuple[int, int]]:
    """By a loop: each row and its nearest by cosine, both ways."""
    found = set()
    for i in range(len(x)):
        cosine = [(-torch.cosine_similarity(x[i], x[j], dim=0).item(), j) for j in range(len(x)) if j != i]
        for far, j in sorted(cosine)[:NEAREST]:
            assert -far > LEAST
            found |= {(i, j), (j, i)}
    return found


def test_links_are_those_of_a_loop_and_sorted(small_graph: Graph) -> None:
    found = alike(small_graph)
    assert found is not None
    pairs = [tuple(pair) for pair in found.edge_index.T.tolist()]
    assert pairs == sorted(links(small_graph.x))
    assert found.n_nodes == small_graph.n_nodes


def test_features_may_be_sparse(small_graph: Graph) -> None:
    x = small_graph.x.clamp_min(0)
    dense, sparse = (alike(with_features(small_graph, one)) for one in (x, Sparse.from_dense(x)))
    assert dense is not None
    assert sparse is not None
    assert torch.equal(dense.edge_index, sparse.edge_index)


def test_many_features_are_compared_in_the_directions_that_hold_most() -> None:
    """Of rows that lie near so many directions, none of what matters is lost; sparse ones are no other."""
    rng = torch.Generator().manual_seed(0)
    low = torch.randn(60, 5, generator=rng) @ torch.randn(5, WIDTH + 40, generator=rng)
    x = low + 1e-3 * torch.randn(60, WIDTH + 40, generator=rng)
    wide = torch.cat([x] * 6)  # more rows than directions
    z = compressed(wide)
    assert z.shape == (360, WIDTH)
    assert torch.allclose(z @ z.T, wide @ wide.T, atol=1e-3 * (wide @ wide.T).abs().max().item())
    again = compressed(Sparse.from_dense(wide))
    assert torch.allclose(again @ again.T, z @ z.T, atol=1e-3 * (z @ z.T).abs().max().item())


def test_a_row_of_zeros_looks_like_nobody(small_graph: Graph) -> None:
    x = small_graph.x.clone()
    x[3] = 0
    found = alike(with_features(small_graph, x))
    assert found is not None
    assert 3 not in found.edge_index


def test_who_has_nothing_in_common_is_no_look_alike(small_graph: Graph) -> None:
    x = torch.eye(150)
    x[1, 0] = 1.0
    found = alike(with_features(small_graph, x))
    assert found is not None
    assert found.edge_index.tolist() == [[0, 1], [1, 0]]


def stored_zeros() -> Sparse:
    column, row = torch.zeros(150, dtype=torch.long), torch.arange(150)
    return Sparse.from_coo(row, column, torch.zeros(150), (150, 4))


@pytest.mark.parametrize(
    "x", [torch.zeros(150, 4), torch.eye(150), Sparse.from_dense(torch.eye(150)), stored_zeros()], ids=range(4)
)
def test_without_common_features_there_are_none(small_graph: Graph, x: Tensor | Sparse) -> None:
    graph = with_features(small_graph, x)
    assert alike(graph) is None
    assert both_views(graph) is graph.operators.gcn


def test_they_are_found_once_for_all_graphs_with_the_features_and_forgotten_with_them(small_graph: Graph) -> None:
    graph = with_features(small_graph, small_graph.x.clone())
    found = alike(graph)
    weighted = graph.weighted(torch.ones(graph.edge_index.shape[1]))
    assert alike(graph.without_labels()) is alike(weighted) is found
    key = id(graph.x)
    assert key in module._FOUND
    del graph, weighted
    gc.collect()
    assert key not in module._FOUND


def test_predictions_are_read_from_both_views(small_graph: Graph) -> None:
    found = alike(small_graph)
    assert found is not None
    both = (1 - HEARD) * small_graph.operators.gcn.to_dense() + HEARD * found.gcn.to_dense()
    prob = torch.rand(150, 3, generator=torch.Generator().manual_seed(0)).softmax(1)
    expected = smoothed_by_loop(prob, both, STEPS, RESTART)
    assert torch.allclose(read(prob, small_graph), expected, atol=1e-5)
