"""A crew on Ray: the same records as from processes, and nothing more lost than what a worker was at."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.bench import on_ray
from bes.bench.model import ACCURACY, Ask, Cell, Picture, Protocol, Sheet, Suite
from bes.bench.on_ray import RayCrew, ray_crew, share
from bes.bench.processes import Crew, Processes
from bes.bench.runner import Runner, picture_folder
from bes.bench.store import Store
from bes.bench.units import Outcome, Unit
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.catalog import load
from bes.machine import cores
from bes.records import data_hash, library_version

ray = pytest.importorskip("ray")

Build = Callable[..., RunConfig]
SECONDS = 120.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two CPUs, for all tests of this file."""
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(address="local", num_cpus=2, object_store_memory=100 * 2**20, **quiet)
    yield
    ray.shutdown()


@pytest.fixture
def of_file(graph_file: Path, quick: Build) -> Build:
    return lambda **changed: quick(**changed).model_copy(update={"dataset": str(graph_file)})


class Watched(RayCrew):
    """Notes where each unit came to its end."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.places: list[tuple[str, int]] = []

    def wait(self, seconds: float) -> list[tuple[int, Outcome]]:
        ended = super().wait(seconds)
        self.places += [self.place(worker) for worker, outcome in ended if not outcome.error]
        return ended


def noted(crews: list[Watched]) -> Callable[[int], Watched]:
    return lambda jobs: crews.append(Watched(jobs)) or crews[-1]


class Board:
    def __init__(self, tick: Callable[[], None] = lambda: None) -> None:
        self.started: list[Unit] = []
        self.start = self.started.append
        self.begin = self.end = lambda *_: None
        self.tick = tick


def suite(configs: Sequence[RunConfig], seeds: tuple[int, ...], arm: str = "bes", picture: bool = False) -> Suite:
    cells = tuple(Cell(str(i), "x", Ask(config, arm, ACCURACY, seeds)) for i, config in enumerate(configs))
    pictures = (Picture("one", configs[0], seeds[0]),) if picture else ()
    return Suite("s", "S", (Sheet("s", "S", Protocol("p", True, ""), cells),), pictures)


def drive(suites: list[Suite], out: Path, make: Callable[[int], Crew], board: Board | None = None) -> Store:
    store = Store(out, library_version())
    Runner(suites, store).run(board or Board(), jobs=2, make_crew=make)
    return store


def told(store: Store) -> dict[str, Any]:
    """What two crews must agree in, by run id."""
    return {r["run_id"]: (r["status"], r["arm"], r["metrics"], r["boundary"], r["steps"]) for r in store.records()}


def gone(process: int) -> bool:
    """Whether a process has ended; one whose parent has yet to hear of it has, too."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def until(met: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not met():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.usefixtures("cluster")
def test_the_same_records_as_from_processes_and_nothing_twice(tmp_path: Path, of_file: Build) -> None:
    configs = [of_file(), of_file(shaper={"alpha": 0.02})]
    suites = [suite(configs, (0, 1), picture=True), suite([of_file()], (0,), "mlp")]

    def processes(jobs: int) -> Processes:
        crew = Processes(jobs)
        crew._threads = 1  # as many as on a cluster of two CPUs, whatever this machine has
        return crew

    crews: list[Watched] = []
    here = drive(suites, tmp_path / "here", processes)
    there = drive(suites, tmp_path / "there", noted(crews))
    assert told(here) == told(there)
    assert len(told(there)) == 9, "two configurations and two seeds have two arms each, and there is a rival"
    assert len(crews[0].places) == 5
    assert len({process for _, process in crews[0].places} - {os.getpid()}) == 2, "both worked"
    picture = next(unit for unit in Runner(suites, there).units if unit.picture)
    for store in (here, there):
        assert (picture_folder(store, picture, there.records()[0]["data_hash"]) / "curves.json").exists()
    again = Board()
    drive(suites, tmp_path / "there", noted(crews), again)
    assert (again.started, len(crews)) == ([], 1)
    until(lambda: all(gone(process) for _, process in crews[0].places))
    assert ray.is_initialized()


@pytest.mark.usefixtures("cluster")
def test_a_killed_worker_and_a_bad_unit_take_nothing_with_them(tmp_path: Path, of_file: Build) -> None:
    endless = of_file(encoders={"epochs": 10_000_000})
    bad = of_file(split="mask")  # the file has none
    crews: list[Watched] = []
    killed: list[int] = []

    def kill() -> None:
        at = [worker for worker, (work, _) in crews[0]._at.items() if work[0].config == endless]
        if at and not killed:
            killed.append(crews[0].place(at[0])[1])
            os.kill(killed[0], signal.SIGKILL)

    board = Board(kill)
    suites = [suite([endless, bad], (0,)), suite([of_file()], (0, 1, 2))]
    store = drive(suites, tmp_path / "out", noted(crews), board)
    done = [r["seed"] for r in store.records() if r["status"] == "done"]
    errors = {r["split"]: r["error"] for r in store.records() if r["status"] == "failed"}
    assert sorted(done) == [0, 0, 1, 1, 2, 2]
    assert len(store.records()) == 10
    assert errors.keys() == {endless.split, "mask"}
    assert errors[endless.split].endswith(
        f"(process {killed[0]}) died: most often for want of memory, or with its node."
    )
    assert "mask" in errors["mask"]
    assert killed[0] not in {process for _, process in crews[0].places}
    again = Board()
    drive(suites, tmp_path / "out", noted(crews), again)
    assert again.started == []


@pytest.mark.usefixtures("cluster")
def test_a_node_with_another_version_stops_the_suite(
    tmp_path: Path, of_file: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "library_version", lambda: "99.0")
    with pytest.raises(InputError, match=rf"bes {library_version()} is installed there.*install bes 99.0 on every"):
        drive([suite([of_file()], (0,))], tmp_path / "out", ray_crew)
    assert Store(tmp_path / "out", library_version()).records() == []
    assert ray.is_initialized(), "it is not the crew's to end"


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_dies_before_its_unit_is_replaced(of_file: Build, graph_file: Path) -> None:
    crew, unit = RayCrew(1), Unit(of_file(), 0)
    crew.start(0, unit, data_hash(load(str(graph_file))))
    ray.kill(crew._members[0][0])
    ended: list[tuple[int, Outcome]] = []
    until(lambda: bool(ended.extend(crew.wait(0.25)) or ended))
    crew.close()
    assert [(worker, outcome.unit, outcome.error) for worker, outcome in ended] == [(0, unit, "")]
    assert [record["arm"] for record in ended[0][1].records] == ["control", "bes"]


@pytest.mark.usefixtures("cluster")
def test_a_file_that_went_away_fails_its_unit_alone(of_file: Build, graph_file: Path) -> None:
    crew, unit = RayCrew(1), Unit(of_file(), 0)
    graph_file.unlink()
    crew.start(0, unit, "0")
    [(worker, outcome)] = crew.wait(SECONDS)
    assert (worker, outcome.unit, outcome.records) == (0, unit, [])
    assert graph_file.name in outcome.error
    assert crew.wait(0.0) == []
    crew.close()


@pytest.mark.usefixtures("cluster")
def test_graphs_are_read_once_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(on_ray, "load_checked", lambda name, _: seen.append(name) or name)
    crew = RayCrew(1)
    for name in "aababcbca":
        assert ray.get(crew._graph(name, "0")) == name
    assert "".join(seen) == "abca", "one worker: the last two are kept"
    crew.close()


@given(cpus=st.lists(st.integers(0, 40), max_size=5), size=st.integers(1, 50))
def test_every_worker_has_its_place_and_none_could_have_more(cpus: list[int], size: int) -> None:
    def fits(each: int) -> bool:
        return sum(node // each for node in cpus) >= size

    if fits(1):
        each = share(cpus, size)
        assert fits(each)
        assert not fits(each + 1)
    else:
        with pytest.raises(InputError, match=f"--jobs {size} is more than the {sum(cpus)} CPUs"):
            share(cpus, size)


def test_without_ray_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'bes-graph\[ray\]'"):
        ray_crew(1)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "[::1]:1", "nowhere", "127.0.0.1:99999999", ":"])
def test_an_address_where_nobody_is_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(InputError, match="No Ray cluster answers") as error:
        ray_crew(1)
    assert f"RAY_ADDRESS={address}:" in str(error.value)


DRIVER = """
import sys
from bes.graph.catalog import load
from bes.bench.on_ray import ray_crew
from bes.bench.units import Unit
from bes.config import RunConfig
from bes.records import data_hash

crew = ray_crew(3)  # also where there are fewer CPUs
try:
    unit = Unit(RunConfig.build(sys.argv[1], given={"encoders": {"epochs": 10_000_000}}), 0)
    crew.start(0, unit, data_hash(load(sys.argv[1])))
    print(crew.threads, crew.place(0)[1], flush=True)
    while True:
        crew.wait(0.25)
finally:
    crew.close()
"""


def test_ctrl_c_ends_a_cluster_of_its_own(graph_file: Path) -> None:
    command = [sys.executable, "-c", DRIVER, str(graph_file)]
    environment = {**os.environ, "RAY_ADDRESS": "local"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    driver = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)
    assert driver.stdout is not None
    threads, process = map(int, driver.stdout.readline().split())
    assert (threads, gone(process)) == (max(3, cores()) // 3, False)
    os.killpg(driver.pid, signal.SIGINT)
    out, errors = driver.communicate(timeout=SECONDS)
    assert out == ""
    assert errors.rstrip().endswith("KeyboardInterrupt")
    until(lambda: gone(process))
