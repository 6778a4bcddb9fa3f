import pytest
import torch
from torch import Tensor, nn

from bes.graph.graph import Graph
from bes.graph.splits import split_nodes
from bes.training import Callback, Score, TrainLog, node_objective, train


class Line(nn.Module):
    """y = w x + b, from a fixed start, with a buffer that counts its training passes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[0.5]]))
        self.bias = nn.Parameter(torch.zeros(1))
        self.register_buffer("passes", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.passes += 1
        return x @ self.weight + self.bias


def run(scores: list[Score], callbacks: list[Callback] | None = None) -> tuple[Line, TrainLog]:
    """Train a line with one prescribed score an epoch."""
    model, left = Line(), iter(scores)
    x = torch.linspace(-1, 1, 5)[:, None]
    log = train(
        model,
        lambda: model(x),
        lambda out: (out - 3 * x - 1).square().mean(),
        lambda _out: next(left),
        epochs=len(scores),
        lr=0.1,
        weight_decay=0.0,
        callbacks=callbacks or [],
    )
    return model, log


def snapshots() -> tuple[list[dict[str, Tensor]], Callback]:
    states: list[dict[str, Tensor]] = []

    def record(_epoch: int, model: nn.Module, _row: dict[str, float]) -> None:
        states.append({key: value.clone() for key, value in model.state_dict().items()})

    return states, record


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([(0.1, -1.0), (0.9, -1.0), (0.5, -1.0)], 1),
        ([(0.5, -2.0), (0.5, -1.0), (0.5, -3.0)], 1),  # tie: lower loss
        ([(0.5, -1.0), (0.5, -1.0), (0.4, 0.0)], 0),  # full tie: the earlier
        ([(0.1, -1.0), (0.2, -1.0), (0.3, -1.0)], 2),
    ],
)
def test_the_best_epoch_is_restored_with_its_buffers(scores: list[Score], best: int) -> None:
    states, record = snapshots()
    model, log = run(scores, [record])
    assert log.best_epoch == best
    assert log.best_score == scores[best]
    assert all(torch.equal(value, states[best][key]) for key, value in model.state_dict().items())
    assert model.passes.item() == best + 1


def test_history_and_callbacks_see_each_epoch() -> None:
    seen: list[tuple[int, bool, dict[str, float]]] = []
    _, log = run(
        [(0.1, 0.0), (0.3, 0.0), (0.2, 0.0)], [lambda epoch, model, row: seen.append((epoch, model.training, row))]
    )
    assert [epoch for epoch, _, _ in seen] == [0, 1, 2]
    assert not any(training for _, training, _ in seen)
    assert [row for _, _, row in seen] == log.history
    assert [row["score"] for row in log.history] == [0.1, 0.3, 0.2]
    losses = [row["loss"] for row in log.history]
    assert losses == sorted(losses, reverse=True)


def test_the_score_has_no_effect_on_the_gradients() -> None:
    (first, record_first), (second, record_second) = snapshots(), snapshots()
    run([(0.1, 0.0), (0.2, 0.0), (0.3, 0.0)], [record_first])
    run([(0.9, 0.0), (0.2, 0.0), (0.1, 0.0)], [record_second])
    for one, two in zip(first, second, strict=True):
        assert all(torch.equal(one[key], two[key]) for key in one)


def test_no_epochs_leave_the_model_as_it_was() -> None:
    model, log = run([])
    assert all(torch.equal(value, Line().state_dict()[key]) for key, value in model.state_dict().items())
    assert log == TrainLog()


def test_a_trained_model_carries_no_gradients() -> None:
    model, _ = run([(0.1, 0.0)])
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.fixture
def graph() -> Graph:
    return Graph(torch.ones(20, 1), torch.tensor([[0], [1]]), torch.arange(20) % 2)


def test_node_objective_reads_train_for_the_loss_and_the_part_for_the_score(graph: Graph) -> None:
    split = split_nodes(graph)
    logits = torch.zeros(20, 2)
    logits[split.val] = 9 * nn.functional.one_hot(graph.y[split.val], 2).float()
    loss, score = node_objective(split)
    assert loss(logits).item() == pytest.approx(torch.tensor(2.0).log().item())
    assert score(logits)[0] == 1.0
    assert node_objective(split, "test")[1](logits)[0] == 0.5


def test_node_objective_without_validation_scores_train(graph: Graph) -> None:
    split = split_nodes(graph, train=0.6, val=0.0)
    logits = nn.functional.one_hot(graph.y, 2).float()
    assert node_objective(split)[1](logits) == split.score(logits, "train")
