"""Propagated features and importances, against loops over nodes and pairs."""

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import APPNP

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.models.baselines import nodeimport_context
from bes.models.baselines.nodeimport_context import Context, Importance, Kind
from bes.models.baselines.nodeimport_synthesis import Added, Synthesis


@pytest.fixture
def added(small_graph: Graph) -> Added:
    labels = (torch.arange(150) % 5 == 0).long()
    return Synthesis(small_graph, torch.arange(150), labels, 2).draw(torch.Generator().manual_seed(0))


def augmented(graph: Graph, added: Added | None) -> Tensor:
    """A^ of the graph with the added nodes, dense; degrees count the edges that enter a node, and its loop."""
    n = graph.n_nodes
    total = n + (0 if added is None else added.count)
    looped = torch.eye(total)
    looped[graph.edge_index[0], graph.edge_index[1]] = 1.0
    if added is not None:
        looped[added.row + n, added.col] = 1.0
    degree = looped.sum(1)
    return looped / (degree[:, None] * degree[None, :]).sqrt()


def naive(kind: Kind, hops: int, alpha: float, x: Tensor, matrix: Tensor) -> Tensor:
    if kind == "appnp":
        z = x
        for _ in range(hops):
            z = (1 - alpha) * matrix @ z + alpha * x
        return z
    terms = [(1 - alpha) * torch.matrix_power(matrix, t) @ x + alpha * x for t in range(1, hops + 1)]
    return sum(terms, torch.zeros_like(x)) / hops


@pytest.mark.parametrize("kind", ["appnp", "ssgc"])
@pytest.mark.parametrize("hops", [1, 4])
def test_context_is_its_equation_for_added_nodes_too(small_graph: Graph, added: Added, kind: Kind, hops: int) -> None:
    context, x = Context(kind, hops, 0.15), small_graph.x
    assert isinstance(x, Tensor)
    assert added.row.numel() > 0
    alone = naive(kind, hops, 0.15, x, augmented(small_graph, None))
    torch.testing.assert_close(context(x, small_graph.operators), alone)
    both = context(x, small_graph.operators, added)
    expected = naive(kind, hops, 0.15, torch.cat([x, added.mix(x)]), augmented(small_graph, added))
    torch.testing.assert_close(both, expected)
    torch.testing.assert_close(both[:150], alone)  # the graph's own nodes do not notice


def test_appnp_is_pygs(small_graph: Graph) -> None:
    x = small_graph.x
    assert isinstance(x, Tensor)
    expected = APPNP(6, 0.1)(x, small_graph.edge_index)
    torch.testing.assert_close(Context("appnp", 6, 0.1)(x, small_graph.operators), expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_some_nodes_are_those_of_all(small_graph: Graph, sparse: bool) -> None:
    assert isinstance(small_graph.x, Tensor)
    graph = Graph(Sparse.from_dense(small_graph.x), small_graph.edge_index, small_graph.y) if sparse else small_graph
    context, nodes = Context("ssgc", 3, 0.2), torch.tensor([3, 77, 5])
    torch.testing.assert_close(context.of_nodes(graph, nodes), context.of_features(graph)[nodes].T)


@pytest.mark.parametrize("sparse", [False, True])
def test_importance_is_the_sum_over_pairs(small_graph: Graph, added: Added, sparse: bool) -> None:
    x = small_graph.x
    assert isinstance(x, Tensor)
    graph = Graph(Sparse.from_dense(x), small_graph.edge_index, small_graph.y) if sparse else small_graph
    context, meta = Context("appnp", 3, 0.1), torch.tensor([4, 50, 90, 149])
    residual = torch.randn(150 + added.count, 3)
    found = Importance(graph, context, meta)(residual, torch.tensor([0, 2, 3]), added)
    p = context(x, graph.operators, added)
    for i in (0, 4, 80, 149, 150, 149 + added.count):
        pairs = [(p[i] @ p[j]) * (residual[i] @ residual[j]) for j in (4, 90, 149)]
        torch.testing.assert_close(found[i], sum(pairs, torch.tensor(0.0)), rtol=1e-4, atol=1e-4)
    assert found.shape == (150 + added.count,)


def test_without_a_meta_set_nothing_matters(small_graph: Graph) -> None:
    none = torch.empty(0, dtype=torch.long)
    found = Importance(small_graph, Context("appnp", 2, 0.1), none)(torch.randn(150, 3), none)
    assert found.eq(0).all()


def test_ids_of_many_nodes_are_refused_before_they_are_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodeimport_context, "MOST", 5)
    edges = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    for width, many in ((0, True), (3, False)):
        graph = Graph(torch.rand(6, width), edges, torch.zeros(6, dtype=torch.long))
        context = Context("appnp", 2, 0.1)
        if many:
            with pytest.raises(InputError, match="has as many as nodes"):
                context.of_features(graph)
        else:
            assert context.of_features(graph).shape == (6, 3)
