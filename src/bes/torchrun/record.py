"""What ranks leave of a seed, put together, scored and recorded."""

from __future__ import annotations

import shutil
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from bes.graph.splits import NodeSplit
from bes.pipeline import describe
from bes.pipeline.ranks import RankResult
from bes.pipeline.results import ArmResult, SeedResult, kept_rows, score_nodes
from bes.records import RunDirectory
from bes.tasks.node import NodeTask
from bes.torchrun.plan import Plan


def record(plan: Plan, seed: int, result: RankResult, told: list[dict[str, Any]]) -> None:
    """Put together what the ranks have left of a seed, score it, and add it to the run's folder."""
    kept = [plan.kept(seed, rank) for rank in range(len(told))]
    order = torch.cat([load_file(plan.part(rank))["own"] for rank in range(len(told))]).argsort()

    def whole(name: str) -> Tensor:
        return torch.cat([one.load(name) for one in kept])[order]

    arrays = load_file(plan.split(seed, "all"))
    name, n_classes = bytes(arrays.pop("name").tolist()).decode(), int(arrays.pop("n_classes"))
    split = NodeSplit(arrays["train"], arrays["val"], arrays["test"], name, n_classes, arrays["labels"])
    stages = [whole(f"stage.{i}") for i in range(sum(name.startswith("stage.") for name in kept[0].names()))]
    task, shaper = NodeTask(split, stages[0]), result.model.shaper
    assert shaper is not None  # check_ranks has refused what has none
    boundaries = [at.nonzero().flatten().numpy() for at in whole("boundaries").T]
    shaper.boundary_, shaper.region_sizes_, shaper.history_ = boundaries, result.region_sizes, result.history
    arms = [_arm(arm, task, whole(f"prob.{arm}"), result, told) for arm in ("control", "bes")]
    arms[1].shaped_by(shaper, result.notes)
    describe(arms, *plan.facts)
    rows = kept_rows(stages, boundaries, list(whole("shift_scores").T.numpy()))
    directory = RunDirectory(plan.path, plan.config, plan.data_hash)
    directory.add(SeedResult(seed, split.arrays(), arms, rows, result.history, result.model))
    shutil.rmtree(plan.folder / str(seed), ignore_errors=True)


def _arm(arm: str, task: NodeTask, prob: Tensor, result: RankResult, told: list[dict[str, Any]]) -> ArmResult:
    spent = result.seconds
    shaping = spent["shaping"] if arm == "bes" else 0.0
    seconds = {"encoders": spent["encoders"], "shaping": shaping, "decoder": spent[f"decoder {arm}"]}
    found = score_nodes(arm, task, prob, seconds, "The decoder", "decoder.lr")
    found.selected = {"encoders": result.epochs["encoders"], "decoder": result.epochs[arm]}
    peaks = [one["peak_mib"] for one in told]
    found.peak_mib = None if None in peaks else max(peaks)
    found.more |= {
        "ranks": len(told),
        "rank_peak_mib": peaks,
        "rank_nodes": [one["nodes"] for one in told],
        "traffic": _added_up([one["traffic"] for one in told]),
    }
    return found


def _added_up(told: list[dict[str, dict[str, dict[str, int]]]]) -> dict[str, dict[str, dict[str, int]]]:
    """Traffic of all ranks: bytes added up; messages are the same on every rank, and counted once."""
    total: dict[str, dict[str, dict[str, int]]] = {}
    for stage, kinds in told[0].items():
        total[stage] = {}
        for kind, first in kinds.items():
            size = sum(one.get(stage, {}).get(kind, {"bytes": 0})["bytes"] for one in told)
            total[stage][kind] = {"messages": first["messages"], "bytes": size}
    return total
