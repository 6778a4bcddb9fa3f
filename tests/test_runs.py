"""Whole runs: repeated, resumed, killed and spread over processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import resource_sharer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bes import runs
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import make_split
from bes.pipeline import run_seed
from bes.pipeline.results import SeedResult
from bes.records import RunDirectory
from bes.runs import parse_seeds, run

Quick = Callable[..., RunConfig]
Record = dict[str, Any]


def lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]


def told(records: list[Record]) -> dict[tuple[int, str], Any]:
    """What two runs of the same thing must agree in, by seed and arm; fails where one is there twice."""
    found = {(r["seed"], r["arm"]): (r["run_id"], r["metrics"], r["boundary"], r["steps"]) for r in records}
    assert len(found) == len(records)
    return found


def arrays(path: Path, folder: str) -> dict[str, dict[str, np.ndarray]]:
    found = {}
    for file in sorted((path / folder).iterdir()):
        with np.load(file) as content:
            found[file.name] = {key: content[key] for key in content.files}
    return found


def same_arrays(one: Path, two: Path, folder: str) -> bool:
    a, b = arrays(one, folder), arrays(two, folder)
    return a.keys() == b.keys() and all(_same(a[f][key], b[f][key]) for f in a for key in a[f])


def _same(one: np.ndarray, two: np.ndarray) -> bool:
    return np.array_equal(one, two, equal_nan=one.dtype.kind == "f")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds that are really computed."""
    seen: list[int] = []

    def watched(config: RunConfig, graph: Graph, seed: int, *_: Any, **__: Any) -> SeedResult:
        seen.append(seed)
        return run_seed(config, graph, seed)

    monkeypatch.setattr(runs, "run_seed", watched)
    return seen


def test_the_same_seeds_leave_the_same_bits(
    tmp_path: Path, small_graph: Graph, quick: Quick, finished: RunDirectory
) -> None:
    run(quick(), small_graph, [1, 0], tmp_path / "again")  # also in another order
    assert told(lines(tmp_path / "again")) == told(finished.records)
    for folder in ("predictions", "embeddings", "splits"):
        assert same_arrays(tmp_path / "again", finished.path, folder)


def test_test_labels_change_no_prediction_file(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    test = make_split(small_graph, "random:plain", seed=0).test
    y = small_graph.y.clone()
    y[test] = (y[test] + 1 + test % 2) % 3  # every label changes, and not each class into one other
    for name, graph in (("one", small_graph), ("two", replace(small_graph, y=y))):
        run(quick(split="random:plain"), graph, [0], tmp_path / name)
    assert same_arrays(tmp_path / "one", tmp_path / "two", "predictions")
    assert same_arrays(tmp_path / "one", tmp_path / "two", "embeddings")
    one, two = lines(tmp_path / "one"), lines(tmp_path / "two")
    assert [r["metrics"]["val"] for r in one] == [r["metrics"]["val"] for r in two]
    assert {r["run_id"] for r in one}.isdisjoint(r["run_id"] for r in two), "other data, other run"


def test_called_again_nothing_is_computed_again(
    tmp_path: Path, small_graph: Graph, quick: Quick, counted: list[int]
) -> None:
    first = run(quick(), small_graph, [0, 1], tmp_path)
    text = (tmp_path / "records.jsonl").read_bytes()
    seen: list[tuple[int, int]] = []
    again = run(quick(), small_graph, [0, 1], tmp_path, progress=lambda *state: seen.append(state))
    assert counted == [0, 1]
    assert again.records == first.records
    assert (tmp_path / "records.jsonl").read_bytes() == text
    assert seen == [(2, 2)]
    run(quick(), small_graph, [0, 1, 2], tmp_path, progress=lambda *state: seen.append(state))
    assert counted == [0, 1, 2]
    assert (tmp_path / "records.jsonl").read_bytes().startswith(text)
    assert [(r["seed"], r["arm"]) for r in lines(tmp_path)[4:]] == [(2, "control"), (2, "bes")]
    assert seen[1:] == [(2, 3), (3, 3)]


def test_an_arm_whose_line_was_cut_is_run_again_alone(
    tmp_path: Path, small_graph: Graph, quick: Quick, counted: list[int], finished: RunDirectory
) -> None:
    run(quick(), small_graph, [0, 1], tmp_path)
    text = (tmp_path / "records.jsonl").read_bytes()
    (tmp_path / "records.jsonl").write_bytes(text[:-30])
    counted.clear()
    run(quick(), small_graph, [0, 1], tmp_path)
    assert counted == [1]
    kept = text[: text.rfind(b"\n", 0, -1) + 1]
    assert (tmp_path / "records.jsonl").read_bytes().startswith(kept), "the other records are left as they are"
    assert told(lines(tmp_path)) == told(finished.records)


def test_a_seed_that_fails_leaves_the_finished_ones(
    tmp_path: Path, small_graph: Graph, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(config: RunConfig, graph: Graph, seed: int, *_: Any, **__: Any) -> SeedResult:
        if seed == 1:
            raise KeyboardInterrupt
        return run_seed(config, graph, seed)

    monkeypatch.setattr(runs, "run_seed", failing)
    with pytest.raises(KeyboardInterrupt):
        run(quick(), small_graph, [0, 1], tmp_path)
    assert {r["seed"] for r in lines(tmp_path)} == {0}


def test_changed_masks_are_other_data(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    split = make_split(small_graph, "random", seed=0)
    masks = {}
    for part in ("train", "val", "test"):
        masks[f"{part}_mask"] = small_graph.y < -1
        masks[f"{part}_mask"][split.nodes(part)] = True
    run(quick(split="mask"), replace(small_graph, masks=masks), [0], tmp_path)
    masks = {**masks, "val_mask": masks["test_mask"], "test_mask": masks["val_mask"]}
    with pytest.raises(InputError, match="the data are not the same"):
        run(quick(split="mask"), replace(small_graph, masks=masks), [1], tmp_path)
    assert {r["seed"] for r in lines(tmp_path)} == {0}


@pytest.mark.parametrize(
    "given",
    [
        {"device": "nonsense"},
        {"encoders": {"names": "gnc"}},
        {"decoder": {"kind": "x"}},
        {"split": "x"},
        {"shaper": {"shrinkage": 3.0}},
    ],
    ids=str,
)
def test_bad_input_leaves_no_folder(tmp_path: Path, small_graph: Graph, quick: Quick, given: Any) -> None:
    with pytest.raises(InputError):
        run(quick(**given), small_graph, [0], tmp_path / "out")
    with pytest.raises(InputError, match="--jobs 0"):
        run(quick(), small_graph, [0], tmp_path / "out", jobs=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock there")
def test_a_second_run_in_one_folder_is_refused_and_leaves_it(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    def second(*_: object) -> None:
        (tmp_path / "out" / ".part-first").touch()  # what the first is writing
        with pytest.raises(InputError, match="Another `bes run` writes into"):
            run(quick(), small_graph, [1], tmp_path / "out")
        assert (tmp_path / "out" / ".part-first").exists()

    run(quick(), small_graph, [0], tmp_path / "out", begin=second)
    assert {r["seed"] for r in lines(tmp_path / "out")} == {0}
    run(quick(), small_graph, [1], tmp_path / "out")
    assert {r["seed"] for r in lines(tmp_path / "out")} == {0, 1}


def started(graph_file: Path, out: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bes", "run", str(graph_file), "--out", str(out), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=graph_file.parent)


def kill_in_the_middle(process: subprocess.Popen[str], out: Path, seeds: int) -> str:
    """SIGKILL as soon as a first record is there; returns what was said on stderr, by workers too."""
    deadline = time.monotonic() + 120
    while process.poll() is None and not (out / "records.jsonl").exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    _, err = process.communicate(timeout=60)  # workers that live on would hold the pipe
    assert process.returncode == -signal.SIGKILL, "it was still running"
    assert (out / "records.jsonl").read_bytes().count(b"\n") < 2 * seeds
    return err


def workers(parent: int) -> list[int]:
    """Processes that `parent` started, as Linux tells."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(entry.name))
            except OSError:  # it has just ended
                continue
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")
def test_two_processes_killed_and_called_again_end_as_one_that_never_stopped(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Callable[..., Any]
) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    words = [*quick_settings, "--set", "decoder.epochs=60", "--seeds", "0-5"]
    process = started(graph_file, killed, *words, "--jobs", "2")
    while process.poll() is None and len(children := workers(process.pid)) < 3:  # one keeps track of resources
        time.sleep(0.05)
    assert "Traceback" not in kill_in_the_middle(process, killed, seeds=6)
    deadline = time.monotonic() + 30
    while any(alive(child) for child in children):
        assert time.monotonic() < deadline, "workers outlive the killed run"
        time.sleep(0.05)
    process = started(graph_file, killed, *words, "--jobs", "2")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "Report:" in out
    assert command("run", graph_file, "--out", whole, *words).code == 0
    assert len(lines(whole)) == 12
    assert told(lines(killed)) == told(lines(whole)), "ids and metrics, from other processes"
    for folder in ("embeddings", "predictions"):
        a, b = arrays(killed, folder), arrays(whole, folder)
        assert a.keys() == b.keys()
        for name in a:  # other threads, other last bits
            for key in a[name]:
                np.testing.assert_allclose(a[name][key], b[name][key], atol=1e-4)
    assert same_arrays(killed, whole, "splits")
    assert not list(killed.rglob(".part-*"))
    assert (killed / "report.html").exists()


def test_processes_never_fetch_from_each_other_what_a_killed_one_could_not_give(
    tmp_path: Path, small_graph: Graph, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []
    sharer = resource_sharer._resource_sharer  # through which torch sends tensors between processes

    def watched(name: str) -> None:
        real = getattr(sharer, name)
        monkeypatch.setattr(sharer, name, lambda *given: fetched.append(name) or real(*given))

    watched("register")  # what is given to others
    watched("get_connection")  # what others give
    run(quick(), small_graph, [0, 1], tmp_path, jobs=2)
    assert {r["seed"] for r in lines(tmp_path)} == {0, 1}
    assert fetched == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")
def test_ctrl_c_stops_two_processes_at_work(tmp_path: Path, graph_file: Path, quick_settings: list[str]) -> None:
    words = [*quick_settings, "--set", "decoder.epochs=1000000", "--seeds", "0-5", "--jobs", "2"]
    process = started(graph_file, tmp_path / "out", *words)
    while process.poll() is None and len(children := workers(process.pid)) < 3:
        time.sleep(0.05)
    time.sleep(2)  # they are at work, and would be for hours
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "call it again with the same --out to go on" in err
    assert "Traceback" not in err
    deadline = time.monotonic() + 30
    while any(alive(child) for child in children):
        assert time.monotonic() < deadline, "workers outlive the run"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")
def test_a_killed_process_is_one_sentence_and_no_end_of_waiting(
    tmp_path: Path, graph_file: Path, quick_settings: list[str]
) -> None:
    words = [*quick_settings, "--set", "decoder.epochs=1000000", "--seeds", "0-5", "--jobs", "2"]
    process = started(graph_file, tmp_path / "out", *words)
    while process.poll() is None and len(children := workers(process.pid)) < 3:
        time.sleep(0.05)
    time.sleep(2)
    at_work = [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    os.kill(at_work[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "A process of --jobs 2 was killed, most often for want of memory" in err
    assert "Traceback" not in err
    assert not any(alive(child) for child in at_work)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", [3]), ("0-4", [0, 1, 2, 3, 4]), ("0,2,5-7", [0, 2, 5, 6, 7]), (" 1 , 1-2", [1, 2]), ("4-4", [4])],
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["a", "", "1,", "-1", "1-", "1-b", "²", "1.5", "1--2"])
def test_seeds_that_make_no_sense(text: str) -> None:
    with pytest.raises(InputError, match=r"--seeds .*is not understood: write 0-4, 3 or 0,2,5-7"):
        parse_seeds(text)


def test_seeds_that_run_backwards() -> None:
    with pytest.raises(InputError, match="--seeds 5-2 runs backwards: write the smaller seed first"):
        parse_seeds("5-2")
