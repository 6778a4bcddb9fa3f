"""The supervised contrastive loss against its double sum, over all anchors and over some."""

import math
from dataclasses import replace

import pytest
import torch
from oracles.methods import links_use_classes_and_need_them
from torch import Tensor
from torch.nn import functional as F

from bes.graph.sparse import Sparse
from bes.graph.splits import split_nodes
from bes.models.baselines import blocks
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.supcon import KeepingEncoder, Projected, SupCon, anchor_draw, contrast
from bes.seeding import generator
from models.blocks import block_graph


def naive(z: list[list[float]], labels: list[int], tau: float, anchors: list[int]) -> float:
    """L by its definition, a loop a sum."""

    def dot(i: int, j: int) -> float:
        return sum(a * b for a, b in zip(z[i], z[j], strict=True)) / tau

    total = 0.0
    for i in anchors:
        others = [a for a in range(len(z)) if a != i]
        bottom = math.log(sum(math.exp(dot(i, a)) for a in others))
        positives = [p for p in others if labels[p] == labels[i]]
        total -= sum(dot(i, p) - bottom for p in positives) / len(positives)
    return total / len(anchors)


def rows(n: int = 12, width: int = 5) -> Tensor:
    drawn = torch.randn(n, width, generator=generator(0, "rows"), dtype=torch.float64)
    return F.normalize(drawn, dim=1)


LABELS = torch.tensor([0, 1, 0, 2, 1, 0, 4, 1, 1, 0, 2, 0])  # class 3 has no row, class 4 a single one
ABLE = [i for i in range(12) if LABELS[i] != 4]


@pytest.mark.parametrize("tau", [0.1, 1.0])
@pytest.mark.parametrize("anchors", [ABLE, [7, 0, 3], [11]])
def test_the_loss_is_the_double_sum(tau: float, anchors: list[int]) -> None:
    z = rows()
    found = contrast(z, LABELS, tau, torch.tensor(anchors))
    assert found.item() == pytest.approx(naive(z.tolist(), LABELS.tolist(), tau, anchors), rel=1e-9)


@pytest.mark.parametrize("anchors", [ABLE, [7, 0, 3]])
@pytest.mark.parametrize("block", [1 << 22, 30])
def test_its_gradient_is_that_of_the_pair_matrix(
    anchors: list[int], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", block)  # 30: two rows at a time
    z = rows().requires_grad_()
    chosen = torch.tensor(anchors)
    (found,) = torch.autograd.grad(contrast(z, LABELS, 0.3, chosen), z)
    logits = (z @ z.T / 0.3).masked_fill(torch.eye(12, dtype=torch.bool), -torch.inf)
    same = (LABELS[:, None] == LABELS) & ~torch.eye(12, dtype=torch.bool)
    log = torch.where(same, logits.log_softmax(1), 0.0)[chosen].sum(1) / same.sum(1)[chosen]
    (expected,) = torch.autograd.grad(-log.mean(), z)
    torch.testing.assert_close(found, expected)


def test_an_anchor_without_a_positive_still_is_in_the_denominators() -> None:
    z, rng = rows(), generator(0)
    draw = anchor_draw(LABELS, 0, rng)
    assert draw().tolist() == ABLE
    alone = LABELS != 4
    fewer = contrast(z[alone], LABELS[alone], 0.1, torch.arange(11))
    assert contrast(z, LABELS, 0.1, draw()) > fewer


@pytest.mark.parametrize("labels", [[0], [2, 0, 1]])
def test_no_anchors_no_loss(labels: list[int]) -> None:
    given = torch.tensor(labels)
    anchors = anchor_draw(given, 2, generator(0))()
    assert anchors.numel() == 0
    assert contrast(rows(len(labels)), given, 0.1, anchors).item() == 0.0


def test_few_anchors_are_drawn_anew_in_each_step_and_on_average_give_the_whole() -> None:
    z = rows()
    draw = anchor_draw(LABELS, 4, generator(0))
    drawn = [draw() for _ in range(400)]
    assert all(one.unique().numel() == 4 and set(one.tolist()) <= set(ABLE) for one in drawn)
    assert len({tuple(one.tolist()) for one in drawn}) > 100
    mean = torch.stack([contrast(z, LABELS, 0.5, one) for one in drawn]).mean()
    assert mean.item() == pytest.approx(contrast(z, LABELS, 0.5, torch.tensor(ABLE)).item(), rel=0.02)


def test_classes_that_are_apart_have_the_smaller_loss() -> None:
    labels = torch.arange(8) % 2
    apart = F.one_hot(labels, 3).double()
    mixed = F.one_hot(torch.arange(8) // 2 % 2, 3).double()
    every = torch.arange(8)
    assert contrast(apart, labels, 0.1, every) < contrast(mixed, labels, 0.1, every)
    # three others at the same place and four at right angles
    assert contrast(apart, labels, 0.1, every).item() == pytest.approx(math.log(3 + 4 * math.exp(-10)))


def test_neither_the_names_of_classes_nor_the_order_of_rows_matter() -> None:
    z, order = rows(), torch.randperm(12, generator=generator(0))
    anchors = torch.tensor(ABLE)
    renamed = torch.tensor([3, 0, 1, 4, 2])[LABELS]
    expected = contrast(z, LABELS, 0.1, anchors)
    torch.testing.assert_close(contrast(z, renamed, 0.1, anchors), expected)
    torch.testing.assert_close(contrast(z[order], LABELS[order], 0.1, order.argsort()[anchors]), expected)


def test_the_hidden_layer_is_kept_in_training_only() -> None:
    graph = block_graph()
    encoder = KeepingEncoder("gcn", 12, 6, 3, dropout=0.5, generator=generator(0))
    network = Projected(encoder, 6, 4, generator(1))
    network.train()(graph, generator(2))
    nodes = torch.tensor([5, 0])
    hidden = encoder.embed(graph.x, graph.operators)[nodes]  # before dropout
    torch.testing.assert_close(encoder.hidden(nodes), hidden)
    first, _, last = network.projector
    z = (hidden @ first.weight.T + first.bias).relu() @ last.weight.T + last.bias
    torch.testing.assert_close(network.project(nodes), z / z.norm(dim=1, keepdim=True))
    with torch.no_grad():
        network.eval()(graph)
    assert encoder.kept is None
    assert not any("kept" in key for key in network.state_dict())


def test_sparse_features_give_the_same() -> None:
    graph = block_graph()
    thin = replace(graph, x=Sparse.from_dense(graph.x))
    split = split_nodes(graph)
    method = SupCon(hidden=8, width=8, epochs=10, anchors=20)
    dense, sparse = (method.fit(NodeProblem(one, split, 0)).prob for one in (graph, thin))
    torch.testing.assert_close(dense, sparse, atol=1e-4, rtol=1e-4)


def test_it_learns_and_its_loss_falls() -> None:
    graph = block_graph()
    split = split_nodes(graph)
    answer = SupCon(hidden=16, width=16, epochs=60).fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.6
    history = [row["loss"] for row in answer.log.history]
    assert history[-1] < 0.8 * history[0]


def test_one_training_node_a_class_trains_as_a_plain_network() -> None:
    graph = block_graph()
    split = split_nodes(graph)
    few = replace(split, train=torch.arange(3))
    answer = SupCon(hidden=8, epochs=5).fit(NodeProblem(graph, few, 0))
    assert answer.prob is not None
    assert answer.prob.isfinite().all()


def test_links_use_the_classes_of_training_nodes_and_need_them() -> None:
    links_use_classes_and_need_them(SupCon(hidden=8, epochs=5), "supcon", block_graph())
