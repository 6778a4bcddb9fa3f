"""Workers in processes of their own: what a death takes with it, and that none stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bes.bench import processes
from bes.bench.processes import Processes
from bes.bench.units import Outcome, Unit, Worker
from bes.config import RunConfig
from bes.graph.catalog import load
from bes.graph.graph import Graph
from bes.records import data_hash

Quick = Callable[..., RunConfig]

ENDLESS = {"epochs": 10**7}


@pytest.fixture
def here(quick: Quick, graph_file: Path) -> Quick:
    return lambda **given: quick(**given).model_copy(update={"dataset": str(graph_file)})


@pytest.fixture
def known(graph_file: Path) -> str:
    """The hash of the data that a worker will read."""
    return data_hash(load(str(graph_file)))


@pytest.fixture
def crew() -> Iterator[Processes]:
    made = Processes(1)
    yield made
    closed(made)


def closed(crew: Processes) -> bool:
    """Whether closing comes to its end; whatever stays behind is killed."""
    members = [process for process, _ in crew._members.values()]
    closing = threading.Thread(target=crew.close, daemon=True)
    closing.start()
    closing.join(10)
    for process in members:
        process.kill()
    return not closing.is_alive()


def one(crew: Processes) -> Outcome:
    """The next outcome of worker 0."""
    for _ in range(120):
        for worker, outcome in crew.wait(1.0):
            assert worker == 0
            return outcome
    raise AssertionError("nothing ended")


def gone(process: int) -> bool:
    """Whether a process has ended, also if nobody has asked how."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def soon(condition: Callable[[], bool]) -> bool:
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_a_process_is_kept_and_closing_ends_it_from_the_midst_of_a_unit(
    here: Quick, known: str, crew: Processes
) -> None:
    crew.start(0, Unit(here(), 1), known)
    process = crew._members[0][0]
    assert not any("encoders_reused" in record for record in one(crew).records)
    crew.start(0, Unit(here(shaper={"tau": 3.0}), 1), known)
    assert crew._members[0][0] is process
    assert all(record["encoders_reused"] for record in one(crew).records)
    crew.start(0, Unit(here(encoders=ENDLESS), 0), known)
    assert crew.wait(0.01) == []
    crew.close()
    assert not process.is_alive()


def test_a_worker_killed_at_work_takes_its_unit_alone(
    small_graph: Graph, here: Quick, known: str, crew: Processes
) -> None:
    """And the next unit runs in a new process, with the figures of this one."""
    endless, short = Unit(here(encoders=ENDLESS), 0), Unit(here(), 1)
    crew.start(0, short, known)
    assert one(crew).error == ""
    crew.start(0, endless, known)
    assert crew.wait(0.01) == []
    first = crew._members[0][0]
    first.kill()
    lost = one(crew)
    assert (lost.unit, lost.records, lost.result) == (endless, [], None)
    assert lost.error == "The process was killed: most often for want of memory."

    crew.start(0, short, known)
    assert crew._members[0][0].pid != first.pid
    done = one(crew)
    assert (done.unit, done.error) == (short, "")
    assert [record["arm"] for record in done.records] == ["control", "bes"]
    assert [record["data_hash"] for record in done.records] == [known, known]
    here_too = Worker().run(short, small_graph, known)
    assert [record["metrics"] for record in done.records] == [record["metrics"] for record in here_too.records]
    assert closed(crew)


def test_a_worker_that_died_between_units_is_replaced(here: Quick, known: str, crew: Processes) -> None:
    crew.start(0, Unit(here(), 0), known)
    process = crew._members[0][0]
    assert one(crew).error == ""
    process.kill()
    process.join()
    crew.start(0, Unit(here(), 1), known)
    assert one(crew).unit.seed == 1


def test_data_that_changed_meanwhile_fail_the_unit_and_leave_the_worker(
    here: Quick, known: str, crew: Processes
) -> None:
    crew.start(0, Unit(here(), 0), "0" * 64)
    assert "has changed since the grid began" in one(crew).error
    process = crew._members[0][0]
    crew.start(0, Unit(here(), 0), known)
    assert (one(crew).error, crew._members[0][0]) == ("", process)


def test_the_cores_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 8)
    assert [Processes(jobs)._threads for jobs in (1, 3, 8, 20)] == [8, 2, 1, 1]


PARENT = """
import sys
from bes.graph.catalog import load
from bes.bench.processes import Processes
from bes.bench.units import Unit
from bes.config import RunConfig

if __name__ == "__main__":
    config = RunConfig.model_validate_json(sys.argv[1])
    crew = Processes(1)
    crew.start(0, Unit(config, 0), sys.argv[2])
    print(crew._members[0][0].pid, flush=True)
    while not crew.wait(1.0):
        pass
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks there")
def test_workers_end_with_a_parent_that_is_killed(here: Quick, known: str, tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    config = here(encoders=ENDLESS).model_dump_json()
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py"), config, known],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        try:
            assert soon(lambda: len(os.listdir(f"/proc/{worker}/task")) > 2), "at work, as its threads say"
            parent.kill()
            assert soon(lambda: gone(worker))
        finally:
            if not gone(worker):
                os.kill(worker, signal.SIGKILL)
