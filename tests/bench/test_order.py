"""What took least comes first, groups stay together, and what is not known keeps its place."""

from __future__ import annotations

from typing import Any

from bes.bench.order import Expected, cheapest_first
from bes.bench.units import Unit
from bes.config import RunConfig


def unit(dataset: str, arm: str, seed: int = 0, tune: int = 0) -> Unit:
    given = {"methods": (arm,), "tune": tune} if tune else {}
    return Unit(RunConfig.build(dataset, given=given), seed, (arm,))


def record(dataset: str, arm: str, took: float | None) -> dict[str, Any]:
    return {"dataset": dataset, "task": "node", "arm": arm, "took": took}


def test_the_same_data_count_before_other_data() -> None:
    slow, quick = unit("cora", "gat"), unit("cora", "gcn")
    there = [record("citeseer", "gat", 1.0), record("citeseer", "gcn", 9.0)]
    assert cheapest_first([quick, slow], Expected(there)) == [slow, quick]
    here = [record("cora", "gat", 8.0), record("cora", "gcn", 2.0), record("cora", "gcn", 4.0)]
    assert cheapest_first([slow, quick], Expected([*there, *here])) == [quick, slow]


def test_groups_stay_together_and_unknown_ones_are_as_dear_as_all() -> None:
    tuned = [unit("cora", "gcn", seed, tune=3) for seed in range(3)]
    other = [unit("cora", "gat", seed, tune=3) for seed in range(3)]
    new = [unit("cora", "sgc"), unit("cora", "sage")]
    known = Expected([record("cora", "gcn", 5.0), record("cora", "gat", 1.0), record("cora", "sgc", None)])
    assert cheapest_first([*tuned, *other, *new], known) == [*other, *new, *tuned]
    assert known.seconds(new[0]) == 3.0
    units = [*tuned, *other, *new]
    assert cheapest_first(units, Expected()) == units


def test_what_ends_is_learned() -> None:
    known = Expected()
    assert known.seconds(unit("cora", "gcn")) == 0.0
    known.learn(unit("cora", "gcn"), 4.0)
    assert known.seconds(unit("cora", "gcn", 7)) == 4.0


def test_an_arm_takes_longer_where_all_runs_do() -> None:
    known = Expected(
        [
            record("cora", "gcn", 1.0),
            record("pubmed", "gcn", 9.0),
            record("cora", "gat", 2.0),
            record("cora", "sgc", 0.0),
        ]
    )
    assert known.seconds(unit("pubmed", "gcn")) == 9.0, "known as it is"
    assert known.seconds(unit("pubmed", "gat")) == 2.0 * 9.0 / 3.0, "three times what a run takes"
    assert known.seconds(unit("pubmed", "sgc")) == 0.0
    assert known.seconds(unit("pubmed", "mlp")) == 9.0, "as all of its data"
    assert known.seconds(unit("texas", "gat")) == 2.0, "as it took elsewhere"
    assert known.seconds(unit("texas", "mlp")) == 3.0, "as all"
