"""Backbones against PyG's layers, the pretraining, and what is frozen after it."""

from dataclasses import replace

import pytest
import torch
from torch_geometric import nn as pyg

from bes.graph.edges import undirected
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, split_links
from bes.graph.sparse import Operators, Sparse
from bes.graph.splits import NodeSplit, make_split
from bes.models.baselines.motifrgc import Backbone, Heads, MotifRGC, without_edges
from bes.models.baselines.motifrgc_motifs import Triples
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.pair_problem import PairProblem
from bes.models.pairs import PairDecoder

BACKBONES = ("gcn", "gat", "sage")


def make(backbone: str = "gcn", **options: object) -> MotifRGC:
    sizes = {"hidden": 8, "width": 4, "heads": 2, "reader": 8, "epochs": 5, "pretrain_epochs": 5}
    return MotifRGC(**{**sizes, "backbone": backbone, **options})  # type: ignore[arg-type]


def problem(graph: Graph, seed: int = 0) -> NodeProblem:
    return NodeProblem(graph, make_split(graph, "random", seed), seed)


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def test_heads_are_those_of_pyg_averaged(graph: Graph) -> None:
    ours, theirs = Heads(graph.n_features, 6, 3, rng()), pyg.GATConv(graph.n_features, 6, heads=3, concat=False)
    with torch.no_grad():
        theirs.lin.weight.copy_(torch.cat([layer.lin.weight for layer in ours.layers]))
        theirs.att_src.copy_(torch.cat([layer.att_src for layer in ours.layers], dim=1))
        theirs.att_dst.copy_(torch.cat([layer.att_dst for layer in ours.layers], dim=1))
    torch.testing.assert_close(ours(graph.x, graph.operators), theirs(graph.x, graph.edge_index))


@pytest.mark.parametrize(("kind", "layer"), [("gcn", pyg.GCNConv), ("sage", pyg.SAGEConv)])
def test_backbones_are_two_layers_with_an_activation(graph: Graph, kind: str, layer: type) -> None:
    ours = Backbone(kind, graph.n_features, 6, 4, 1, 0.5, rng()).eval()
    first, second = layer(graph.n_features, 6), layer(6, 4)
    first.load_state_dict(ours.first.state_dict())
    second.load_state_dict(ours.second.state_dict())
    expected = second(first(graph.x, graph.edge_index).relu(), graph.edge_index)
    torch.testing.assert_close(ours(graph.x, graph.operators), expected)


def test_attention_has_no_activation_between_its_layers(graph: Graph) -> None:
    net = Backbone("gat", graph.n_features, 6, 4, 2, 0.0, rng())
    ops = graph.operators
    torch.testing.assert_close(net(graph.x, ops, rng()), net.second(net.first(graph.x, ops), ops))


def test_edges_are_dropped_in_both_directions_and_stay_sorted(graph: Graph) -> None:
    ops = graph.operators
    assert without_edges(ops, 0.0, None) is ops
    less = without_edges(ops, 0.4, rng())
    assert torch.equal(less.edge_index, undirected(less.edge_index, graph.n_nodes))
    before, after = ({tuple(edge) for edge in one.edge_index.T.tolist()} for one in (ops, less))
    assert after < before
    assert len(after) / len(before) == pytest.approx(0.6, abs=0.1)
    once = ops.edge_index[:, ops.edge_index[0] < ops.edge_index[1]]
    once = once[:, torch.rand(once.shape[1], generator=rng()) >= 0.4]  # the same draw, edge by edge
    plain = Operators(undirected(once, graph.n_nodes), graph.n_nodes)
    assert torch.equal(less.edge_index, plain.edge_index)
    assert torch.equal(less.looped, plain.looped)


def test_only_training_drops(graph: Graph) -> None:
    net = Backbone("gcn", graph.n_features, 6, 4, 1, 0.5, rng())
    stream = rng()
    assert not torch.equal(net(graph.x, graph.operators, stream), net(graph.x, graph.operators, stream))
    net.eval()
    assert torch.equal(net(graph.x, graph.operators), net(graph.x, graph.operators))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_embeddings_are_normalised_rows_of_all_views(graph: Graph, backbone: str) -> None:
    z = make(backbone).pretrain(problem(graph))(graph)
    assert z.shape == (graph.n_nodes, 16)
    assert not z.requires_grad
    torch.testing.assert_close(z.mean(1), torch.zeros(graph.n_nodes), atol=1e-5, rtol=0)
    torch.testing.assert_close(z.var(1, unbiased=False), torch.ones(graph.n_nodes), atol=0.1, rtol=0)


def test_without_pretraining_all_stays_at_its_start(graph: Graph) -> None:
    given, method = problem(graph), make(pretrain_epochs=0)
    torch.testing.assert_close(method.pretrain(given)(graph), method.views(given).embed(graph))
    answer = method.fit(given)
    assert answer.prob is not None
    torch.testing.assert_close(answer.prob.sum(1), torch.ones(graph.n_nodes))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_pretraining_lowers_the_loss(graph: Graph, backbone: str) -> None:
    given, method = problem(graph), make(backbone, pretrain_epochs=40, drop_edge=0.0)
    before, triples = method.views(given), Triples(graph.operators)
    after = method.pretrain(given).__self__  # type: ignore[attr-defined]
    first, last = (method.loss(one, graph, triples, rng()) for one in (before, after))
    assert last < first - 0.5
    assert after.space.kappa.ne(before.space.kappa).all()
    assert after.space.points.ne(before.space.points).any(2).all()


def test_the_readers_task_is_solved(graph: Graph) -> None:
    split = make_split(graph, "random", 0)
    answer = make(epochs=60, pretrain_epochs=10).fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.9


@pytest.mark.parametrize("backbone", BACKBONES)
def test_sparse_features_give_what_dense_ones_give(graph: Graph, backbone: str) -> None:
    assert not isinstance(graph.x, Sparse)
    thin = replace(graph, x=graph.x * (graph.x > 0.5))
    sparse = replace(thin, x=Sparse.from_dense(thin.x))
    found = [make(backbone, drop_edge=0.2).fit(problem(one)).prob for one in (thin, sparse)]
    torch.testing.assert_close(found[0], found[1], atol=1e-3, rtol=1e-3)


def test_a_contrast_over_some_nodes_and_a_few_triples(graph: Graph) -> None:
    given = problem(graph)
    z = [make(anchors=anchors, triples=20).pretrain(given)(graph) for anchors in (0, graph.n_nodes, 30, 1)]
    torch.testing.assert_close(z[0], z[1])
    assert z[2].isfinite().all()
    assert z[3].isfinite().all()
    assert not torch.allclose(z[0], z[2])


@pytest.mark.parametrize("backbone", BACKBONES)
def test_isolated_nodes_without_features_and_graphs_without_edges(graph: Graph, backbone: str) -> None:
    assert not isinstance(graph.x, Sparse)
    x = graph.x.clone()
    x[:3] = 0
    touched = (graph.edge_index < 3).any(0)
    for edges in (graph.edge_index[:, ~touched], graph.edge_index[:, :0]):
        z = make(backbone).pretrain(problem(replace(graph, x=x, edge_index=edges)))(graph)
        assert z.isfinite().all()


@pytest.mark.parametrize("curvature", [0.0, 2.0])
def test_flat_and_round_spaces(graph: Graph, curvature: float) -> None:
    assert make(curvature=curvature).pretrain(problem(graph))(graph).isfinite().all()


def test_a_class_of_one_training_node(graph: Graph) -> None:
    y = torch.zeros_like(graph.y)
    y[0] = 1
    nodes = torch.arange(graph.n_nodes)
    rest = replace(graph, y=y)
    split = NodeSplit(nodes[:60], nodes[60:90], nodes[90:], "one", 2, y)
    answer = make().fit(NodeProblem(rest, split, 0))
    assert answer.prob is not None
    assert answer.prob.isfinite().all()


def pairs(split: LinkSplit) -> PairProblem:
    return PairProblem(split, lambda: PairDecoder("mlp", hidden=8, epochs=5), None, 3, 0)


def test_pairs_are_read_from_frozen_embeddings_of_the_graph_that_is_given(graph: Graph) -> None:
    split = split_links(graph)
    given = pairs(split)
    embed = make().pretrain(given)
    again = replace(split.graph)
    torch.testing.assert_close(embed(split.graph), embed(again))
    bare = replace(split.graph, edge_index=split.graph.edge_index[:, :0])
    assert not torch.allclose(embed(split.graph), embed(bare))  # by message passing alone: points are frozen
    answer = make().fit(given)
    assert answer.prob is None
    assert answer.pairs is not None
    assert answer.pairs("test").shape == (split.pairs("test").shape[1], 1)
