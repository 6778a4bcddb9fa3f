"""The pull to class centres against loops, and the average that the centres are."""

import math
from dataclasses import replace

import pytest
import torch
from oracles.methods import links_use_classes_and_need_them
from torch import Tensor
from torch.nn import functional as F

from bes.graph.sparse import Sparse
from bes.graph.splits import split_nodes
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.prototypes import Centres, Prototypes
from bes.seeding import generator
from models.blocks import block_graph

LABELS = torch.tensor([0, 1, 0, 3, 1, 0, 1, 1])  # class 2 has no row, class 3 a single one


def rows(step: int = 0) -> Tensor:
    return F.normalize(torch.randn(8, 4, generator=generator(step, "rows"), dtype=torch.float64), dim=1)


def mean_of(z: Tensor, c: int) -> list[float]:
    own = [row for row, label in zip(z.tolist(), LABELS.tolist(), strict=True) if label == c]
    return [sum(column) / len(own) for column in zip(*own, strict=True)]


def test_centres_are_averages_over_steps_of_length_one() -> None:
    centres = Centres(LABELS, tau=0.1, momentum=0.9)
    steps = [rows(0), rows(1), rows(2)]
    found = [centres.follow(z) for z in steps]
    for place, c in enumerate([0, 1, 3]):
        average = mean_of(steps[0], c)
        for z, given in zip(steps, found, strict=True):
            if z is not steps[0]:
                average = [0.9 * a + 0.1 * b for a, b in zip(average, mean_of(z, c), strict=True)]
            length = math.sqrt(sum(a * a for a in average))
            assert given[place].tolist() == pytest.approx([a / length for a in average])


@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_the_loss_is_the_loop_over_nodes_and_classes(tau: float) -> None:
    z = rows()
    total = 0.0
    for row, label in zip(z.tolist(), LABELS.tolist(), strict=True):
        scores = {}
        for c in (0, 1, 3):
            mean = mean_of(z, c)
            length = math.sqrt(sum(a * a for a in mean))
            scores[c] = sum(a * b for a, b in zip(row, mean, strict=True)) / length / tau
        total -= scores[label] - math.log(sum(math.exp(score) for score in scores.values()))
    assert Centres(LABELS, tau, 0.9).loss(z).item() == pytest.approx(total / 8)


def test_centres_are_constants_for_the_gradient() -> None:
    z = rows().requires_grad_()
    loss = Centres(LABELS, 0.5, 0.9).loss(z)
    (found,) = torch.autograd.grad(loss, z)
    centres = Centres(LABELS, 0.5, 0.9).follow(z)
    assert not centres.requires_grad
    own = torch.tensor([0, 1, 0, 2, 1, 0, 1, 1])
    expected = ((z @ centres.T / 0.5).softmax(1) - F.one_hot(own, 3)) @ centres / 0.5 / 8
    torch.testing.assert_close(found, expected.detach())


def test_without_momentum_centres_are_those_of_the_step() -> None:
    centres = Centres(LABELS, 0.1, 0.0)
    centres.follow(rows(0))
    torch.testing.assert_close(centres.follow(rows(1)), Centres(LABELS, 0.1, 0.9).follow(rows(1)))


def test_a_class_whose_rows_cancel_gives_no_nan() -> None:
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    loss = Centres(torch.tensor([0, 0, 1]), 0.1, 0.9).loss(z)
    loss.backward()
    assert loss.isfinite()
    assert z.grad is not None
    assert z.grad.isfinite().all()


def test_sparse_features_give_the_same() -> None:
    graph = block_graph()
    thin = replace(graph, x=Sparse.from_dense(graph.x))
    split = split_nodes(graph)
    dense, sparse = (Prototypes(hidden=8, epochs=10).fit(NodeProblem(one, split, 0)).prob for one in (graph, thin))
    torch.testing.assert_close(dense, sparse, atol=1e-4, rtol=1e-4)


def test_it_learns_and_a_second_fit_starts_anew() -> None:
    graph = block_graph()
    split = split_nodes(graph)
    method = Prototypes(hidden=16, epochs=60)
    first, second = (method.fit(NodeProblem(graph, split, 0)).prob for _ in range(2))
    assert first is not None
    assert second is not None
    assert split.score(first.log(), "test")[0] > 0.6
    assert torch.equal(first, second)


def test_one_training_node_a_class_and_a_node_without_neighbours() -> None:
    graph = block_graph()
    edges = graph.edge_index[:, (graph.edge_index != 0).all(0)]
    lonely = replace(graph, edge_index=edges, x=graph.x.index_fill(0, torch.tensor([0]), 0.0))
    few = replace(split_nodes(graph), train=torch.arange(3))
    answer = Prototypes(hidden=8, epochs=5).fit(NodeProblem(lonely, few, 0))
    assert answer.prob is not None
    assert answer.prob.isfinite().all()


def test_links_use_the_classes_of_training_nodes_and_need_them() -> None:
    links_use_classes_and_need_them(Prototypes(hidden=8, epochs=5), "prototypes", block_graph())
