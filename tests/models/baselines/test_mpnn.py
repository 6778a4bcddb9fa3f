"""MPNN against PyG's layers on the graph with self-loops, and against a network stacked by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.links import LinkSplit
from bes.graph.sparse import Features, Sparse
from bes.graph.splits import NodeSplit, split_nodes
from bes.models.baselines.feature_dropout import drop_features
from bes.models.baselines.mpnn import KINDS, MPNN, MPNNNetwork
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.pair_problem import PairProblem
from bes.models.pairs import PairDecoder
from bes.seeding import generator
from models.blocks import block_graph

PYG: dict[str, Callable[[int, int], nn.Module]] = {
    "gcn": pyg.GCNConv,
    "sage": pyg.SAGEConv,
    "gat": lambda i, o: pyg.GATConv(i, o, add_self_loops=False, bias=False),
}


@pytest.fixture(scope="module")
def lonely() -> Graph:
    """The block graph with two nodes that have no edge, one of them without features too."""
    graph = block_graph()
    kept = ((graph.edge_index != 5) & (graph.edge_index != 7)).all(0)
    assert isinstance(graph.x, Tensor)
    x = graph.x.clone()
    x[7] = 0
    return replace(graph, x=x, edge_index=graph.edge_index[:, kept])


def sparse_of(graph: Graph) -> Graph:
    assert isinstance(graph.x, Tensor)
    return replace(graph, x=Sparse.from_dense(graph.x))


def network(graph: Graph, n_out: int = 3, **options: object) -> MPNNNetwork:
    made = MPNNNetwork(MPNN(**options), graph.n_features, n_out, generator(0, "init"))  # type: ignore[arg-type]
    with torch.no_grad():  # what starts at zero or one would hide that it is missing
        for key, parameter in made.named_parameters():
            if "bias" in key or "norm" in key:
                parameter.add_(torch.randn(parameter.shape, generator=generator(1, key)))
    return made


def close(one: Tensor, two: Tensor) -> None:
    torch.testing.assert_close(one, two, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_convolutions_are_pygs_on_the_graph_with_loops(lonely: Graph, name: str, wide: bool) -> None:
    width = 20 if wide else 4
    theirs = PYG[name](lonely.n_features, width)
    ours = KINDS[name](lonely.n_features, width)
    ours.load_state_dict(theirs.state_dict())
    assert isinstance(lonely.x, Tensor)
    reference = theirs(lonely.x, lonely.operators.looped)
    close(ours(lonely.x, lonely.operators), reference)
    close(ours(Sparse.from_dense(lonely.x), lonely.operators), reference)


def test_the_mean_is_over_the_neighbours_and_the_node(lonely: Graph) -> None:
    mean = lonely.operators.with_loops.mean.to_dense()
    for i in range(lonely.n_nodes):
        near = {i, *lonely.edge_index[1, lonely.edge_index[0] == i].tolist()}
        assert mean[i].nonzero().flatten().tolist() == sorted(near)
        assert mean[i, i].item() == pytest.approx(1 / len(near))
    assert lonely.operators.with_loops is lonely.operators.with_loops


def test_gat_has_no_bias_to_train(lonely: Graph) -> None:
    assert not [key for key, _ in KINDS["gat"](lonely.n_features, 4).named_parameters() if "bias" in key]


def by_hand(net: MPNNNetwork, graph: Graph) -> Tensor:
    """The equations of the module, with dense matrices and PyG's layers."""
    given = net.options
    x = graph.x if isinstance(graph.x, Tensor) else graph.x.to_dense()
    h = x if net.first is None else F.linear(x, net.first.weight, net.first.bias)
    total = torch.zeros(graph.n_nodes, given.hidden)
    for layer in net.layers:
        conv = PYG[given.conv](h.shape[1], given.hidden)
        conv.load_state_dict(layer.conv.state_dict())
        out = conv(h, graph.operators.looped)
        if given.residual:
            out = out + F.linear(h, layer.residual.weight, layer.residual.bias)
        if given.norm == "layer":
            out = F.layer_norm(out, (given.hidden,), layer.norm.weight, layer.norm.bias)
        if given.norm == "batch":
            scale = layer.norm.weight / (layer.norm.running_var + layer.norm.eps).sqrt()
            out = (out - layer.norm.running_mean) * scale + layer.norm.bias
        h = out.relu()
        total = total + h
    h = total if given.jk else h
    return h if net.last is None else F.linear(h, net.last.weight, net.last.bias)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("pre_linear", [False, True])
@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("name", KINDS)
def test_the_network_is_its_equations(lonely: Graph, name: str, norm: str, pre_linear: bool, sparse: bool) -> None:
    graph = sparse_of(lonely) if sparse else lonely
    for extra in ({}, {"residual": True}, {"residual": True, "jk": True}):
        net = network(graph, conv=name, hidden=16, layers=3, norm=norm, pre_linear=pre_linear, **extra)
        net(graph, generator(0, "dropout"))  # batch norms see a batch
        net.eval()
        with torch.no_grad():
            close(net(graph), by_hand(net, graph))
            assert len(net.layers) == 3


def test_features_that_stay_are_propagated_once_and_others_anew(lonely: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(lonely, conv="gcn", hidden=16).eval()
    conv, calls = net.layers[0].conv, []
    whole = conv.propagate
    monkeypatch.setattr(conv, "propagate", lambda x, ops: calls.append(x) or whole(x, ops))
    other = block_graph(seed=3)  # other edges
    fewer = replace(other, edge_index=other.edge_index[:, other.edge_index.sum(0) % 3 > 0])
    moved = replace(lonely, x=lonely.x + 1)  # other features on the same operators
    moved.__dict__["operators"] = lonely.operators
    with torch.no_grad():
        for graph in (lonely, other, lonely, fewer, other, fewer, moved):
            close(net(graph), by_hand(net, graph))
    assert [id(x) for x in calls] == [id(graph.x) for graph in (lonely, other, fewer, moved)]


@pytest.mark.parametrize("sparse", [False, True])
def test_dropout_of_features_drops_its_share_of_what_is_there(lonely: Graph, sparse: bool) -> None:
    x: Features = sparse_of(lonely).x if sparse else lonely.x
    assert isinstance(lonely.x, Tensor)
    dropped = drop_features(x, 0.25, generator(0, "dropout"))
    found = dropped.to_dense() if isinstance(dropped, Sparse) else dropped
    there = lonely.x > 0
    assert bool((found[~there] == 0).all())
    assert (found[there] == 0).float().mean().item() == pytest.approx(0.25, abs=0.1)
    kept = there & (found > 0)
    close(found[kept], lonely.x[kept] / 0.75)


def test_dropout_is_for_training_alone(lonely: Graph) -> None:
    net = network(lonely, conv="gcn", hidden=16, dropout=0.5, in_dropout=0.5)
    one, two = net(lonely, generator(0, "a")), net(lonely, generator(0, "b"))
    assert not torch.allclose(one, two)
    net.eval()
    assert torch.equal(net(lonely, generator(0, "a")), net(lonely, generator(0, "b")))


def test_pairs_are_read_from_the_last_layer(split: LinkSplit) -> None:
    problem = PairProblem(split, lambda: PairDecoder("dot"), None, 0, 0)
    net = MPNN(hidden=24).network(problem, generator(0, "init")).eval()
    assert isinstance(net, MPNNNetwork)
    assert net.last is None
    h = net(split.graph)
    assert h.shape == (split.graph.n_nodes, 24)
    close(h, by_hand(net, split.graph))


@pytest.mark.parametrize("name", KINDS)
def test_it_learns_classes_and_one_node_a_class_is_enough_to_run(name: str) -> None:
    graph = block_graph(150)
    split = split_nodes(graph)
    answer = MPNN(conv=name, hidden=32, layers=2, lr=0.01, epochs=40).fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.6
    few = NodeSplit(torch.tensor([0, 1, 2]), split.val, torch.empty(0, dtype=torch.long), "few", 3, graph.y)
    answer = MPNN(conv=name, hidden=8, norm="batch", epochs=3).fit(NodeProblem(graph, few, 0))
    assert answer.prob is not None
    assert bool(answer.prob.isfinite().all())


@pytest.mark.parametrize("name", KINDS)
def test_a_graph_without_edges_is_answered_from_features(name: str) -> None:
    graph = replace(block_graph(60), edge_index=torch.empty(2, 0, dtype=torch.long))
    answer = MPNN(conv=name, hidden=8, residual=True, epochs=3).fit(NodeProblem(graph, split_nodes(graph), 0))
    assert answer.prob is not None
    assert bool(answer.prob.isfinite().all())
