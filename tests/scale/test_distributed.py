"""Training by ranks gives the weights of one process, also when it is broken off."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from oracles.ranks import ThreadRanks, on_threads
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split
from bes.graph.synthetic import sbm
from bes.models.encoders import Encoder, EncoderEnsemble
from bes.scale.distributed import OwnSplit, train_on_ranks
from bes.scale.dropout import dropped_relu_
from bes.scale.exchange import Halo, RankOperators
from bes.scale.halo import GraphPart, cut
from bes.scale.sharded import Shards
from bes.training import TrainLog

OPTIONS = {"epochs": 30, "lr": 0.02, "weight_decay": 5e-4}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(n_nodes=150, n_classes=3, n_features=6, degree=6.0, separation=1.5)


@pytest.fixture(scope="module")
def split(graph: Graph) -> NodeSplit:
    return make_split(graph, "low:5", 0)


@pytest.fixture(scope="module")
def owner(split: NodeSplit) -> Tensor:
    """Rank 1 has a fifth of the nodes, and no training node."""
    part = (torch.arange(150) % 5 == 0).long()
    part[split.train] = 0
    return part


def _trained(
    ranks: ThreadRanks, part: GraphPart, split: OwnSplit, folder: Path, *, dropout: float = 0.0, **options: float
) -> tuple[dict[str, Tensor], TrainLog]:
    from bes import seeding

    encoder = Encoder("cheb", 6, 8, 3, dropout=dropout, generator=seeding.generator(0, "init", 0, "cheb"))
    ops = RankOperators(part, Halo(part, ranks))  # type: ignore[arg-type]

    def forward(epoch: int | None) -> Tensor:
        first = encoder.conv1(part.x, ops)
        hidden = first.relu_() if epoch is None else dropped_relu_(first, part.own, dropout, epoch)
        out: Tensor = encoder.conv2(hidden, ops)
        return out

    shards = Shards(folder, ranks)  # type: ignore[arg-type]
    log = train_on_ranks(encoder, forward, split, ranks, shards, every=5, **{**OPTIONS, **options})  # type: ignore[arg-type]
    return encoder.state_dict(), log


def test_the_weights_are_those_of_one_process(graph: Graph, split: NodeSplit, owner: Tensor, tmp_path: Path) -> None:
    alone = EncoderEnsemble(["cheb"], 8, dropout=0.0, random_state=0, device="cpu", **OPTIONS)  # type: ignore[arg-type]
    alone.fit(graph.without_labels(), split)
    parts = list(cut(graph, owner, 2))

    def work(ranks: ThreadRanks) -> tuple[dict[str, Tensor], TrainLog]:
        part = parts[ranks.rank]
        return _trained(ranks, part, OwnSplit.of(split, part.own), tmp_path)

    for weights, log in on_threads(2, work):
        torch.testing.assert_close(weights, dict(alone.encoders_[0].state_dict()), atol=1e-4, rtol=1e-4)
        assert log.best_epoch == alone.logs_[0].best_epoch
        for ours, theirs in zip(log.history, alone.logs_[0].history, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-4)


def test_any_number_of_ranks_drops_the_same(graph: Graph, split: NodeSplit, owner: Tensor, tmp_path: Path) -> None:
    def weights(part: Tensor, size: int) -> dict[str, Tensor]:
        parts = list(cut(graph, part, size))

        def work(ranks: ThreadRanks) -> dict[str, Tensor]:
            own = parts[ranks.rank]
            return _trained(ranks, own, OwnSplit.of(split, own.own), tmp_path / str(size), dropout=0.5)[0]

        return on_threads(size, work)[0]

    torch.testing.assert_close(weights(owner, 2), weights(torch.zeros_like(owner), 1), atol=1e-4, rtol=1e-4)


def test_a_training_that_was_broken_off_goes_on_to_the_same_bits(
    graph: Graph, split: NodeSplit, owner: Tensor, tmp_path: Path
) -> None:
    parts = list(cut(graph, owner, 2))

    def work(folder: Path, epochs: int) -> list[tuple[dict[str, Tensor], TrainLog]]:
        def one(ranks: ThreadRanks) -> tuple[dict[str, Tensor], TrainLog]:
            part = parts[ranks.rank]
            return _trained(ranks, part, OwnSplit.of(split, part.own), folder, dropout=0.5, epochs=epochs)

        return on_threads(2, one)

    straight = work(tmp_path / "straight", 30)
    work(tmp_path / "broken", 17)
    resumed = work(tmp_path / "broken", 30)
    for (weights, log), (expected, theirs) in zip(resumed, straight, strict=True):
        assert all(torch.equal(weights[key], expected[key]) for key in expected)
        assert log == theirs


def test_patience_ends_all_ranks_at_once(graph: Graph, split: NodeSplit, owner: Tensor, tmp_path: Path) -> None:
    parts = list(cut(graph, owner, 2))

    def work(ranks: ThreadRanks) -> TrainLog:
        part = parts[ranks.rank]
        return _trained(ranks, part, OwnSplit.of(split, part.own), tmp_path, epochs=300, patience=3)[1]

    first, second = on_threads(2, work)
    assert first == second
    assert len(first.history) == first.best_epoch + 4


def test_a_rank_knows_nothing_of_the_test_part(graph: Graph, split: NodeSplit, owner: Tensor) -> None:
    for part in cut(graph, owner, 2):
        own = OwnSplit.of(split, part.own)
        held = part.own[torch.cat([own.train, own.val])]
        assert not torch.isin(held, split.test).any()
        assert torch.equal(own.train_labels, graph.y[part.own[own.train]])
