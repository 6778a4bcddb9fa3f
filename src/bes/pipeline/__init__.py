"""The way through the house, by task: check what was asked for, run one seed of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bes import seeding
from bes.config import RunConfig
from bes.core.options import check_options
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.models.convs import CONVS, pick
from bes.pipeline.node import check_nodes, run_node_rival, run_nodes
from bes.pipeline.pairs import check_pairs, run_pair_rival, run_pairs
from bes.pipeline.results import ArmResult, SeedResult, make_shaper
from bes.pipeline.trained import Trained
from bes.progress import Watch

#: Every run has both; they share split, encoders and decoder seed.
ARMS = ("control", "bes")


def arms_of(config: RunConfig) -> tuple[str, ...]:
    """The arms that a run of this configuration records."""
    return (*ARMS, *config.rivals)


def check(config: RunConfig, graph: Graph, seeds: list[int]) -> None:
    """Refuse, before anything is trained or written, what `run_seed` would refuse on the way."""
    seeding.pick_device(config.device)
    if not config.encoders.names:
        raise InputError(f"The setting encoders.names is empty: name some of {', '.join(CONVS)}.")
    for name in config.encoders.names:
        pick(CONVS, name, "encoder")
    check_options(make_shaper(config, 0))
    (check_nodes if config.task == "node" else check_pairs)(config, graph, seeds)


def run_seed(
    config: RunConfig, graph: Graph, seed: int, watchers: Sequence[Watch] = (), trained: Trained[Any] | None = None
) -> SeedResult:
    """Every arm of one seed, paired on one split; the watchers are told of each stage and its steps.

    Args:
        trained: Encoders of an earlier run on this graph; what is trained anew is left there for the next one.
    """
    return (run_nodes if config.task == "node" else run_pairs)(config, graph, seed, watchers, trained)


def run_rival(config: RunConfig, graph: Graph, seed: int, arm: str) -> ArmResult:
    """One rival by itself, on the split that `run_seed` uses: there is no shaping in it, and no boundary."""
    return (run_node_rival if config.task == "node" else run_pair_rival)(config, graph, seed, arm)
