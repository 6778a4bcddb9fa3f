"""The loss of NodeImport against its equation, and the method on nodes and links."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit
from bes.graph.sparse import Sparse
from bes.graph.splits import NodeSplit, make_split
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.nodeimport import ImportLoss, NodeImport
from bes.models.baselines.nodeimport_context import Context
from bes.models.baselines.nodeimport_networks import ImportNetwork
from bes.models.baselines.pair_problem import PairProblem
from bes.models.pairs import PairDecoder

OPTIONS = NodeImport(
    hidden=8, dropout=0.0, medoids=4, meta_drop=0.0, context_hops=2, unlabelled=0.7, unlabelled_epochs=10, epochs=4
)


def uneven(graph: Graph) -> NodeSplit:
    """Training nodes with classes of different sizes."""
    kept = [c for i, c in enumerate(make_split(graph, "random", 0).train.tolist()) if graph.y[c] or i % 3 == 0]
    train = torch.tensor(kept)
    rest = torch.tensor(sorted(set(range(graph.n_nodes)) - set(kept)))
    return NodeSplit(train, rest[::2], rest[1::2], "uneven", 3, graph.y)


def prepared(graph: Graph, options: NodeImport) -> tuple[NodeProblem, ImportNetwork, ImportLoss]:
    problem = NodeProblem(graph, uneven(graph), 0)
    streams = problem.streams("test")
    network = ImportNetwork("gcn", 8, 8, 3, heads=1, dropout=options.dropout, generator=streams.init).train()
    return problem, network, ImportLoss(options, problem, network, streams)


def mean(losses: list[Tensor]) -> Tensor:
    return torch.stack(losses).mean() if losses else torch.tensor(0.0)


def test_the_first_epoch_is_plain_cross_entropy_without_the_medoids(small_graph: Graph) -> None:
    problem, network, loss = prepared(small_graph, OPTIONS)
    logits = network(small_graph)
    meta = loss.importance.meta.tolist()
    assert len(meta) == 12
    left = [i for i, node in enumerate(problem.train.tolist()) if node not in meta]
    expected = F.cross_entropy(logits[problem.train[left]], problem.labels[left])
    torch.testing.assert_close(loss(logits), expected)
    assert network.added is not None


def test_the_second_epoch_is_the_equation(small_graph: Graph) -> None:
    problem, network, loss = prepared(small_graph, OPTIONS)
    loss(network(small_graph))
    added, logits = network.added, network(small_graph)
    assert added is not None
    assert added.count > 0
    found = loss(logits)

    x = small_graph.x
    assert isinstance(x, Tensor)
    p = Context("appnp", 2, 0.1)(x, small_graph.operators, added)
    s, y = logits.detach().softmax(1), dict(zip(problem.train.tolist(), problem.labels.tolist(), strict=True))
    target = {node: F.one_hot(torch.tensor(c), 3).float() for node, c in y.items()}
    for node in set(range(150)) - set(y):
        target[node] = F.one_hot(s[node].argmax(), 3).float()
    for i in range(added.count):
        share = added.share[i]
        target[150 + i] = share * target[int(added.centre[i])] + (1 - share) * target[int(added.partner[i])]
    meta = loss.importance.meta.tolist()
    kept: dict[str, list[Tensor]] = {"train": [], "new": [], "rest": []}
    for i in range(150 + added.count):
        importance = sum((p[i] @ p[j]) * ((s[i] - target[i]) @ (s[j] - target[j])) for j in meta)
        if i not in meta and importance > 0:
            group = "new" if i >= 150 else "train" if i in y else "rest"
            kept[group].append(-(target[i] @ F.log_softmax(logits[i], 0)))
    assert all(kept.values())
    expected = mean(kept["train"]) + 0.5 * mean(kept["new"]) + 0.7 * math.cos(math.pi * 0.1) * mean(kept["rest"])
    torch.testing.assert_close(found, expected)


def test_the_unlabelled_fade_and_are_gone(small_graph: Graph) -> None:
    _, _, loss = prepared(small_graph, OPTIONS)
    seen = []
    for epoch in (1, 5, 9, 10, 11):
        loss.epoch = epoch
        seen.append(loss._fading())
    assert seen[0] > seen[1] > seen[2] > 0
    assert seen[3:] == [0.0, 0.0]
    assert seen[1] == pytest.approx(0.7 * math.cos(math.pi / 4))


@pytest.mark.parametrize(("drop", "expected"), [(0.0, 4), (0.5, 2), (0.7, 1), (0.9, 1)])
def test_a_part_of_the_medoids_of_each_class_is_used(small_graph: Graph, drop: float, expected: int) -> None:
    _, _, loss = prepared(small_graph, replace(OPTIONS, meta_drop=drop))
    draws = [loss._chosen() for _ in range(10)]
    for chosen in draws:
        assert torch.bincount(loss.meta_labels[chosen]).tolist() == [expected] * 3
        assert chosen.unique().numel() == chosen.numel()
    assert (len({tuple(sorted(c.tolist())) for c in draws}) > 1) == (drop > 0)


def test_terms_without_nodes_are_zero(small_graph: Graph) -> None:
    _, network, loss = prepared(small_graph, OPTIONS)
    loss(network(small_graph))
    total = len(network(small_graph))
    loss.importance = lambda *_: torch.zeros(total)  # type: ignore[assignment]
    logits = network(small_graph)
    value = loss(logits)
    value.backward()
    assert value == 0
    assert all(torch.isfinite(p.grad).all() for p in network.parameters() if p.grad is not None)


@pytest.mark.parametrize("backbone", ["gcn", "gat", "sage"])
def test_sparse_features_give_the_same(small_graph: Graph, backbone: str) -> None:
    assert isinstance(small_graph.x, Tensor)
    sparse = Graph(Sparse.from_dense(small_graph.x), small_graph.edge_index, small_graph.y)
    method = replace(OPTIONS, backbone=backbone)  # type: ignore[arg-type]
    one, other = (method.fit(NodeProblem(g, uneven(g), 0)) for g in (small_graph, sparse))
    assert one.prob is not None
    assert other.prob is not None
    torch.testing.assert_close(one.prob, other.prob, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("train", [[0], [0, 1, 2], "even"], ids=["one node", "one a class", "even classes"])
def test_few_training_nodes(small_graph: Graph, train: list[int] | str) -> None:
    by_class = [(small_graph.y == c).nonzero().flatten() for c in range(3)]
    if train == "even":
        nodes = torch.cat([own[:6] for own in by_class]).sort().values
    else:
        nodes = torch.stack([by_class[int(c)][0] for c in train]).sort().values
    rest = torch.tensor(sorted(set(range(150)) - set(nodes.tolist())))
    split = NodeSplit(nodes, rest[::2], rest[1::2], "few", 3, small_graph.y)
    answer = OPTIONS.fit(NodeProblem(small_graph, split, 0))
    assert answer.prob is not None
    assert torch.isfinite(answer.prob).all()
    assert all(math.isfinite(row["loss"]) for row in answer.log.history)
    if train != "even":  # no class can spare a medoid: every epoch is plain cross-entropy
        assert all(row["loss"] > 0 for row in answer.log.history)


def test_it_learns_classes_that_are_far_apart(graph: Graph) -> None:
    split = make_split(graph, "random", 0)
    for backbone in ("gcn", "gat", "sage"):
        answer = replace(OPTIONS, backbone=backbone, epochs=40).fit(NodeProblem(graph, split, 0))  # type: ignore[arg-type]
        assert answer.prob is not None
        assert split.score(answer.prob.log(), "test")[0] > 0.9


def test_links_are_read_from_the_hidden_layer(graph: Graph, split: LinkSplit) -> None:
    labels = make_split(graph, "random", 0).mask_labels(graph.y)
    problem = PairProblem(split, lambda: PairDecoder("dot"), labels, 3, 0)
    answer = replace(OPTIONS, epochs=30).fit(problem)
    assert answer.prob is None
    assert answer.pairs is not None
    assert answer.pairs("test").shape[0] == split.pairs("test").shape[1]
    assert answer.score[0] > 0.6
    assert any("hidden layer" in note for note in answer.notes)


def test_links_without_classes_are_refused(split: LinkSplit) -> None:
    with pytest.raises(InputError, match="nodeimport-gcn"):
        OPTIONS.fit(PairProblem(split, lambda: PairDecoder("dot"), None, 3, 0))


def test_heads_must_share_the_hidden_units(small_graph: Graph) -> None:
    with pytest.raises(InputError, match=r"nodeimport-gat\.hidden=6"):
        replace(OPTIONS, backbone="gat", hidden=6).fit(NodeProblem(small_graph, uneven(small_graph), 0))
