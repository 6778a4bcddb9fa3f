"""The way through the house, by task: check what was asked for, run one seed of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bes import seeding
from bes.config import RunConfig
from bes.core.options import check_options
from bes.errors import InputError
from bes.graph.datasets import known
from bes.graph.graph import Graph
from bes.graph.variants import base_name
from bes.models.convs import CONVS, pick
from bes.pipeline.batching import check_batching, memory_of
from bes.pipeline.encoders import run_encoders
from bes.pipeline.methods import Studies, check_methods, method_arm, resolved, run_methods, with_networks
from bes.pipeline.node import check_nodes, run_nodes
from bes.pipeline.pairs import check_pairs, run_pairs
from bes.pipeline.results import ArmResult, SeedResult, make_shaper
from bes.pipeline.trained import Trained
from bes.pipeline.tuning import Study
from bes.progress import Watch

#: Every run has both; they share split, encoders and decoder seed.
ARMS = ("control", "bes")


def arms_of(config: RunConfig) -> tuple[str, ...]:
    """The arms that a run of this configuration records."""
    beside = [name for name in config.rivals if name not in config.methods]
    return (*((*ARMS, *beside) if config.paired else ()), *config.methods_alone)


def check(config: RunConfig, graph: Graph, seeds: list[int]) -> None:
    """Refuse, before anything is trained or written, what `run_seed` would refuse on the way."""
    seeding.pick_device(config.device)
    if not config.encoders.names:
        raise InputError(f"The setting encoders.names is empty: name some of {', '.join(CONVS)}.")
    for name in config.encoders.names:
        pick(CONVS, name, "encoder")
    for_nodes = {
        "shaping=encoders": config.shaping == "encoders",
        "crossfit": config.crossfit,
        "keep": config.encoders.keep,
        f"scoring={config.scoring}": config.scoring != "accuracy",
    }
    for setting, given in for_nodes.items():
        if given and config.task != "node":
            raise InputError(f"The setting {setting} is for nodes, not for --task {config.task}: leave it out.")
    check_batching(config)
    check_options(make_shaper(config, 0))
    check_methods(config, graph)
    (check_nodes if config.task == "node" else check_pairs)(config, graph, seeds)


def run_seed(
    config: RunConfig,
    graph: Graph,
    seed: int,
    watchers: Sequence[Watch] = (),
    trained: Trained[Any] | None = None,
    studies: Studies | None = None,
    only: str | None = None,
) -> SeedResult:
    """Every arm of one seed, paired on one split; the watchers are told of each stage and its steps.

    Args:
        trained: Encoders of an earlier run on this graph; what is trained anew is left there for the next one.
        studies: What tuning found for the methods; where it is wanted and missing, it is done here.
        only: Of a run of methods alone, this one.
    """
    if not config.paired:
        result = run_methods(config, graph, seed, watchers, studies, only)
    else:
        by_task = {"node": run_nodes if config.shaping == "layers" else run_encoders}
        result = by_task.get(config.task, run_pairs)(config, graph, seed, watchers, trained, studies)
    describe(result.arms, *facts_of(config, graph))
    return result


def facts_of(config: RunConfig, graph: Graph) -> tuple[list[str], dict[str, Any]]:
    """What every record says of the data and of memory: notes, and more fields."""
    info = known(base_name(config.dataset))
    return [info.warning] if info and info.warning else [], {
        "batching": "parts" if config.batching == "parts" else "full",
        "memory_estimate_mib": round(memory_of(config, graph).peak, 1),
    }


def describe(arms: list[ArmResult], notes: list[str], more: dict[str, Any]) -> None:
    """Add the facts to every arm, the data's notes first."""
    for arm in arms:
        arm.notes = [*notes, *(note for note in arm.notes if note not in notes)]
        arm.more |= more


def run_rival(config: RunConfig, graph: Graph, seed: int, arm: str, study: Study | None = None) -> ArmResult:
    """One method or rival by itself, on the split that `run_seed` uses: there is no shaping in it, and no boundary."""
    named = arm in config.methods
    plan = resolved(config) if named else with_networks(config.model_copy(update={"rivals": (arm,)}))
    pick(plan.methods, arm, "arm")
    found = method_arm(plan, graph, seed, arm, study=study)
    describe([found], *facts_of(config, graph))
    return found
