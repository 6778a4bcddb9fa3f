"""A step counts when every rank has it, and a shard is whole or not there."""

from pathlib import Path

import torch
from oracles.ranks import ThreadRanks, on_threads

from bes.scale.sharded import KEPT, Shards


def _save(ranks: ThreadRanks, folder: Path, steps: list[int]) -> None:
    shards = Shards(folder, ranks)  # type: ignore[arg-type]
    for step in steps:
        shards.save("stage", step, {"a": torch.full((2,), float(step + ranks.rank))}, {"step": step})


def test_the_last_step_that_every_rank_has_is_loaded(tmp_path: Path) -> None:
    on_threads(2, lambda ranks: _save(ranks, tmp_path, [5, 10, 15] if ranks.rank else [5, 10]))
    found = on_threads(2, lambda ranks: Shards(tmp_path, ranks).load("stage"))  # type: ignore[arg-type]
    for rank, saved in enumerate(found):
        assert saved is not None
        assert saved[1] == {"step": 10}
        assert saved[0]["a"].tolist() == [10.0 + rank] * 2


def test_a_step_that_one_rank_never_had_does_not_count(tmp_path: Path) -> None:
    on_threads(2, lambda ranks: _save(ranks, tmp_path, [5] if ranks.rank else []))
    assert on_threads(2, lambda ranks: Shards(tmp_path, ranks).load("stage")) == [None, None]  # type: ignore[arg-type]


def test_only_the_last_steps_are_kept(tmp_path: Path) -> None:
    on_threads(1, lambda ranks: _save(ranks, tmp_path, [1, 2, 3, 4]))
    assert len(list(tmp_path.rglob("*"))) == KEPT + 1  # and the folder
