"""Shaping that was broken off on ranks goes on to the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from oracles.ranks import ThreadRanks, on_threads
from torch import Tensor

from bes.core.shaper import BoundaryShaper
from bes.scale.group import RankGroup
from bes.scale.halo import cut
from bes.scale.resume import ShapingShards
from bes.scale.sharded import Shards
from scale.on_gloo import OPTIONS, problem


class KilledError(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("at", [3, 8, 22])  # before the first state, in the first layer, in the second
@pytest.mark.parametrize(
    "options", [{"batch_size": 20}, {"batch_size": 500}, {"batch_size": 20, "displacement_sample": 30}]
)  # boundary nodes drawn, or all of them; the displacement from a sample that every rank draws for itself
def test_the_rest_is_done_and_the_result_is_the_same(tmp_path: Path, at: int, options: dict[str, int]) -> None:
    graph, labels, owner = problem(2)
    parts = list(cut(graph, owner, 2))

    def work(ranks: ThreadRanks, folder: Path, at: int | None) -> tuple[list[dict[str, Any]], Tensor]:
        part = parts[ranks.rank]
        group = RankGroup(part, None, ranks)  # type: ignore[arg-type]
        keeper = ShapingShards(Shards(folder, ranks), every=5)  # type: ignore[arg-type]
        shaper = BoundaryShaper(**{**OPTIONS, **options})

        def watch(iteration: int, *_: object) -> None:
            if iteration == at:
                raise KilledError

        shaper.fit(part.x, labels[part.own], callbacks=[watch], group=group, keeper=keeper)
        return shaper.history_, shaper.transform(part.x, group=group)

    straight = on_threads(2, lambda ranks: work(ranks, tmp_path / "straight", None))
    with pytest.raises(KilledError):
        on_threads(2, lambda ranks: work(ranks, tmp_path / "broken", at))
    began = {path.parent.name for path in (tmp_path / "broken").rglob("*-0.safetensors")}
    assert began == {3: set(), 8: {"shaping-1"}, 22: {"shaping-1", "shaping-2"}}[at]
    resumed = on_threads(2, lambda ranks: work(ranks, tmp_path / "broken", None))
    for (history, z), (expected, theirs) in zip(resumed, straight, strict=True):
        assert history == expected
        assert torch.equal(z, theirs)
