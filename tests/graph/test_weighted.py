"""Operators of weighted graphs against those of plain ones, and against dense formulas."""

import pytest
import torch

from bes.graph.graph import Graph
from bes.graph.sparse import Operators
from bes.graph.weighted import WeightedOperators, weighted

NAMES = ("sum", "mean", "cheb", "gcn")


def random_weights(graph: Graph) -> torch.Tensor:
    """The same on both directions of an edge."""
    row, col = graph.edge_index
    dense = torch.rand(graph.n_nodes, graph.n_nodes, generator=torch.Generator().manual_seed(0)) + 0.1
    return (dense + dense.T)[row, col]


@pytest.mark.parametrize("name", NAMES)
def test_equal_weights_change_nothing(small_graph: Graph, name: str) -> None:
    plain = Operators(small_graph.edge_index, small_graph.n_nodes)
    same = WeightedOperators(small_graph.edge_index, small_graph.n_nodes, torch.ones(small_graph.edge_index.shape[1]))
    assert torch.allclose(getattr(same, name).to_dense(), getattr(plain, name).to_dense(), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_weights_stand_in_the_dense_formulas(small_graph: Graph, name: str) -> None:
    n, weight = small_graph.n_nodes, random_weights(small_graph)
    ops = weighted(small_graph, weight).operators
    a = torch.zeros(n, n).index_put_(tuple(small_graph.edge_index), weight)
    d = a.sum(1)
    looped = a + torch.eye(n)
    wanted = {
        "sum": a,
        "mean": a / d.clamp_min(1e-12)[:, None],
        "cheb": -a / (d[:, None] * d).sqrt().clamp_min(1e-12),
        "gcn": looped / ((d + 1)[:, None] * (d + 1)).sqrt(),
    }[name]
    assert torch.allclose(getattr(ops, name).to_dense(), wanted, atol=1e-6)


def test_only_propagation_is_weighted(small_graph: Graph) -> None:
    graph = weighted(small_graph, random_weights(small_graph))
    assert graph.operators is not small_graph.operators
    assert torch.equal(graph.edge_index, small_graph.edge_index)
    assert graph.content_hash == small_graph.content_hash
    assert isinstance(graph.without_labels().operators, WeightedOperators)
