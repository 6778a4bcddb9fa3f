"""A grid of runs: what is missing is run once, by whom it should be, and recorded as it ends."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bes.bench import runner as module
from bes.bench.model import ACCURACY, Ask, Cell, Picture, Protocol, Sheet, Suite
from bes.bench.runner import Runner, picture_folder
from bes.bench.store import Store
from bes.bench.units import Outcome, Unit, Worker, failed
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.catalog import load
from bes.pipeline.methods import resolved
from bes.pipeline.tuning import Study
from bes.records import data_hash, library_version
from bes.stored import StoredRun

Make = Callable[..., RunConfig]


class Board:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.begun: tuple[int, int, int] | None = None
        self.started: list[Unit] = []
        self.ended: list[Outcome] = []

    def begin(self, todo: Sequence[Unit], done: int, jobs: int) -> None:
        self.begun = len(todo), done, jobs

    def start(self, unit: Unit) -> None:
        self.started.append(unit)

    def end(self, outcome: Outcome) -> None:
        self.ended.append(outcome)

    def tick(self) -> None:
        pass


class Crew:
    """Ends units in turn, or first as `ends` says; what each becomes is up to `work`."""

    def __init__(self, size: int, work: Callable[[Unit, str], Outcome], ends: Sequence[list[int]] = ()) -> None:
        self.size, self.work, self.ends = size, work, list(ends)
        self.at: dict[int, tuple[Unit, str]] = {}
        self.given: list[tuple[int, Unit]] = []
        self.closed = 0

    def start(self, worker: int, unit: Unit, data_hash: str) -> None:
        assert worker in range(self.size)
        assert worker not in self.at
        self.at[worker] = unit, data_hash
        self.given.append((worker, unit))

    def wait(self, seconds: float) -> list[tuple[int, Outcome]]:
        assert seconds > 0
        workers = self.ends.pop(0) if self.ends else [next(iter(self.at))]
        return [(worker, self.work(*self.at.pop(worker))) for worker in workers]

    def close(self) -> None:
        self.closed += 1


def pretend(unit: Unit, data: str) -> Outcome:
    """A unit that is done at once."""
    records = [
        {**failed(unit, arm, "", data), "status": "done", "metrics": {"test": {"acc": 0.5}}} for arm in unit.arms
    ]
    return Outcome(unit, records, 0.25)


def give_up(unit: Unit, _: str) -> Outcome:
    return Outcome(unit, [], 0.5, "It was killed.")


class Grid:
    """A store and suites, run by a crew that pretends unless told otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.crew: Crew | None = None

    def __call__(
        self,
        *suites: Suite,
        work: Any = pretend,
        ends: Sequence[list[int]] = (),
        jobs: int = 1,
        minutes: float | None = None,
        retry: bool = False,
    ) -> tuple[Runner, Board]:
        runner, board = Runner(suites, Store(self.path, library_version()), retry=retry), Board()
        self.crew = None

        def make(size: int) -> Crew:
            self.crew = Crew(size, work, ends)
            return self.crew

        runner.run(board, jobs=jobs, minutes=minutes, make_crew=make)
        assert self.crew is None or (self.crew.closed, self.crew.at) == (1, {})
        return runner, board

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.path / "records.jsonl").read_text().splitlines()]


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    return Grid(tmp_path / "store")


@pytest.fixture
def here(quick: Make, graph_file: Path) -> Make:
    """Quick settings on the small graph as a file."""
    return lambda **given: quick(**given).model_copy(update={"dataset": str(graph_file)})


def suite(*asks: Ask, pictures: tuple[Picture, ...] = ()) -> Suite:
    cells = tuple(Cell(str(i), "c", ask) for i, ask in enumerate(asks))
    return Suite("s", "S", (Sheet("s", "S", Protocol("p", True, ""), cells),), pictures)


def ask(config: RunConfig, arm: str = "bes", n: int = 3) -> Ask:
    return Ask(config, arm, ACCURACY, tuple(range(n)))


def test_what_is_missing_is_run_and_recorded_once(grid: Grid, here: Make) -> None:
    asked = suite(ask(here()), ask(here(), "gcn", 1))
    runner, board = grid(asked)
    assert board.begun == (4, 0, 1)
    assert board.started == [outcome.unit for outcome in board.ended] == runner.units
    assert [(line["seed"], line["arm"], line["took"]) for line in grid.lines()] == [
        *((seed, arm, 0.25) for seed in range(3) for arm in ("control", "bes")),
        (0, "gcn", 0.25),
    ]
    before = (grid.path / "records.jsonl").read_bytes()
    again, board = grid(asked)
    assert (again.todo, board.begun, board.started, grid.crew) == ([], (0, 4, 1), [], None)
    assert (grid.path / "records.jsonl").read_bytes() == before
    _, board = grid(asked, suite(ask(here(), n=4)))
    assert board.begun == (1, 4, 1)
    assert [unit.seed for unit in board.started] == [3]


def test_what_a_kill_left_half_is_run_again(grid: Grid, here: Make) -> None:
    grid(suite(ask(here())))
    whole = grid.lines()
    with (grid.path / "records.jsonl").open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in whole[:-1])
        file.write(json.dumps(whole[-1])[:50])
    _, board = grid(suite(ask(here())))
    assert [unit.seed for unit in board.started] == [2]
    assert grid.lines() == whole, "the control of seed 2 was there, and is not written again"


def test_failed_runs_are_left_alone_unless_asked_for(grid: Grid, here: Make) -> None:
    asked = suite(ask(here(), n=2), ask(here(), "gcn", 1))

    def sometimes(unit: Unit, data: str) -> Outcome:
        return give_up(unit, data) if unit.seed == 1 else pretend(unit, data)

    runner, board = grid(asked, work=sometimes)
    assert [outcome.error for outcome in board.ended] == ["", "It was killed.", ""]
    assert [(line["arm"], line["error"]) for line in grid.lines() if line["status"] == "failed"] == [
        ("control", "It was killed."),
        ("bes", "It was killed."),
    ]
    assert runner.failed() == [f"{runner.units[1].title}: It was killed."]
    runner, board = grid(asked)
    assert (board.begun, runner.todo) == ((0, 3, 1), [])
    runner, board = grid(asked, retry=True, work=give_up)
    assert [unit.seed for unit in board.started] == [1]
    runner, board = grid(asked, retry=True)
    assert (board.begun, [unit.seed for unit in board.started]) == ((1, 2, 1), [1])
    assert runner.failed() == []
    assert grid(asked, retry=True)[0].todo == []


def test_absent_data_are_counted_and_not_run(grid: Grid, here: Make, quick: Make) -> None:
    runner, board = grid(suite(ask(here(), n=1), ask(quick(), n=2)))  # there is no data set 'small'
    assert [unit.config.dataset for unit in runner.absent] == ["small", "small"]
    assert board.begun == (1, 0, 1)
    assert len(board.started) == 1
    (sentence,) = runner.absent_data
    assert "'small'" in sentence
    assert runner.failed() == []
    assert grid(suite(ask(quick())))[1].begun == (0, 0, 1)


def test_each_data_set_is_looked_up_once(grid: Grid, here: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = module.look_up
    monkeypatch.setattr(module, "look_up", lambda name: asked.append(name) or real(name))
    grid(suite(ask(here()), ask(here(shaper={"tau": 3.0}))))
    assert len(asked) == 1


@pytest.mark.parametrize(("given", "words"), [({"jobs": 0}, "--jobs 0"), ({"minutes": 0.0}, "--limit-minutes 0")])
def test_nobody_and_no_time_are_refused(grid: Grid, here: Make, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"^{words} leaves .*: use .*\.$"):
        grid(suite(ask(here())), **given)
    assert grid.crew is None


def test_there_are_no_more_workers_than_units(grid: Grid, here: Make) -> None:
    _, board = grid(suite(ask(here())), jobs=8)
    assert board.begun == (3, 0, 3)
    assert grid.crew is not None
    assert grid.crew.size == 3


def test_no_unit_starts_after_the_limit_and_those_at_work_end(
    grid: Grid, here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [50.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    def slow(unit: Unit, data: str) -> Outcome:
        now[0] += 40
        return pretend(unit, data)

    runner, board = grid(suite(ask(here(), n=10)), work=slow, jobs=2, minutes=1.5)
    # two at 0 s; one ends at 40 and at 80 s and another starts; at 120 s it is late, and the second comes to its end
    assert len(board.started) == len(board.ended) == 4
    assert {line["seed"] for line in grid.lines()} == {unit.seed for unit in board.started}
    assert len(runner.todo) == 10
    _, board = grid(suite(ask(here(), n=10)), jobs=2)
    assert board.begun == (6, 4, 2)


def test_workers_stay_with_their_encoders(grid: Grid, here: Make) -> None:
    """Three groups of four units for two workers: a group is one worker's, but for a tail that nobody else is for."""
    values = [ask(here(shaper={"tau": tau})) for tau in (1.0, 2.0, 3.0, 4.0)]
    grid(suite(*values), jobs=2)
    assert grid.crew is not None
    by_group: dict[str, set[int]] = {}
    for worker, unit in grid.crew.given:
        by_group.setdefault(unit.group, set()).add(worker)
    seeds = {worker: [unit.seed for w, unit in grid.crew.given if w == worker] for worker in (0, 1)}
    assert len(grid.crew.given) == 12
    assert seeds[0][:4] == [0] * 4
    assert seeds[1][:4] == [1] * 4
    assert set(seeds[0][4:] + seeds[1][4:]) == {2}
    assert sorted(map(len, by_group.values())) == [1, 1, 2], "at the end both help"


def test_workers_that_end_together_go_on_each_with_its_own_encoders(grid: Grid, here: Make) -> None:
    """Worker 0 is through with seed 0 and at seed 2 when both end: the rest of seed 1 is next, but not for it."""
    values = [ask(here(shaper={"tau": tau})) for tau in (1.0, 2.0, 3.0)]
    grid(suite(*values), jobs=2, ends=[[0], [0], [0], [0, 1]])
    assert grid.crew is not None
    given = [(worker, unit.seed) for worker, unit in grid.crew.given]
    assert given[:5] == [(0, 0), (1, 1), (0, 0), (0, 0), (0, 2)]
    assert sorted(given[5:7]) == [(0, 2), (1, 1)]


def test_an_interrupt_closes_the_crew_and_keeps_what_was_done(grid: Grid, here: Make) -> None:
    def stop(unit: Unit, data: str) -> Outcome:
        if unit.seed == 1:
            raise KeyboardInterrupt
        return pretend(unit, data)

    with pytest.raises(KeyboardInterrupt):
        grid(suite(ask(here())), work=stop)
    assert grid.crew is not None
    assert grid.crew.closed == 1
    assert {line["seed"] for line in grid.lines()} == {0}
    assert grid(suite(ask(here())))[1].begun == (2, 1, 1)


def test_a_second_runner_is_refused_meanwhile(grid: Grid, here: Make) -> None:
    refused = []

    def meet(unit: Unit, data: str) -> Outcome:
        with pytest.raises(InputError, match="Another `bes bench` writes into") as caught:
            Grid(grid.path)(suite(ask(here())))
        refused.append(str(caught.value))
        return pretend(unit, data)

    grid(suite(ask(here(), n=1)), work=meet)
    assert len(refused) == 1


# Pictures


def at_once(unit: Unit, data: str) -> Outcome:
    graph = load(unit.config.dataset)
    assert data == data_hash(graph)
    return Worker().run(unit, graph, data)


@pytest.mark.parametrize("task", ["node", "link"])
def test_the_run_of_a_picture_is_kept_whole(grid: Grid, here: Make, task: str) -> None:
    config = here(task=task, rivals="")
    drawn = suite(ask(config, n=1), pictures=(Picture("Small NC L1+2", config),))
    runner, _ = grid(drawn, work=at_once)
    (unit,) = runner.units
    place = runner.folder(unit)
    assert place == picture_folder(runner.store, unit, data_hash(load(config.dataset)))
    assert place.parent == grid.path / "runs"
    assert place.name.startswith("Small-NC-L1-2-")
    run = StoredRun(place)
    assert run.config == config
    assert [record["metrics"] for record in run.records] == [line["metrics"] for line in grid.lines()]
    assert run.graph.n_nodes == len(run.rows(0)["after"]) == 150
    assert len(run.history(0)) == run.records[1]["steps"]["tried"]
    assert run.predictions(0, "control")["prob"].shape[1] == (3 if task == "node" else 2)
    if task == "node":
        assert run.model(0).predict_proba(run.graph, "bes").shape == (150, 3)
    stages = json.loads((place / "curves.json").read_text())["stages"]
    assert {"shaping of bes", "decoder of control", "decoder of bes"} < {stage["name"] for stage in stages}
    assert grid(drawn)[0].todo == []


@pytest.mark.parametrize("lost", ["", "curves.json", "predictions/0-bes.npz", "records.jsonl", "models/0.safetensors"])
def test_what_is_lost_of_a_picture_is_made_again_and_recorded_once(grid: Grid, here: Make, lost: str) -> None:
    drawn = suite(pictures=(Picture("p", here()),))
    runner, _ = grid(drawn, work=at_once)
    place, before = runner.folder(runner.units[0]), grid.lines()
    (shutil.rmtree if not lost else Path.unlink)(place / lost)
    again, board = grid(drawn, work=at_once)
    assert len(board.ended) == 1
    assert grid.lines() == before
    assert (place / lost).exists()
    assert again.todo == again.units
    assert len(StoredRun(place).records) == 2
    assert grid(drawn)[0].todo == []


def test_a_picture_without_its_graph_is_made_again(grid: Grid, here: Make) -> None:
    drawn = suite(pictures=(Picture("p", here()),))
    runner, _ = grid(drawn, work=at_once)
    (runner.folder(runner.units[0]) / "graph.npz").unlink()
    grid(drawn, work=at_once)
    assert StoredRun(runner.folder(runner.units[0])).graph.n_nodes == 150


def test_what_a_kill_left_of_a_picture_is_cleared_away(grid: Grid, here: Make) -> None:
    drawn = suite(pictures=(Picture("p", here()),))
    runner = Runner([drawn], Store(grid.path, library_version()))
    place = runner.folder(runner.units[0])
    place.mkdir(parents=True)
    (place / "config.json").write_text("{")
    (place / "left.npz").touch()
    grid(drawn, work=at_once)
    assert StoredRun(place).seeds == [0]
    assert not (place / "left.npz").exists()


def test_a_plain_run_that_is_wanted_as_a_picture_is_run_once_more(grid: Grid, here: Make) -> None:
    grid(suite(ask(here(), n=2)), work=at_once)
    before = grid.lines()
    runner, board = grid(suite(ask(here(), n=2)), suite(pictures=(Picture("p", here(), 1),)), work=at_once)
    assert [(unit.seed, unit.picture) for unit in board.started] == [(1, "p")]
    assert grid.lines() == before
    run = StoredRun(runner.folder(board.started[0]))
    assert run.records[1]["metrics"] == before[3]["metrics"], "and is the same"


def test_a_picture_whose_run_failed_is_left_alone_unless_asked_for(grid: Grid, here: Make) -> None:
    drawn = suite(pictures=(Picture("p", here()),))
    grid(drawn, work=give_up)
    assert grid(drawn)[0].todo == []
    runner, _ = grid(drawn, work=at_once, retry=True)
    assert StoredRun(runner.folder(runner.units[0])).seeds == [0]


def test_a_method_is_not_tuned_again_for_its_other_splits(grid: Grid, here: Make) -> None:
    config = resolved(here(methods={"gcn": {"epochs": 3}})).model_copy(update={"tune": 2})

    def tuned(unit: Unit, data: str) -> Outcome:
        done = pretend(unit, data)
        found = {"trials": 1, "seed": 0, "space": {"hidden": [4, 8]}, "tried": [{"options": {"hidden": 8}}]}
        method = {"options": {"hidden": 8}, "settings": "own", "tuned": found}
        return replace(done, records=[{**record, "method": method} for record in done.records])

    grid(suite(ask(config, "gcn", 2)), work=tuned)
    assert grid.crew is not None
    first, second = (unit.study for _, unit in grid.crew.given)
    assert first is None
    assert second is not None, "another worker might be at it"
    grid(suite(ask(config, "gcn", 4), ask(config, "sage", 1)), work=tuned)
    studies = {(unit.arms[0], unit.seed): unit.study for _, unit in grid.crew.given}
    assert studies.pop(("sage", 0)) is None
    assert list(studies) == [("gcn", 2), ("gcn", 3)]
    for study in studies.values():
        assert study == Study({"hidden": 8}, [{"options": {"hidden": 8}}], {"hidden": [4, 8]})
