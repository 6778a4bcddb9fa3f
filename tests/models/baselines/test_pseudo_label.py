"""Which predictions join the training, when, and with what loss."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from bes.core.soft import smoothed
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import split_nodes
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.pseudo_label import Joined, PseudoLabel
from bes.models.baselines.two_layer import TwoLayer
from bes.seeding import generator
from models.blocks import block_graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Node 5 has no neighbours."""
    whole = block_graph()
    return replace(whole, edge_index=whole.edge_index[:, (whole.edge_index != 5).all(0)])


def problem_of(graph: Graph) -> NodeProblem:
    return NodeProblem(graph, split_nodes(graph, 0.1, 0.4), 0)


def soft() -> Tensor:
    return torch.randn(120, 3, generator=generator(0, "soft")).softmax(1)


def test_predictions_join_from_the_start_epoch_every_few_epochs(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(graph)
    method = PseudoLabel(start=3, every=2, epochs=10)
    joined = Joined(method, problem, method.network(problem, generator(0)))
    at: list[int] = []
    monkeypatch.setattr(joined, "choose", lambda: at.append(joined.epoch - 1))
    for _ in range(10):
        assert joined(soft()).item() == 0.0  # nothing was chosen
    assert at == [3, 5, 7, 9]


def test_the_loss_is_cross_entropy_on_the_chosen_half(graph: Graph) -> None:
    problem = problem_of(graph)
    method = PseudoLabel(start=0, weight=0.3, hidden=8)
    network = method.network(problem, generator(0))
    out = network.train()(problem.graph, generator(1))
    joined = Joined(method, problem, network)
    loss = joined(out)
    assert network.training
    truth, operator = F.one_hot(problem.labels, 3).float(), problem.graph.operators.gcn
    prob = smoothed(network.eval()(problem.graph).softmax(1), operator, problem.train, truth, 2)
    top = prob.sort(1, descending=True).values
    margin = {i: (top[i, 0] - top[i, 1]).item() for i in problem.unlabelled.tolist()}
    half = sorted(margin, key=lambda i: -margin[i])[: len(margin) // 2]
    assert sorted(joined.nodes.tolist()) == sorted(half)
    expected = -sum(out[i].log_softmax(0)[prob[i].argmax()].item() for i in half) / len(half)
    assert loss.item() == pytest.approx(0.3 * expected, rel=1e-5)
    assert loss.requires_grad
    assert not set(joined.nodes.tolist()) & set(problem.train.tolist())


def test_until_predictions_join_it_is_the_plain_network(graph: Graph) -> None:
    split = split_nodes(graph, 0.1, 0.4)
    plain = TwoLayer(hidden=16, epochs=12).fit(NodeProblem(graph, split, 0)).log.history
    later = PseudoLabel(hidden=16, epochs=12, start=8).fit(NodeProblem(graph, split, 0)).log.history
    assert plain[:8] == later[:8]
    assert all(one["loss"] < two["loss"] for one, two in zip(plain[8:9], later[8:9], strict=True))


def test_an_epoch_before_predictions_join_is_not_chosen(graph: Graph) -> None:
    split = split_nodes(graph, 0.1, 0.4)
    hasty = TwoLayer(hidden=16, epochs=40, lr=0.3).fit(NodeProblem(graph, split, 0)).log
    late = PseudoLabel(hidden=16, epochs=40, lr=0.3, start=39).fit(NodeProblem(graph, split, 0)).log
    assert hasty.best_epoch < 39
    assert late.best_epoch == 39
    assert late.best_score[0] == late.history[39]["score"]
    short = PseudoLabel(hidden=16, epochs=5, start=60).fit(NodeProblem(graph, split, 0)).log
    assert short.best_epoch == 4  # where none joins, the last one


def test_nodes_that_join_change_the_training_and_it_learns(graph: Graph) -> None:
    split = split_nodes(graph, 0.1, 0.4)
    answer = PseudoLabel(hidden=16, epochs=60, start=20).fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.5


def test_every_node_may_be_labelled(graph: Graph) -> None:
    split = replace(split_nodes(graph), train=torch.arange(120))
    answer = PseudoLabel(hidden=8, epochs=3, start=0).fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert answer.prob.isfinite().all()


def test_sparse_features_give_the_same(graph: Graph) -> None:
    thin = replace(graph, x=Sparse.from_dense(graph.x))
    split = split_nodes(graph, 0.1, 0.4)
    method = PseudoLabel(hidden=8, epochs=10, start=4, every=3)
    dense, sparse = (method.fit(NodeProblem(one, split, 0)).prob for one in (graph, thin))
    torch.testing.assert_close(dense, sparse, atol=1e-4, rtol=1e-4)
