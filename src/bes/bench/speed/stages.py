"""The stages of a whole run, and shaping against the training of the encoders that it follows."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bes.bench.speed.model import Timing
from bes.config import RunConfig
from bes.graph.catalog import find, load
from bes.graph.datasets import lookup
from bes.pipeline import run_seed

GRAPHS = ("cora", "pubmed", "amazon_computers")

#: Seeds whose medians are taken.
SEEDS = (0, 1, 2)


def stages(graphs: tuple[str, ...] = GRAPHS) -> Iterator[Timing]:
    """Both forms of shaping on every graph that is here."""
    for name in graphs:
        if find(lookup(name)) is None:
            continue
        graph = load(name)
        for preset in ("paper", "strong"):
            config = RunConfig.build(name, preset=preset, given={"split": "random"})
            runs = [run_seed(config, graph, seed).arms[1].seconds for seed in SEEDS]
            each = {stage: 1000 * median(run[stage] for run in runs) for stage in runs[0]}
            for stage, took in each.items():
                yield Timing("stage", name, f"{preset}: {stage}", took)
            yield Timing("stage", name, f"{preset}: shaping against encoders", each["shaping"], each["encoders"])
