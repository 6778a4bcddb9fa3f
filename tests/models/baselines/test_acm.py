"""ACM-GCN against a loop over its nodes, its low pass against PyG, and where the channels are known."""

import math

import pytest
import torch
from oracles.methods import dropout_is_for_training
from torch import Tensor
from torch_geometric.nn import SimpleConv

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import split_nodes
from bes.models.baselines.acm import ACMGCN, ACMLayer, ACMNetwork
from bes.models.baselines.node_problem import NodeProblem
from bes.seeding import generator
from models.blocks import block_graph


def layer(graph: Graph, *, relu: bool = True) -> ACMLayer:
    return ACMLayer(graph.n_features, 4, relu=relu, generator=generator(0, "init"))


@torch.no_grad()
def by_loop(made: ACMLayer, graph: Graph) -> Tensor:
    """Node by node, channel by channel."""
    x = graph.x.to_dense() if isinstance(graph.x, Sparse) else graph.x
    cut = (lambda h: h.clamp(min=0)) if made.relu else (lambda h: h)
    rows = []
    for i in range(graph.n_nodes):
        around = [i, *graph.edge_index[1][graph.edge_index[0] == i].tolist()]
        mean = torch.stack([x[j] for j in around]).mean(0)
        given = [mean, x[i] - mean, x[i]]
        channels = [cut(made.weight[k] @ given[k]) for k in range(3)]
        scores = [1 / (1 + math.exp(-float(channels[k] @ made.score[k]))) for k in range(3)]
        mixed = [sum(scores[k] * float(made.mix[k, m]) for k in range(3)) / 3 for m in range(3)]
        total = sum(math.exp(value) for value in mixed)
        rows.append(sum(3 * math.exp(mixed[k]) / total * channels[k] for k in range(3)))
    return torch.stack(rows)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_a_layer_follows_the_equations(relu: bool, sparse: bool) -> None:
    graph = block_graph(40, sparse=sparse)
    made = layer(graph, relu=relu)
    torch.testing.assert_close(made(graph.x, graph.operators), by_loop(made, graph), atol=1e-5, rtol=1e-5)


def test_the_low_pass_is_the_mean_with_the_node_itself() -> None:
    graph = block_graph(40)
    mean = SimpleConv("mean", combine_root="self_loop")
    torch.testing.assert_close(graph.operators.with_loops.mean @ graph.x, mean(graph.x, graph.edge_index))
    assert graph.operators.with_loops.mean is graph.operators.with_loops.mean


def test_a_node_without_edges_has_no_high_channel() -> None:
    graph = Graph(torch.randn(4, 6), torch.tensor([[0, 1], [1, 2]]), torch.zeros(4, dtype=torch.long))
    made = layer(graph, relu=False)
    low, high, _ = made.channels(graph.x, graph.operators)
    torch.testing.assert_close(low[3], made.weight[0] @ graph.x[3])
    torch.testing.assert_close(high[3], torch.zeros(4), atol=1e-6, rtol=0)
    assert high[:3].abs().max() > 0.1


def test_a_graph_without_edges() -> None:
    graph = Graph(torch.randn(4, 6), torch.zeros(2, 0, dtype=torch.long), torch.zeros(4, dtype=torch.long))
    made = layer(graph)
    torch.testing.assert_close(made(graph.x, graph.operators), by_loop(made, graph))


def test_equal_shares_give_the_sum_of_the_channels() -> None:
    graph = block_graph(40)
    made = layer(graph)
    torch.nn.init.zeros_(made.mix)
    channels = made.channels(graph.x, graph.operators)
    torch.testing.assert_close(made.shares(channels), torch.full((40, 3), 1 / 3))
    torch.testing.assert_close(made(graph.x, graph.operators), sum(channels, torch.zeros(40, 4)))


def network(graph: Graph, **options: object) -> ACMNetwork:
    problem = NodeProblem(graph, split_nodes(graph), 0)
    made = ACMGCN(**options).network(problem, generator(0, "init"))
    assert isinstance(made, ACMNetwork)
    return made


def test_two_layers_with_and_without_the_last_relu() -> None:
    graph = block_graph(60, sparse=True)
    net = network(graph).eval()
    hidden = by_loop(net.first, graph)
    expected = by_loop(net.second, Graph(hidden, graph.edge_index, graph.y))
    torch.testing.assert_close(net(graph), expected, atol=1e-4, rtol=1e-4)
    assert net(graph).min() < 0
    assert network(graph, last_relu=True).eval()(graph).min() >= 0


def test_initial_weights_have_the_bounds_of_the_authors() -> None:
    made = ACMLayer(500, 64, relu=True, generator=generator(0, "init"))
    for value, bound in ((made.weight, 1 / 8), (made.score, 1.0), (made.mix, 1 / math.sqrt(3))):
        assert value.abs().max() <= bound
        assert value.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.4)


@pytest.mark.parametrize("sparse", [False, True])
def test_dropout_is_for_training(sparse: bool) -> None:
    dropout_is_for_training(block_graph(60, sparse=sparse), network)


def test_it_learns() -> None:
    graph = block_graph(300)
    split = split_nodes(graph)
    answer = ACMGCN(epochs=100).fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.95  # the features alone reach 0.8
