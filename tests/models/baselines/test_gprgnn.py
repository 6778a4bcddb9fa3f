"""GPRGNN against PyG's APPNP at its start and dense powers after it."""

import pytest
import torch
from oracles.methods import dropout_is_for_training
from torch import Tensor
from torch_geometric.nn import APPNP

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import split_nodes
from bes.models.baselines.gprgnn import GPRGNN, GPRNetwork, pagerank
from bes.models.baselines.node_problem import NodeProblem
from bes.seeding import generator
from models.blocks import block_graph


def network(graph: Graph, *, hops: int = 4, alpha: float = 0.2, dropout: float = 0.5) -> GPRNetwork:
    return GPRNetwork(
        graph.n_features,
        6,
        3,
        hops=hops,
        alpha=alpha,
        dropout=dropout,
        hop_dropout=dropout,
        generator=generator(0, "init"),
    )


def hidden(net: GPRNetwork, graph: Graph) -> Tensor:
    x = graph.x.to_dense() if isinstance(graph.x, Sparse) else graph.x
    first = (x @ net.first.weight.t() + net.first.bias).relu()
    return first @ net.second.weight.t() + net.second.bias


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("hops", "alpha"), [(1, 0.5), (4, 0.2), (10, 0.1), (3, 0.0), (3, 1.0)])
def test_it_starts_as_appnp(hops: int, alpha: float, sparse: bool) -> None:
    graph = block_graph(60, sparse=sparse)
    net = network(graph, hops=hops, alpha=alpha).eval()
    expected = APPNP(hops, alpha)(hidden(net, graph), graph.edge_index)
    torch.testing.assert_close(net(graph), expected, atol=1e-5, rtol=1e-5)


def test_any_weights_of_the_powers() -> None:
    graph = block_graph(40)
    net = network(graph).eval()
    with torch.no_grad():
        net.gamma.copy_(torch.tensor([0.5, -1.0, 2.0, 0.0, -0.3]))
    a = torch.eye(40)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    root = a.sum(1).rsqrt()
    a = root[:, None] * a * root
    power, expected = hidden(net, graph), torch.zeros(40, 3)
    for weight in net.gamma.tolist():
        expected = expected + weight * power
        power = a @ power
    torch.testing.assert_close(net(graph), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("hops", [1, 2, 10])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.9, 1.0])
def test_the_weights_start_as_a_walk_that_stops(hops: int, alpha: float) -> None:
    expected = [alpha * (1 - alpha) ** k for k in range(hops)] + [(1 - alpha) ** hops]
    assert pagerank(hops, alpha).tolist() == pytest.approx(expected, abs=1e-6)
    assert pagerank(hops, alpha).sum().item() == pytest.approx(1, abs=1e-6)


def test_weight_decay_leaves_the_weights_of_the_powers_alone() -> None:
    net = network(block_graph(40))
    groups = net.groups(0.25)
    assert [group["weight_decay"] for group in groups] == [0.25, 0.0]
    assert [id(one) for one in groups[1]["params"]] == [id(net.gamma)]
    every = [id(one) for group in groups for one in group["params"]]
    assert sorted(every) == sorted(id(one) for one in net.parameters())


def test_a_graph_without_edges_and_a_node_without_any() -> None:
    """Alone, a node is its own neighbour: every power is H."""
    x, y = torch.randn(4, 6, generator=generator(3, "x")), torch.zeros(4, dtype=torch.long)
    for edges in (torch.zeros(2, 0, dtype=torch.long), torch.tensor([[0, 1], [1, 2]])):
        graph = Graph(x, edges, y)
        net = network(graph).eval()
        torch.testing.assert_close(net(graph)[3], hidden(net, graph)[3])


@pytest.mark.parametrize("sparse", [False, True])
def test_dropout_is_for_training(sparse: bool) -> None:
    dropout_is_for_training(block_graph(60, sparse=sparse), network)


def test_it_learns_and_moves_the_weights_of_the_powers() -> None:
    graph = block_graph(300)
    split = split_nodes(graph)
    problem = NodeProblem(graph, split, 0)
    answer = GPRGNN(epochs=100).fit(problem)
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.95  # the features alone reach 0.8
    made = GPRGNN().network(problem, generator(0, "init"))
    problem.fit(made, GPRGNN(epochs=20), problem.streams("weights"))
    assert isinstance(made, GPRNetwork)
    assert not torch.allclose(made.gamma, pagerank(10, 0.1), atol=1e-3)
