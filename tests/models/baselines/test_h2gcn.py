"""H2GCN against its equations written with dense matrices, and what it can and cannot see."""

import pytest
import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import split_nodes
from bes.models.baselines.h2gcn import H2GCN, H2GCNNetwork
from bes.models.baselines.h2gcn_hops import hops_of
from bes.models.baselines.node_problem import NodeProblem
from bes.seeding import generator
from models.blocks import block_graph


def network(graph: Graph, *, rounds: int = 2, relu: bool = True, dropout: float = 0.5) -> H2GCNNetwork:
    return H2GCNNetwork(
        graph.n_features, 5, 3, rounds=rounds, relu=relu, dropout=dropout, generator=generator(0, "init")
    )


def normalised(a: Tensor) -> Tensor:
    root = a.sum(1).rsqrt()
    root[root.isinf()] = 0
    return root[:, None] * a * root


def by_equations(net: H2GCNNetwork, graph: Graph) -> Tensor:
    """Dense: two-hop pairs are those of (A + I)^2 that A + I does not have."""
    n = graph.n_nodes
    a = torch.zeros(n, n)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    near = a + torch.eye(n)
    two = ((near @ near > 0) & (near == 0)).float()
    one, two = normalised(a), normalised(two)
    x = graph.x.to_dense() if isinstance(graph.x, Sparse) else graph.x
    last = x @ net.embed.t()
    if net.relu:
        last = last.clamp(min=0)
    z = [last]
    for _ in range(net.rounds):
        last = torch.cat([one @ last, two @ last], dim=1)
        z.append(last)
    return torch.cat(z, dim=1) @ net.read.t()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_logits_follow_the_equations(rounds: int, relu: bool, sparse: bool) -> None:
    graph = block_graph(60, sparse=sparse)
    net = network(graph, rounds=rounds, relu=relu).eval()
    torch.testing.assert_close(net(graph), by_equations(net, graph), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_folding_the_last_weights_changes_neither_values_nor_gradients(rounds: int) -> None:
    graph = block_graph(60)
    net, hops = network(graph, rounds=rounds), hops_of(graph.operators)
    start = torch.randn(60, 5, generator=generator(1, "start")).requires_grad_()
    weight = torch.randn(60, 3, generator=generator(2, "loss"))
    both = net.folded(start, hops), net.rounds_of(start, hops) @ net.read.t()
    found = [(out, *torch.autograd.grad((out * weight).sum(), [start, net.read])) for out in both]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("rounds", "width"), [(1, 192), (2, 448)])
def test_widths_are_those_of_the_paper(rounds: int, width: int) -> None:
    graph = block_graph(60)
    made = H2GCN(rounds=rounds).network(NodeProblem(graph, split_nodes(graph), 0), generator(0, "init"))
    assert {name: tuple(value.shape) for name, value in made.named_parameters()} == {
        "embed": (64, graph.n_features),
        "read": (graph.n_classes, width),
    }


def path(n: int) -> Graph:
    return Graph(torch.eye(n), torch.stack([torch.arange(n - 1), torch.arange(1, n)]), torch.zeros(n, dtype=torch.long))


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_round_reaches_two_steps_and_no_further(rounds: int) -> None:
    graph = path(9)
    net = network(graph, rounds=rounds, relu=False).eval()
    other = graph.x.clone()
    other[2 * rounds] *= 2
    changed = net(Graph(other, graph.edge_index, graph.y)) - net(graph)
    assert changed[0].abs().max() > 1e-3
    other = graph.x.clone()
    other[2 * rounds + 1] *= 2
    changed = net(Graph(other, graph.edge_index, graph.y)) - net(graph)
    assert (changed[0] == 0).all()


def test_a_node_without_edges_has_its_own_features_alone() -> None:
    graph = Graph(torch.randn(4, 6), torch.tensor([[0, 1], [1, 2]]), torch.zeros(4, dtype=torch.long))
    net = network(graph).eval()
    own = (graph.x[3] @ net.embed.t()).relu() @ net.read[:, :5].t()
    torch.testing.assert_close(net(graph)[3], own)


def test_a_graph_without_edges() -> None:
    graph = Graph(torch.randn(4, 6), torch.zeros(2, 0, dtype=torch.long), torch.zeros(4, dtype=torch.long))
    net = network(graph).eval()
    torch.testing.assert_close(net(graph), by_equations(net, graph))


def test_dropout_falls_on_all_rounds_in_training_only() -> None:
    graph = block_graph(60)
    net = network(graph)
    net.train()
    dropped = torch.stack([net(graph, generator(i, "dropout")) for i in range(300)])
    assert dropped.std(0).min() > 0
    net.eval()
    error = (dropped.mean(0) - net(graph)).abs() / (dropped.std(0) / 300**0.5)
    assert error.max() < 5  # standard errors: dropout keeps the mean of what a linear map reads


def test_it_learns_where_neighbours_are_of_the_other_class() -> None:
    y = torch.arange(120) % 2
    chance = torch.where(y[:, None] == y, 0.005, 0.08)
    edges = (torch.rand(120, 120, generator=generator(0, "edges")) < chance).triu(1).nonzero().t()
    hint = torch.nn.functional.one_hot(y, 2) + 1.5 * torch.randn(120, 2, generator=generator(0, "x"))
    graph = Graph(hint, edges, y)
    split = split_nodes(graph)
    answer = H2GCN(epochs=100).fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.85
