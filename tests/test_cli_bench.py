"""`bes bench`: what it lists, runs, leaves behind and refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oracles.crew import AtOnce

import bes.bench.crews
import bes.graph.catalog
from bes.bench.store import Store
from bes.bench.suites import SUITES
from bes.records import library_version

Call = Callable[..., Any]
Write = Callable[..., Path]

QUICK = {
    "encoders": {"epochs": 3, "channels": 4},
    "shaper": {"n_iter": 3, "delta": 20.0, "tau": 10.0},
    "decoder": {"epochs": 3, "hidden": 8},
}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bes.bench.crews, "Processes", AtOnce)


@pytest.fixture
def write(tmp_path: Path, graph_file: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """`write(splits=3)`: a suite of two splits on the small graph, in the current folder, changed as given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")

    def write(name: str = "own.json", **given: Any) -> Path:
        methods = {"GCN": "gcn", "without": "control", "BES": "bes"}
        small = {"datasets": [graph_file.name], "methods": methods, "splits": 2, "settings": QUICK}
        path = tmp_path / name
        path.write_text(json.dumps({**small, **given}))
        return path

    return write


def lines(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store / "records.jsonl").read_text().splitlines()]


def test_every_suite_is_listed(command: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    called = command("bench")
    assert called.code == 0
    assert len(SUITES) == 23
    for name in (*SUITES, "speed"):
        assert name in called.out
    shown = json.loads(command("bench", "--json").out)
    assert [one["suite"] for one in shown] == [*SUITES, "speed"]
    assert all(one["title"] for one in shown)


def test_an_unknown_suite(command: Call, refused: Call, tmp_path: Path) -> None:
    refused(command("bench", "table2", "--out", tmp_path / "out"), "'table2'", "did you mean table1")
    refused(command("bench", "zzz", "--out", tmp_path / "out"), "table1", "sensitivity", ".yaml")
    assert not (tmp_path / "out").exists()


def test_a_suite_of_ones_own_to_its_end_in_processes(command: Call, write: Write, tmp_path: Path) -> None:
    write()
    called = command("bench", "own.json", "--jobs", "2")
    assert called.code == 0, called.err
    assert "0 runs recorded, 4 to do." in called.out
    assert "4/4 small.npz, " in called.out
    assert "Failed" not in called.out
    store = tmp_path / "bench"
    assert {path.name for path in (store / "own").iterdir()} == {"tables.md", "tables.tex", "index.html"}
    found = {(record["arm"], record["seed"]) for record in lines(store)}
    assert found == {(arm, seed) for arm in ("control", "bes", "gcn") for seed in (0, 1)}
    for record in lines(store):
        assert record["status"] == "done"
        mean = [100 * other["metrics"]["test"]["acc"] for other in lines(store) if other["arm"] == record["arm"]]
        assert f"{sum(mean) / 2:.2f}" in (store / "own" / "tables.md").read_text()
        assert f"{sum(mean) / 2:.2f}" in called.out


@pytest.mark.usefixtures("at_once")
class TestAtOnce:
    """Without processes: what is asked here does not depend on them."""

    def test_a_second_call_runs_nothing(self, command: Call, write: Write, tmp_path: Path) -> None:
        write()
        command("bench", "own.json", "--out", "out")
        before = (tmp_path / "out" / "records.jsonl").read_bytes()
        tables = (tmp_path / "out" / "own" / "tables.md").read_bytes()
        called = command("bench", "own.json", "--out", "out")
        assert called.code == 0
        assert "4 runs recorded, 0 to do." in called.out
        assert (tmp_path / "out" / "records.jsonl").read_bytes() == before
        assert (tmp_path / "out" / "own" / "tables.md").read_bytes() == tables

    def test_more_splits_run_what_is_new(self, command: Call, write: Write, tmp_path: Path) -> None:
        write(splits=1)
        command("bench", "own.json", "--out", "out")
        write(splits=2)
        assert "2 runs recorded, 2 to do." in command("bench", "own.json", "--out", "out").out
        assert len(lines(tmp_path / "out")) == 6
        write(splits=3)
        assert command("bench", "own.json", "--out", "out", "--quiet") == (0, "", "")
        assert len(lines(tmp_path / "out")) == 9

    def test_no_resume_sets_the_records_aside(self, command: Call, write: Write, tmp_path: Path) -> None:
        write(splits=1)
        for _ in range(3):
            called = command("bench", "own.json", "--out", "out", "--no-resume")
            assert "0 runs recorded, 2 to do." in called.out
        kept = [tmp_path / "out" / f"records{number}.jsonl" for number in (".1", ".2", "")]
        metrics = [[json.loads(line)["metrics"] for line in path.read_text().splitlines()] for path in kept]
        assert len(metrics[0]) == 3
        assert metrics[0] == metrics[1] == metrics[2]

    def test_json_is_one_document(self, command: Call, write: Write, tmp_path: Path) -> None:
        write(title="My graphs")
        called = command("bench", "own.json", "--out", "out", "--json")
        document = json.loads(called.out)
        assert document["failed"] == []
        (shown,) = document["suites"]
        assert (shown["suite"], shown["title"]) == ("own", "My graphs")
        (sheet,) = shown["sheets"]
        assert sheet["honest"] is True
        assert [cell["row"] for cell in sheet["cells"]] == ["GCN", "without", "BES"]
        assert {(cell["splits"], cell["problem"]) for cell in sheet["cells"]} == {(2, "")}
        ids = {record["run_id"] for record in lines(tmp_path / "out")}
        assert {one for cell in sheet["cells"] for one in cell["run_ids"].values()} == ids

    def test_no_time_starts_no_run(self, command: Call, write: Write, tmp_path: Path) -> None:
        write()
        called = command("bench", "own.json", "--out", "out", "--limit-minutes", "1e-9")
        assert called.code == 0
        assert "not measured yet" in called.out
        assert "not measured yet" in (tmp_path / "out" / "own" / "tables.md").read_text()
        assert not (tmp_path / "out" / "records.jsonl").exists()
        assert "0 runs recorded, 4 to do." in command("bench", "own.json", "--out", "out", "--limit-minutes", "60").out
        assert len(lines(tmp_path / "out")) == 6

    def test_a_run_that_fails_is_shown_and_the_others_go_on(self, command: Call, write: Write, tmp_path: Path) -> None:
        bad = {"arm": "gcn", "settings": {"split": "mask"}}
        write(methods={"bad": bad, "GCN": "gcn"}, splits=1)
        called = command("bench", "own.json", "--out", "out")
        assert called.code == 1, "and tables with what there is are written"
        assert "Failed: small.npz, gcn, seed 0: " in called.out
        assert "tried again with --retry-failed" in called.out
        assert "failed: " in (tmp_path / "out" / "own" / "tables.md").read_text()
        assert [record["status"] for record in lines(tmp_path / "out")] == ["failed", "done"]
        document = json.loads(command("bench", "own.json", "--out", "out", "--json").out)
        assert document["failed"][0].startswith("small.npz, gcn, seed 0: ")
        assert "0 to do." in command("bench", "own.json", "--out", "out").out
        assert "1 to do." in command("bench", "own.json", "--out", "out", "--retry-failed").out
        assert [record["status"] for record in lines(tmp_path / "out")] == ["failed", "done", "failed"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--jobs", "0"], "--jobs 0"),
            (["--limit-minutes", "0"], "--limit-minutes 0"),
            (["--on", "nonsense"], "--on nonsense"),
        ],
        ids=["jobs", "minutes", "on"],
    )
    def test_a_refused_option_leaves_the_records_where_they_are(
        self, command: Call, refused: Call, write: Write, tmp_path: Path, words: list[str], said: str
    ) -> None:
        write(splits=1)
        command("bench", "own.json", "--out", "out")
        before = (tmp_path / "out" / "records.jsonl").read_bytes()
        refused(command("bench", "own.json", "--out", "out", *words), said)
        refused(command("bench", "own.json", "--out", "out", "--no-resume", *words), said)
        assert (tmp_path / "out" / "records.jsonl").read_bytes() == before

    def test_bad_files_are_one_sentence_and_nothing_is_lost(
        self, command: Call, refused: Call, write: Write, tmp_path: Path
    ) -> None:
        pytest.importorskip("yaml")
        write(splits=1)
        command("bench", "own.json", "--out", "out")
        before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
        (tmp_path / "own.yaml").write_text("datasets: [cora\nmethods: {")
        refused(command("bench", "own.yaml", "--out", "out", "--no-resume"), "own.yaml", "not valid YAML")
        refused(command("bench", "absent.yaml", "--out", "out", "--no-resume"), "absent.yaml", "cannot be read")
        refused(command("bench", write(methods={}), "--out", "out", "--no-resume"), "methods")
        assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before

    @pytest.mark.parametrize("words", [[], ["--no-resume"]], ids=["resume", "anew"])
    def test_two_at_once_are_refused(
        self, command: Call, refused: Call, write: Write, tmp_path: Path, words: list[str]
    ) -> None:
        write(splits=1)
        command("bench", "own.json", "--out", "out")
        write(splits=2)
        before = (tmp_path / "out" / "records.jsonl").read_bytes()
        with Store(tmp_path / "out", library_version()).alone():
            called = command("bench", "own.json", "--out", "out", "--quiet", *words)
            refused(called, "Another `bes bench` writes into out")
        assert (tmp_path / "out" / "records.jsonl").read_bytes() == before, "the other one's records are its own"

    def test_what_is_not_a_store_is_refused_and_kept(
        self, command: Call, refused: Call, write: Write, tmp_path: Path
    ) -> None:
        write()
        (tmp_path / "file").write_text("mine")
        refused(command("bench", "own.json", "--out", "file"), "file", "cannot be written")
        assert (tmp_path / "file").read_text() == "mine"
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "records.jsonl").write_text("{}}\n{}\n")
        refused(command("bench", "own.json", "--out", "out"), "records.jsonl", "damaged")
        assert (tmp_path / "out" / "records.jsonl").read_text() == "{}}\n{}\n"

    def test_a_data_set_that_is_absent(self, command: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_network(*_: object) -> None:
            raise OSError("there is no network")

        monkeypatch.setattr(bes.graph.catalog, "download", no_network)
        for name in ("BES_DATA", "XDG_CACHE_HOME"):
            (tmp_path / name).mkdir()
            monkeypatch.setenv(name, str(tmp_path / name))
        monkeypatch.setenv("COLUMNS", "300")
        called = command("bench", "challenging-lp", "--out", tmp_path / "out")
        assert called.code == 0, called.err
        assert "0 runs recorded, 0 to do." in called.out
        assert "bes data add ogbl-collab --from DIR" in called.out
        for name in ("tables.md", "tables.tex", "index.html"):
            assert "data set absent" in (tmp_path / "out" / "challenging-lp" / name).read_text()
        shown = json.loads(command("bench", "challenging-lp", "--out", tmp_path / "out", "--json").out)
        problems = {cell["row"]: cell["problem"] for cell in shown["suites"][0]["sheets"][0]["cells"]}
        assert problems["BES"] == "data set absent"
