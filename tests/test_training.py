import pytest
import torch
from torch import Tensor, nn

from bes.graph.edge_splits import split_edges
from bes.graph.graph import Graph
from bes.graph.links import split_links
from bes.graph.pairs import PairSplit
from bes.graph.splits import split_nodes
from bes.models.encoders import Encoder
from bes.seeding import generator
from bes.training import Callback, Score, TrainLog, node_objective, pair_objective, train


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


def run(
    scores: list[Score], callbacks: list[Callback] | None = None, patience: int = 0, first: int = 0
) -> tuple[Line, TrainLog]:
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
        patience=patience,
        first=first,
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


@pytest.mark.parametrize("begun", [None, (0.0, -9.0), (0.9, -0.1)])
@pytest.mark.parametrize("patience", [0, 2])
def test_what_evaluation_shares_with_the_next_step_changes_no_bit(
    small_graph: Graph, begun: tuple[float, float] | None, patience: int
) -> None:
    """Same losses, same scores, same epoch, same parameters, with one first layer an epoch instead of two."""
    split, found, calls = split_nodes(small_graph, seed=0), [], []
    x, ops = small_graph.x, small_graph.operators
    for share in (False, True):
        rng = generator(0, "dropout")
        encoder = Encoder("gcn", small_graph.n_features, 8, split.n_classes, generator=generator(0, "init"))
        options = {"epochs": 12, "lr": 0.05, "weight_decay": 5e-4, "patience": patience, "begun": begun}
        objective = node_objective(split)

        def embed(encoder: Encoder = encoder) -> Tensor:
            calls.append(encoder.training)
            return encoder.embed(x, ops)

        def read(hidden: Tensor, encoder: Encoder = encoder, rng: torch.Generator = rng) -> Tensor:
            return encoder.read(hidden, ops, rng)

        if share:
            log = train(encoder, read, *objective, shared=embed, **options)
        else:
            log = train(encoder, lambda encoder=encoder, rng=rng: encoder(x, ops, rng), *objective, **options)
        found.append((log, encoder.state_dict()))
    (plain, weights), (shared, others) = found
    assert plain == shared
    assert all(torch.equal(weights[key], others[key]) for key in weights)
    assert len(calls) == len(shared.history) + 1


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


@pytest.mark.parametrize(
    ("patience", "best", "epochs"),
    [(1, 1, 3), (2, 1, 4), (3, 4, 8), (4, 4, 9), (5, 9, 10), (0, 9, 10)],
)
def test_patience_stops_training_at_the_best_weights(patience: int, best: int, epochs: int) -> None:
    """A score that is as good is no better; a better one, if only in its loss, starts the count again."""
    values = [0.1, 0.5, 0.4, 0.5, 0.6, 0.6, 0.2, 0.6, 0.6, 0.6]
    scores = [(value, -1.0) for value in values[:-1]] + [(values[-1], -0.5)]
    states, record = snapshots()
    model, log = run(scores, [record], patience)
    assert (log.best_epoch, len(log.history)) == (best, epochs)
    assert log.best_score == scores[best]
    assert all(torch.equal(value, states[best][key]) for key, value in model.state_dict().items())
    assert all(torch.equal(states[-1][key], snapshots_of(scores)[epochs - 1][key]) for key in states[-1])


def snapshots_of(scores: list[Score]) -> list[dict[str, Tensor]]:
    """The weights of every epoch without patience: stopping must not change those before it."""
    states, record = snapshots()
    run(scores, [record])
    return states


@pytest.mark.parametrize(("patience", "epochs"), [(0, 6), (2, 5), (4, 6)])
def test_epochs_before_the_first_do_not_compete_and_do_not_wear_patience_out(patience: int, epochs: int) -> None:
    scores = [(0.9, 0.0), (0.8, 0.0), (0.1, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]
    states, record = snapshots()
    model, log = run(scores, [record], patience, first=2)
    assert (log.best_epoch, log.best_score, len(log.history)) == (2, (0.1, 0.0), epochs)
    for key, value in model.state_dict().items():
        assert torch.equal(value, states[2][key])


def test_patience_zero_never_stops() -> None:
    assert len(run([(1.0, 0.0)] + [(0.0, 0.0)] * 80)[1].history) == 81


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


@pytest.fixture(params=[split_links, split_edges])
def pairs(request: pytest.FixtureRequest, small_graph: Graph) -> PairSplit:
    return request.param(small_graph)


@pytest.mark.parametrize("frozen", [False, True])
def test_pair_objective_embeds_validation_once_if_frozen(pairs: PairSplit, frozen: bool) -> None:
    z = torch.randn(150, 4, generator=generator(0, "z"))
    weight, embedded = torch.ones(4, 1), []

    def embed(h: Tensor, given: Tensor) -> Tensor:
        embedded.append(given)
        return h[given[0]] * h[given[1]]

    _, score = pair_objective(pairs, embed, lambda e: e @ weight, 10, generator(0, "draw"), frozen=frozen)
    for factor in (1.0, -1.0, 0.5):  # what reads the embeddings does change
        weight *= factor
        u, v = pairs.pairs("val")
        assert score(z) == pairs.score((z[u] * z[v]) @ weight, "val")
    assert len(embedded) == (1 if frozen else 3)
    assert all(torch.equal(given, pairs.pairs("val")) for given in embedded)


def test_pair_objective_follows_the_embeddings_unless_frozen(pairs: PairSplit) -> None:
    z = torch.randn(2, 150, 4, generator=generator(0, "z"))

    def scores(frozen: bool) -> list[Score]:
        embed = lambda h, given: (h[given[0]] * h[given[1]]).sum(1, keepdim=True)  # noqa: E731
        score = pair_objective(pairs, embed, lambda e: e, 10, generator(0, "draw"), frozen=frozen)[1]
        return [score(z[0]), score(z[1])]

    assert scores(frozen=False)[0] != scores(frozen=False)[1]
    assert scores(frozen=True) == [scores(frozen=False)[0]] * 2


def test_pair_objective_takes_the_loss_of_fresh_training_pairs(pairs: PairSplit) -> None:
    z, seen = torch.randn(150, 4, generator=generator(0, "z")), []

    def embed(h: Tensor, given: Tensor) -> Tensor:
        seen.append(given)
        return (h[given[0]] * h[given[1]]).sum(1, keepdim=True)

    loss, _ = pair_objective(pairs, embed, lambda e: e, 12, generator(0, "draw"), frozen=True)
    rng = generator(0, "draw")
    for step in range(2):
        given, truth = pairs.training_pairs(12, rng)
        logits = (z[given[0]] * z[given[1]]).sum(1)
        expected = -nn.functional.logsigmoid(torch.where(truth == 1, logits, -logits)).mean()
        torch.testing.assert_close(loss(z), expected)
        assert torch.equal(seen[step], given)
    assert not torch.equal(seen[0], seen[1])
