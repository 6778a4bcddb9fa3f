"""SGC and SSGC against PyG's layers, and the two orders of propagation against each other."""

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn

from bes.graph.graph import Graph
from bes.graph.splits import split_nodes
from bes.models.baselines import linear
from bes.models.baselines.linear import SGC, SSGC, LinearNetwork, PowerConv
from bes.models.baselines.node_problem import NodeProblem
from bes.seeding import generator
from models.blocks import block_graph

CASES = [
    (SGC(), lambda i, o: pyg.SGConv(i, o, K=2)),
    (SGC(hops=5), lambda i, o: pyg.SGConv(i, o, K=5)),
    (SSGC(), lambda i, o: pyg.SSGConv(i, o, alpha=0.05, K=16)),
    (SSGC(hops=1, alpha=0.1), lambda i, o: pyg.SSGConv(i, o, alpha=0.1, K=1)),
    (SSGC(hops=3, alpha=0.0), lambda i, o: pyg.SSGConv(i, o, alpha=0.0, K=3)),
    (SSGC(hops=3, alpha=1.0), lambda i, o: pyg.SSGConv(i, o, alpha=1.0, K=3)),
]


def network(method: SGC, graph: Graph) -> LinearNetwork:
    made = method.network(NodeProblem(graph, split_nodes(graph), 0), generator(0, "init"))
    assert isinstance(made, LinearNetwork)
    return made


@pytest.mark.parametrize(("dense", "sparse"), [(6, False), (0, True), (6, True), (10**9, True)])
@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case[0])[:5])
def test_it_is_the_layer_of_pyg(
    case: tuple[SGC, object], dense: int, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the features propagated once, and with X W propagated in each step."""
    monkeypatch.setattr(linear, "_DENSE", dense)
    method, make = case
    graph = block_graph(60, sparse=sparse)
    ours = network(method, graph)
    theirs = make(graph.n_features, graph.n_classes)
    assert isinstance(theirs, nn.Module)
    ours.conv.load_state_dict(theirs.state_dict())
    x = graph.x.to_dense()
    weight = torch.randn(60, graph.n_classes, generator=generator(1, "loss"))
    for _ in range(2):  # the second time from what was kept
        one, other = ours(graph), theirs(x, graph.edge_index)
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
        mine = torch.autograd.grad((one * weight).sum(), list(ours.parameters()))
        for a, b in zip(mine, torch.autograd.grad((other * weight).sum(), list(theirs.parameters())), strict=True):
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def wide(n: int = 60, width: int = 2000) -> Graph:
    graph = block_graph(n, sparse=True)
    row = torch.arange(n)
    ones = torch.ones(n)
    return Graph(linear.Sparse.from_coo(row, row * 7 % width, ones, (n, width)), graph.edge_index, graph.y)


def test_wide_sparse_features_are_transformed_first_and_others_propagated_once() -> None:
    assert network(SGC(), wide()).narrow_first(wide())
    for graph in (block_graph(60), block_graph(60, sparse=True)):
        assert not network(SGC(), graph).narrow_first(graph)


def count_widths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The widths of what is propagated from here on."""
    seen: list[int] = []
    real = PowerConv.propagate
    monkeypatch.setattr(PowerConv, "propagate", lambda self, x, ops: seen.append(x.shape[1]) or real(self, x, ops))
    return seen


def test_features_are_propagated_once_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_widths(monkeypatch)
    graph, other = block_graph(60), block_graph(60, seed=1)
    net = network(SGC(), graph)
    for _ in range(3):
        first, second = net(graph), net(other)
    assert seen == [12, 12]
    torch.testing.assert_close(first, network(SGC(), graph)(graph))
    assert not torch.allclose(first, second)


def test_wide_features_never_become_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_widths(monkeypatch)
    graph = wide()
    SGC(epochs=3).fit(NodeProblem(graph, split_nodes(graph), 0))
    assert set(seen) == {graph.n_classes}


def test_a_graph_without_edges_is_logistic_regression() -> None:
    x, y = torch.randn(6, 5, generator=generator(0, "x")), torch.arange(6) % 2
    graph = Graph(x, torch.zeros(2, 0, dtype=torch.long), y)
    for method in (SGC(), SSGC()):
        net = network(method, graph)
        torch.testing.assert_close(net(graph), x @ net.conv.lin.weight.t() + net.conv.lin.bias)


@pytest.mark.parametrize("method", [SGC(epochs=100), SSGC(epochs=100)], ids=["sgc", "ssgc"])
def test_it_learns(method: SGC) -> None:
    graph = block_graph(300)
    split = split_nodes(graph)
    answer = method.fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.95  # the features alone reach 0.8
