from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, roc_auc_score
from torch import Tensor

from bes.graph.edge_splits import EdgeSplit, split_edges
from bes.graph.graph import Graph
from bes.tasks.edge import EdgeTask


@pytest.fixture(scope="module", params=[2, 3])
def split(request: pytest.FixtureRequest, small_graph: Graph) -> EdgeSplit:
    """Edges within a class and across, or by the larger of the classes of their ends."""
    graph = small_graph
    if request.param == 3:
        graph = replace(graph, edge_label=graph.y[graph.edge_index].amax(0))
    split = split_edges(graph)
    assert split.n_classes == request.param
    return split


@pytest.fixture
def logits(split: EdgeSplit) -> dict[str, Tensor]:
    """Logits that hint at the classes."""
    rng = torch.Generator().manual_seed(0)
    found = {}
    for part in split.parts:
        truth = split.reveal(part)
        hint = 2.0 * truth[:, None] - 1 if split.n_logits == 1 else torch.nn.functional.one_hot(truth, 3)
        found[part] = hint + torch.randn(truth.numel(), split.n_logits, generator=rng)
    return found


@pytest.fixture
def here(split: EdgeSplit) -> Tensor:
    return torch.rand(split.test.numel(), generator=torch.Generator().manual_seed(1)) < 0.4


def expected(truth: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """By scikit-learn and from the logits, which rank as the probabilities do."""
    if logits.shape[1] == 1:
        guess, auroc = (logits[:, 0] > 0).astype(int), roc_auc_score(truth, logits[:, 0])
    else:
        prob = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        guess, auroc = logits.argmax(1), roc_auc_score(truth, prob, multi_class="ovr", average="macro")
    return {
        "n": len(truth),
        "acc": accuracy_score(truth, guess),
        "balanced_acc": balanced_accuracy_score(truth, guess),
        "f1": f1_score(truth, guess, average="macro"),
        "auroc": auroc,
    }


def test_values_are_those_of_scikit_learn(split: EdgeSplit, logits: dict[str, Tensor], here: Tensor) -> None:
    found = EdgeTask(split, here).evaluate("control", logits)
    truth = {part: split._labels[getattr(split, part)].numpy() for part in ("val", "test")}
    score = {part: value.double().numpy() for part, value in logits.items()}
    assert list(found) == ["val", "test", "test_boundary"]
    for part in ("val", "test"):
        assert found[part] == pytest.approx(expected(truth[part], score[part]))
        assert found[part]["acc"] == pytest.approx(split.score(logits[part], part)[0])  # as validation selects
    at = here.numpy()
    assert 0 < at.sum() < len(at)
    assert found["test_boundary"] == pytest.approx(expected(truth["test"][at], score["test"][at]))


def test_sure_edges_keep_their_ranks(small_graph: Graph) -> None:
    """In float32 the probabilities of these would all round to zero and one."""
    split, rng = split_edges(small_graph), torch.Generator().manual_seed(0)
    plain = {part: torch.randn(split.reveal(part).numel(), 1, generator=rng) for part in split.parts}
    nowhere = torch.zeros(split.test.numel(), dtype=torch.bool)
    for shift in (-24, 24):
        sure = {part: value + shift for part, value in plain.items()}
        found = EdgeTask(split, nowhere).evaluate("control", sure)
        for part in split.parts:
            assert found[part]["auroc"] == pytest.approx(roc_auc_score(split.reveal(part), plain[part][:, 0]))
            assert found[part]["acc"] == pytest.approx(split.score(sure[part], part)[0])


def test_the_test_part_opens_once_for_an_arm(split: EdgeSplit, logits: dict[str, Tensor], here: Tensor) -> None:
    task = EdgeTask(split, here)
    first = task.evaluate("control", logits)
    assert task.evaluate("bes", logits) == first
    for arm in ("control", "bes"):
        with pytest.raises(RuntimeError, match=f"already opened for arm '{arm}'"):
            task.evaluate(arm, logits)


def test_no_edge_at_the_boundary(split: EdgeSplit, logits: dict[str, Tensor], here: Tensor) -> None:
    found = EdgeTask(split, torch.zeros_like(here)).evaluate("control", logits)
    assert found["test_boundary"] == {"n": 0, "acc": None, "balanced_acc": None, "f1": None, "auroc": None}
