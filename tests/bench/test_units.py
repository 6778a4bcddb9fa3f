"""Units of work: each once, with the encoders of the last where they are the same, and exactly the same figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from bes.bench import units as module
from bes.bench.convergence import converged
from bes.bench.model import ACCURACY, F1, PAIRED, Ask, Cell, Picture, Protocol, Sheet, Suite
from bes.bench.suites import SUITES
from bes.bench.units import Outcome, Unit, Worker, failed, of_picture, unit_of, units_of
from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.models.encoders import EncoderEnsemble
from bes.models.pair_encoders import PairEncoders
from bes.pipeline import run_seed
from bes.pipeline.methods import resolved
from bes.pipeline.tuning import Study

Quick = Callable[..., RunConfig]

DATA = "d" * 64
SHAPE = {"n_iter": 5, "alpha": 0.01, "tol": 0.0}


def suite(*asks: Ask, pictures: tuple[Picture, ...] = ()) -> Suite:
    cells = tuple(Cell(str(i), "c", ask) for i, ask in enumerate(asks))
    return Suite("s", "S", (Sheet("s", "S", Protocol("p", True, ""), (*cells, Cell("none", "c", None))),), pictures)


@pytest.fixture(scope="module")
def links(quick: Quick) -> Quick:
    """Quick settings for links."""
    return lambda **given: quick(
        **{"task": "link", "rivals": "", **given, "shaper": {**SHAPE, **given.get("shaper", {})}}
    )


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kind of every ensemble of encoders that is trained."""
    seen: list[str] = []
    for kind in (EncoderEnsemble, PairEncoders):

        def fit(self: Any, *args: Any, real: Any = kind.fit) -> Any:
            seen.append(type(self).__name__)
            return real(self, *args)

        monkeypatch.setattr(kind, "fit", fit)
    return seen


def told(outcome: Outcome) -> list[dict[str, Any]]:
    """The records but for what is about time, memory and reuse."""
    assert outcome.error == ""
    apart = ("seconds", "peak_mib", "encoders_reused", "convergence")
    records = [{key: value for key, value in record.items() if key not in apart} for record in outcome.records]
    steps = [{k: v for k, v in r.get("convergence", {}).items() if k != "seconds"} for r in outcome.records]
    return [record | {"converged": step} for record, step in zip(records, steps, strict=True)]


# Which units


def test_each_unit_is_there_once_whatever_asks_for_it(quick: Quick) -> None:
    asks = [Ask(quick(), arm, metric, (0, 1)) for arm in ("bes", "control") for metric in (ACCURACY, F1)]
    gcn, more = Ask(quick(), "gcn", ACCURACY, (1,)), Ask(quick(), "bes", ACCURACY, (0, 1, 2))
    found = units_of([suite(*asks, gcn), suite(more)])
    expected = [(0, PAIRED), (1, PAIRED), (1, ("gcn",)), (2, PAIRED)]
    assert sorted((unit.seed, unit.arms) for unit in found) == sorted(expected)
    assert unit_of(more) == [Unit(quick(), seed) for seed in range(3)]


def test_a_picture_stands_for_the_plain_run(quick: Quick) -> None:
    picture = Picture("Small NC", quick(), 1)
    asks = (Ask(quick(), "bes", ACCURACY, (0, 1)), Ask(quick(), "gcn", ACCURACY, (1,)))
    for suites in ([suite(*asks), suite(pictures=(picture,))], [suite(pictures=(picture,)), suite(*asks)]):
        found = units_of([*suites, suite(pictures=(picture,))])
        assert {(unit.seed, unit.arms, unit.picture) for unit in found} == {
            (0, PAIRED, ""),
            (1, PAIRED, "Small NC"),
            (1, ("gcn",), ""),
        }
        assert len(found) == 3
    assert of_picture(picture) == Unit(quick(), 1, PAIRED, "Small NC")


def test_units_with_the_same_encoders_are_side_by_side(quick: Quick) -> None:
    values = [Ask(quick(shaper={"tau": tau}), "bes", ACCURACY, (0, 1)) for tau in (1.0, 2.0, 3.0)]
    wide = Ask(quick(encoders={"channels": 4}), "bes", ACCURACY, (0,))
    found = units_of([suite(values[0], wide, *values[1:])])
    groups = [unit.group for unit in found]
    assert [(unit.seed, unit.config.shaper.tau) for unit in found[:3]] == [(0, 1.0), (0, 2.0), (0, 3.0)]
    assert len(found) == 7
    assert len(set(groups)) == 3
    assert sum(a != b for a, b in pairwise(groups)) == 2


def test_groups_are_side_by_side_in_all_suites_together() -> None:
    found = units_of(make() for make in SUITES.values())
    groups = [unit.group for unit in found]
    assert sum(a != b for a, b in pairwise(groups)) == len(set(groups)) - 1
    assert len(set(groups)) < len(found)
    assert len(set(found)) == len(found)


def test_a_group_is_what_shares_encoders(quick: Quick, links: Quick) -> None:
    same = [quick(), quick(shaper={"tau": 3.0}), quick(decoder={"epochs": 9}), quick(selection="test-peek")]
    assert len({Unit(config, 0).group for config in same}) == 1
    others = [Unit(quick(encoders={"epochs": 6}), 0), Unit(quick(), 1), Unit(quick(), 0, ("gcn",)), Unit(links(), 0)]
    others += [Unit(quick(), 0, PAIRED, "a picture"), Unit(quick(split="random:plain"), 0), Unit(quick(), 0)]
    others += [Unit(links(decoder={"kind": "dot"}), 0), Unit(links(links={"message": "all"}), 0)]
    assert len({unit.group for unit in others}) == len(others)


def test_titles_tell_runs_apart(quick: Quick, links: Quick) -> None:
    assert Unit(quick(), 3).title == "small, control+bes, seed 3"
    assert Unit(quick(selection="test-peek"), 0, ("gcn",)).title == "small, gcn, test-peek, seed 0"
    assert Unit(links(links={"message": "all"}), 0).title == "small links, control+bes, all, seed 0"


# Running them


def test_records_are_those_of_the_run_with_when_where_and_how_soon(small_graph: Graph, quick: Quick) -> None:
    unit = Unit(quick(), 0)
    outcome = Worker().run(unit, small_graph, DATA)
    result = run_seed(unit.config, small_graph, 0)
    control, bes = outcome.records
    for record, arm in zip((control, bes), result.arms, strict=True):
        assert record["metrics"] == arm.metrics
        assert (record["arm"], record["status"], record["data_hash"], record["seed"]) == (arm.arm, "done", DATA, 0)
        assert record["run_id"] == unit.run_ids(DATA, record["versions"]["bes"])[arm.arm]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
        assert re.fullmatch(r"\d+ cores, \S+, (a|no) GPU", record["machine"])
        assert "encoders_reused" not in record
    assert bes["convergence"] == converged(result.history, bes["seconds"]["shaping"])
    assert 0 < bes["convergence"]["iterations"] <= bes["convergence"]["of"] == len(result.history)
    assert "convergence" not in control
    assert outcome.unit is unit
    assert outcome.seconds > 0
    assert (outcome.result, outcome.curves, outcome.error) == (None, None, "")


@pytest.mark.parametrize("task", ["node", "link"])
def test_reused_encoders_give_exactly_the_same(
    task: str, small_graph: Graph, quick: Quick, links: Quick, fits: list[str]
) -> None:
    make = quick if task == "node" else links
    chain = [make(), make(shaper={"n_layers": 1}), make(shaper={"targets": "all"}), make()]
    chain += [make(decoder={"epochs": 9}), make(selection="test-peek")] if task == "node" else []
    worker = Worker()
    found = [worker.run(Unit(config, 0), small_graph, DATA) for config in chain]
    assert len(fits) == 1, "the encoders of the first"
    for i, (config, outcome) in enumerate(zip(chain, found, strict=True)):
        assert told(outcome) == told(Worker().run(Unit(config, 0), small_graph, DATA))
        assert [record.get("encoders_reused", False) for record in outcome.records] == [i > 0, i > 0]
        for record in outcome.records:
            assert record["seconds"]["encoders"] == found[0].records[0]["seconds"]["encoders"] > 0
    assert len({str(told(outcome)) for outcome in found}) == len(chain) - 1, "and the runs do differ"


def test_encoders_are_not_reused_for_others(small_graph: Graph, quick: Quick, links: Quick, fits: list[str]) -> None:
    other_data = quick().model_copy(update={"dataset": "other"})
    worker = Worker()
    chain = [Unit(quick(), 0), Unit(quick(), 1), Unit(quick(encoders={"epochs": 6}), 1), Unit(quick(), 1)]
    chain += [Unit(quick(features="length"), 1), Unit(other_data, 1), Unit(links(), 1)]
    chain += [Unit(links(links={"message": "all"}), 1), Unit(links(decoder={"kind": "dot"}), 1)]
    for i, unit in enumerate(chain, 1):
        outcome = worker.run(unit, small_graph, DATA)
        assert len(fits) == i
        assert not any("encoders_reused" in record for record in outcome.records)
        assert told(outcome) == told(Worker().run(unit, small_graph, DATA))
        fits.pop()


def test_other_data_under_the_old_settings_are_other_encoders(small_graph: Graph, quick: Quick) -> None:
    """The same configuration but for the name, and the graph turned: what was kept must not show."""
    config = quick().model_copy(update={"dataset": "turned"})
    y = (small_graph.y + 1) % 3
    turned = Graph(small_graph.x.flip(0), small_graph.edge_index, y, "turned")
    worker = Worker()
    worker.run(Unit(quick(), 0), small_graph, DATA)
    worker.run(Unit(config, 0), turned, DATA)
    back = worker.run(Unit(quick(), 0), small_graph, DATA)
    assert told(back) == told(Worker().run(Unit(quick(), 0), small_graph, DATA))
    assert "encoders_reused" not in back.records[0]


def test_a_rival_is_by_itself_and_leaves_the_encoders_alone(small_graph: Graph, quick: Quick, fits: list[str]) -> None:
    worker = Worker()
    worker.run(Unit(quick(), 0), small_graph, DATA)
    (record,) = worker.run(Unit(quick(), 0, ("gcn",)), small_graph, DATA).records
    assert (record["arm"], record["status"], record["boundary"]) == ("gcn", "done", [])
    assert "convergence" not in record
    assert len(fits) == 1, "a network by itself is no ensemble"
    again = worker.run(Unit(quick(shaper={"tau": 3.0}), 0), small_graph, DATA)
    assert again.records[0]["encoders_reused"]


def test_a_picture_has_its_result_and_its_whole_training(small_graph: Graph, quick: Quick, fits: list[str]) -> None:
    """Its curves begin with the encoders, so they are trained even if they are at hand."""
    worker = Worker()
    plain = worker.run(Unit(quick(), 0), small_graph, DATA)
    outcome = worker.run(Unit(quick(), 0, PAIRED, "a"), small_graph, DATA)
    assert len(fits) == 2
    assert told(outcome) == told(plain)
    assert outcome.result is not None
    assert outcome.result.arms[0].metrics == outcome.records[0]["metrics"]
    assert outcome.curves is not None
    stages = {stage["name"]: stage for stage in outcome.curves["stages"]}
    assert list(stages) == ["encoder gcn", "encoder cheb", "shaping of bes", "decoder of control", "decoder of bes"]
    for name, stage in stages.items():
        assert len(stage["seconds"]) == len(stage["loss"]) == len(stage["score"]) > 0
        assert stage["seconds"] == sorted(stage["seconds"])
        assert all((score is None) is name.startswith("shaping") for score in stage["score"])


def test_what_a_unit_raises_is_its_error(small_graph: Graph, quick: Quick, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    refused = worker.run(Unit(quick(split="mask"), 0), small_graph, DATA)
    assert re.fullmatch(r"Graph 'sbm' has no masks for split 'mask': .*\.", refused.error)
    unknown = worker.run(Unit(quick(), 0, ("gnc",)), small_graph, DATA)
    assert "'gnc' is not known" in unknown.error

    def broken(*_: Any) -> None:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_seed", broken)
        lost = worker.run(Unit(quick(), 0), small_graph, DATA)
    assert lost.error == "MemoryError: no room"
    for outcome in (refused, unknown, lost):
        assert (outcome.records, outcome.result) == ([], None)
        assert outcome.seconds >= 0
    assert worker.run(Unit(quick(), 0), small_graph, DATA).error == "", "and the next one runs"


def test_the_record_of_a_failure_is_found_as_the_run_would_be(small_graph: Graph, quick: Quick) -> None:
    unit = Unit(quick(), 0)
    done = Worker().run(unit, small_graph, DATA).records
    for record, arm in zip(done, PAIRED, strict=True):
        lost = failed(unit, arm, "It was killed.", DATA)
        assert (lost["status"], lost["error"]) == ("failed", "It was killed.")
        same = ("run_id", "config", "data_hash", "seed", "arm", "dataset", "task", "selection", "machine", "versions")
        assert {key: lost[key] for key in same} == {key: record[key] for key in same}
        assert "metrics" not in lost


def test_the_splits_of_a_method_share_one_study(
    small_graph: Graph, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned: list[str] = []

    def study(config: RunConfig, _: Graph, name: str) -> Study:
        tuned.append(name)
        return Study({**config.methods[name], "hidden": 4}, [{"options": {}, "score": 0.5, "seconds": 0.0}], {})

    monkeypatch.setattr("bes.bench.units.study_of", study)
    plain = resolved(quick(methods={"gcn": {"epochs": 3}}))
    config = plain.model_copy(update={"tune": 1})
    worker = Worker()
    for seed in (0, 1):
        (record,) = worker.run(Unit(config, seed, ("gcn",)), small_graph, DATA).records
        assert record["method"]["options"]["hidden"] == 4
        assert record["method"]["tuned"]["trials"] == 1
    assert tuned == ["gcn"]
    known = Study.of({**record["method"], "options": {**record["method"]["options"], "hidden": 5}})
    (later,) = Worker().run(Unit(config, 2, ("gcn",), study=known), small_graph, DATA).records
    assert later["method"]["options"]["hidden"] == 5
    assert later["method"]["tuned"] == record["method"]["tuned"]
    assert tuned == ["gcn"]
    (record,) = worker.run(Unit(plain, 0, ("gcn",)), small_graph, DATA).records
    assert "tuned" not in record["method"]
    assert len({Unit(config, seed, ("gcn",)).group for seed in (0, 1)}) == 1
    assert len({Unit(plain, seed, ("gcn",)).group for seed in (0, 1)}) == 2
