"""A grid that is killed: what was recorded stays, nothing is recorded twice, the rest leads to the same tables."""

import json
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oracles.forked import command, forked

from bes.graph.graph import Graph
from bes.graph.readers import write_npz

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")

#: Every session is killed after so many runs of its own at the latest: the grid has more than all of them can do.
MOST = 3
KILLS = 20
SPLITS = 16

SUITE = {
    "datasets": ["small.npz"],
    "methods": {
        "GCN": "gcn",
        "without": "control",
        "BES": "bes",
        "BES, one layer": {"arm": "bes", "settings": {"shaper": {"n_layers": 1}}},  # on the encoders of BES
        "SAGE": "sage",
    },
    "reference": "BES",
    "metrics": ["acc", "f1"],
    "splits": SPLITS,
    "settings": {
        "encoders": {"epochs": 10, "channels": 8},
        "shaper": {"n_iter": 10, "delta": 20.0, "tau": 10.0, "alpha": 0.01, "tol": 0.01},
        "decoder": {"epochs": 10, "hidden": 16},
    },
}

#: Such as `7/96  small.npz, control+bes, seed 3: 0.8 s  (41 s left)`: printed once the run is on the disk.
ENDED = re.compile(r"^\d+/\d+  small\.npz, (?P<arms>\S+), seed (?P<seed>\d+): [\d.]+ s  \(")


class Session:
    """`bes bench` in a process group of its own."""

    def __init__(self, place: Path, out: str, log: Path, jobs: int = 2) -> None:
        self.log, self.records = log, place / out / "records.jsonl"
        self.before = self.size()
        log.touch()
        words = ("bench", "grid.json", "--jobs", str(jobs), "--out", out)
        self.process = forked().Process(target=command, args=(words, place, log))
        self.process.start()

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def size(self) -> int:
        return self.records.stat().st_size if self.records.exists() else 0

    def kill_after(self, runs: int, seconds: float) -> None:
        """Kill the parent alone, so many seconds after so many runs; with none, after it has begun to work."""
        seen, size, moment = 0, self.before, None
        while seen < MOST and (moment is None or time.monotonic() < moment):
            assert self.process.exitcode is None, f"the grid ended before the kill: {self.log.read_text()}"
            if self.size() > size:
                seen, size = seen + 1, self.size()
            if moment is None and (seen >= runs if runs else "to do." in self.log.read_text()):
                moment = time.monotonic() + seconds
            time.sleep(0.001)
        os.kill(self.process.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL

    def ended(self) -> Counter[tuple[str, int]]:
        """Arm and seed of each run that was said to have ended."""
        found = [ENDED.match(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return Counter((arm, int(one["seed"])) for one in found if one for arm in one["arms"].split("+"))

    def alive(self) -> list[str]:
        """What is left of the group; who has ended and was not asked about yet does not count."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                state, _, group = (place / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:  # ended meanwhile
                continue
            if int(group) == self.process.pid and state not in "ZX":
                found.append(place.name)
        return found

    def wait_until_gone(self) -> None:
        end = time.monotonic() + 60  # a worker that was still importing looks for its parent after that
        while self.alive() and time.monotonic() < end:
            time.sleep(0.05)
        assert not self.alive(), "workers outlive the process that started them"

    def clean(self) -> None:
        if self.alive():
            os.killpg(self.process.pid, signal.SIGKILL)
            self.wait()


@pytest.fixture
def sessions() -> Iterator[list[Session]]:
    """Whatever is started and put here is stopped when the test ends, however it does."""
    started: list[Session] = []
    yield started
    for session in started:
        session.clean()


def whole_lines(path: Path) -> bytes:
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1]


def finished(content: bytes) -> list[dict[str, Any]]:
    return [record for line in content.splitlines() if (record := json.loads(line))["status"] == "done"]


def moments(rng: random.Random) -> Iterator[tuple[int, float]]:
    """After how many runs, and how long after that: now far from the writing of a record, now next to it."""
    for _ in range(KILLS):
        runs = rng.randrange(MOST)
        longest = rng.choice([0.01, 0.5]) if runs else 5.0
        yield runs, rng.uniform(0, longest)


def check(session: Session, before: bytes) -> bytes:
    """What is recorded after a kill holds all that was, and all that was said to have ended; no run twice."""
    after = whole_lines(session.records)
    assert after.startswith(before)
    new = Counter((record["arm"], record["seed"]) for record in finished(after[len(before) :]))
    assert session.ended() <= new, "a run was said to have ended and is not recorded"
    ids = [record["run_id"] for record in finished(after)]
    assert len(set(ids)) == len(ids), "a run is recorded twice"
    return after


def run_to_the_end(place: Path, out: str, sessions: list[Session]) -> bytes:
    session = Session(place, out, place / f"{out}-end.log")
    sessions.append(session)
    assert session.wait() == 0, session.log.with_suffix(".err").read_text()
    assert "failed" not in session.log.read_text()
    return whole_lines(session.records)


def results(content: bytes) -> dict[str, Any]:
    """What every run came to, without what differs from one day and machine to another."""
    keys = ("arm", "seed", "metrics", "boundary", "selected_epoch", "steps", "config", "data_hash")
    return {record["run_id"]: {key: record[key] for key in keys} for record in finished(content)}


def test_twenty_kills_lose_nothing_and_change_nothing(
    tmp_path: Path, small_graph: Graph, sessions: list[Session]
) -> None:
    write_npz(small_graph, tmp_path / "small.npz")
    (tmp_path / "grid.json").write_text(json.dumps(SUITE))
    content, said = b"", Counter[tuple[str, int]]()
    for number, (runs, seconds) in enumerate(moments(random.Random(0))):
        session = Session(tmp_path, "killed", tmp_path / f"{number}.log", jobs=1 + number % 2)
        sessions.append(session)
        session.kill_after(runs, seconds)
        content = check(session, content)
        said += session.ended()
        for earlier in sessions[-2:-1]:  # the one before: this one began at once, while workers of that could still end
            earlier.wait_until_gone()
    assert said.total() > KILLS / 2, "the kills came before there was anything to lose"
    sessions[-1].wait_until_gone()
    total = 6 * SPLITS  # five rows, and the control of one layer is recorded too
    assert len(finished(content)) < total, "there was nothing left to resume"

    resumed = run_to_the_end(tmp_path, "killed", sessions)
    assert resumed.startswith(content)
    undisturbed = run_to_the_end(tmp_path, "whole", sessions)
    assert len(resumed.splitlines()) == len(undisturbed.splitlines()) == total
    assert results(resumed) == results(undisturbed)
    for name in ("tables.md", "tables.tex", "index.html"):
        assert (tmp_path / "killed/grid" / name).read_bytes() == (tmp_path / "whole/grid" / name).read_bytes()
