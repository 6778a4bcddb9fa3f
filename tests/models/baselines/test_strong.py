"""Preset strong as a method: it is the paired run's arms, and says what its guard decided."""

import pytest
import torch

from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split
from bes.models.baselines import make_method
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.problem import Answer
from bes.models.encoder_shaper import REFUSED

FEW = {"epochs": 12, "channels": 8, "encoders": ["gcn", "sage", "mlp"], "keep": 2}


@pytest.fixture(scope="module")
def split(small_graph: Graph) -> NodeSplit:
    return make_split(small_graph, "low:3", 0)


def fitted(name: str, graph: Graph, split: NodeSplit, **options: object) -> Answer:
    answer: Answer = make_method(name, {**FEW, **options}).fit(NodeProblem(graph, split, 0))
    return answer


def test_without_shaping_it_is_the_encoders_that_validation_kept(small_graph: Graph, split: NodeSplit) -> None:
    answer = fitted("strong-unshaped", small_graph, split)
    assert len(answer.more["encoders_kept"]) == 2
    assert "guard" not in answer.more
    assert answer.log.best_epoch == -1


def test_what_the_guard_decided_is_said_and_done(small_graph: Graph, split: NodeSplit) -> None:
    plain = fitted("strong-unshaped", small_graph, split)
    shaped = fitted("strong", small_graph, split, shaping_epochs=10)
    guard = shaped.more["guard"]
    assert shaped.more["encoders_kept"] == plain.more["encoders_kept"]
    kept = guard["better"] >= guard["asked"] == 0.2 and guard["best_epoch"] >= 0
    assert shaped.log.best_epoch == (guard["best_epoch"] if kept else -1)
    assert (shaped.notes == [REFUSED]) != kept
    assert plain.prob is not None
    assert shaped.prob is not None
    assert torch.equal(plain.prob, shaped.prob) != kept


def test_an_epoch_that_changes_nothing_is_refused(small_graph: Graph, split: NodeSplit) -> None:
    shaped = fitted("strong", small_graph, split, shaping_epochs=1, lr=1e-12)
    assert shaped.log.best_epoch == -1
    assert shaped.notes == [REFUSED]
