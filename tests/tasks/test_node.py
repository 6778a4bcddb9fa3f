from dataclasses import replace

import numpy as np
import pytest
import torch

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split
from bes.metrics import classification
from bes.models.decoders import Decoder
from bes.tasks.node import NodeTask, check_labels, evaluate


@pytest.fixture
def split(small_graph: Graph) -> NodeSplit:
    return make_split(small_graph, "random:plain", seed=0)


def rolled(graph: Graph, nodes: torch.Tensor) -> Graph:
    """The graph with other labels on `nodes`."""
    y = graph.y.clone()
    y[nodes] = (y[nodes] + 1 + nodes % 2) % graph.n_classes  # not each class into one other
    return replace(graph, y=y)


def test_the_test_part_opens_once_for_an_arm(small_graph: Graph, split: NodeSplit) -> None:
    task = NodeTask(split, small_graph.x)
    prob = torch.full((150, 3), 1 / 3)
    first = task.evaluate("control", prob)
    assert task.evaluate("bes", prob) == first
    for arm in ("control", "bes"):
        with pytest.raises(RuntimeError, match=f"already opened for arm '{arm}'"):
            task.evaluate(arm, prob)


def test_metrics_are_those_of_each_part(small_graph: Graph, split: NodeSplit) -> None:
    prob = torch.rand(150, 3, generator=torch.Generator().manual_seed(0)).softmax(1)
    task = NodeTask(split, small_graph.x)
    found = task.evaluate("control", prob)
    y = small_graph.y.numpy()
    for part in ("val", "test"):
        nodes = split.nodes(part).numpy()
        assert found[part] == classification(y[nodes], prob.numpy()[nodes])
    nodes = split.test.numpy()[task.test_boundary]
    assert 0 < len(nodes) < len(split.test)
    assert found["test_boundary"] == classification(y[nodes], prob.numpy()[nodes])


def test_boundary_nodes_have_training_neighbours_of_several_classes(small_graph: Graph, split: NodeSplit) -> None:
    x, y = small_graph.x.double(), small_graph.y
    expected = []
    for node in split.test:
        near = (x[split.train] - x[node]).square().sum(1).argsort()[:5]
        expected.append(len(set(y[split.train][near].tolist())) > 1)
    assert NodeTask(split, small_graph.x).test_boundary.tolist() == expected


def test_boundary_nodes_do_not_depend_on_the_labels_of_test_or_validation(small_graph: Graph, split: NodeSplit) -> None:
    expected = NodeTask(split, small_graph.x).test_boundary
    for part in ("val", "test"):
        changed = make_split(rolled(small_graph, split.nodes(part)), "random:plain", seed=0)
        assert torch.equal(changed.test, split.test)
        assert np.array_equal(NodeTask(changed, small_graph.x).test_boundary, expected)


def test_evaluate_scores_a_fitted_decoder(small_graph: Graph, split: NodeSplit) -> None:
    decoder = Decoder("mlp", epochs=3).fit(small_graph, small_graph.x, split)
    found = evaluate(decoder, small_graph, small_graph.x, split)
    guess = decoder.predict(small_graph, small_graph.x)[split.test]
    assert found["test"]["acc"] == pytest.approx((guess == small_graph.y[split.test]).float().mean().item())
    assert set(found) == {"val", "test"}


def test_labels_that_cannot_be_learned_from(small_graph: Graph) -> None:
    masks = {f"{part}_mask": torch.zeros(150, dtype=torch.bool) for part in ("train", "val", "test")}
    masks["train_mask"][(small_graph.y < 2).nonzero().flatten()[:20]] = True
    masks["test_mask"][-20:] = True
    masks["test_mask"] &= ~masks["train_mask"]
    masks["val_mask"] = ~(masks["train_mask"] | masks["test_mask"])
    graph = replace(small_graph, masks=masks, name="mine")
    split = make_split(graph, "mask")
    with pytest.raises(InputError, match=r"Class 2 of graph 'mine' has no training node under split 'mask': use"):
        check_labels(graph, split, allow_missing=False)
    check_labels(graph, split, allow_missing=True)
    graph = replace(graph, y=torch.zeros_like(graph.y))
    with pytest.raises(InputError, match=r"graph 'mine' under split 'mask' holds one class only"):
        check_labels(graph, make_split(graph, "mask"), allow_missing=True)
