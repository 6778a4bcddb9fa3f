"""A run's folder read back alone, and what is missing or damaged in it."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.records import RunDirectory
from bes.stored import StoredRun


@pytest.fixture
def copy(finished: RunDirectory, tmp_path: Path) -> Path:
    """The finished run in a folder that a test may damage."""
    shutil.copytree(finished.path, tmp_path / "run")
    return tmp_path / "run"


def one_sentence(caught: pytest.ExceptionInfo[InputError]) -> None:
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")


def test_everything_comes_back(finished: RunDirectory, small_graph: Graph) -> None:
    run = StoredRun(finished.path)
    assert run.config == finished.config
    assert run.records == finished.records
    assert run.seeds == [0, 1]
    assert run.seeds_of("bes") == [0, 1]
    assert run.name == run.graph.name == "small"
    assert run.graph.content_hash == small_graph.content_hash
    assert run.graph is run.graph, "read once"
    assert run.rows(0)["before"].shape == run.rows(0)["after"].shape == (150, 16)
    assert sorted(np.concatenate([run.split(1)[part] for part in ("train", "val", "test")])) == list(range(150))
    assert len(run.history(0)) == next(r["steps"]["tried"] for r in run.records if r["arm"] == "bes")


def test_models_say_what_was_recorded_to_the_last_bit(finished: RunDirectory) -> None:
    run = StoredRun(str(finished.path))
    state = torch.get_rng_state()
    for record in run.records:
        found = run.model(record["seed"], device="cpu").predict_proba(run.graph, record["arm"])
        assert np.array_equal(found.numpy(), run.predictions(record["seed"], record["arm"])["prob"])
    assert torch.equal(torch.get_rng_state(), state)


def test_reading_writes_nothing(copy: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    run = StoredRun(copy)
    run.model(0).predict_proba(run.graph, "bes")
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


def test_records_in_any_order_are_sorted_by_seed(copy: Path) -> None:
    path = copy / "records.jsonl"
    path.write_text("\n".join(reversed(path.read_text().splitlines())) + "\n")
    assert [record["seed"] for record in StoredRun(copy).records] == [0, 0, 1, 1]


def test_a_line_still_being_written_does_not_count(copy: Path) -> None:
    path = copy / "records.jsonl"
    text = path.read_text()
    for cut in (1, 40):
        path.write_text(text[:-cut])
        assert [(r["seed"], r["arm"]) for r in StoredRun(copy).records] == [(0, "control"), (0, "bes"), (1, "control")]
    assert StoredRun(copy).seeds_of("bes") == [0]


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("people.csv", "people"),
        ("some/where/people.npz", "people"),
        ("people", "people"),
        ("people#edges:0.25", "people#edges:0.25"),
        ("some/people.npz#features:0.5", "people#features:0.5"),
    ],
)
def test_a_graph_is_called_as_its_file_and_by_its_noise(copy: Path, dataset: str, name: str) -> None:
    content = json.loads((copy / "config.json").read_text())
    content["config"]["dataset"] = dataset
    (copy / "config.json").write_text(json.dumps(content))
    assert StoredRun(copy).name == name


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.json").write_text("{}")
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "records.jsonl").write_text("")
    said = {
        "empty": "holds no run: give one that `bes run` left",
        "nowhere": "does not exist: give one that `bes run` left",
        "begun/config.json": "is a file: give the folder",
        "begun": "has no finished seed yet: call `bes run` again",
        "runs": "holds no run: give one of the runs in it, such as .*mine",
    }
    for name, words in said.items():
        with pytest.raises(InputError, match=words) as caught:
            StoredRun(tmp_path / name)
        one_sentence(caught)


@pytest.mark.parametrize("content", ["", '{"seed": 0'])
def test_a_run_without_a_finished_seed_is_refused(copy: Path, content: str) -> None:
    (copy / "records.jsonl").write_text(content)
    with pytest.raises(InputError, match="has no finished seed yet"):
        StoredRun(copy)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "{"),
        ("config.json", "[]"),
        ("config.json", "{}"),
        ("config.json", '{"config": []}'),
        ("config.json", '{"config": {"dataset": "x", "unheard_of": 1}}'),
        ("config.json", '{"config": {}}'),
        ("config.json", b"\xff\xfe"),
        ("config.json", None),
        ("records.jsonl", "{\n"),
        ("records.jsonl", "[]\n"),
        ("records.jsonl", "{}\n"),
        ("records.jsonl", '{"seed": "0", "arm": "bes", "task": "node", "metrics": {}}\n'),
        ("records.jsonl", b"\xff\xfe\n"),
    ],
)
def test_a_damaged_run_is_refused(copy: Path, name: str, content: Any) -> None:
    path = copy / name
    path.unlink()
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(
        InputError, match=rf"{name} is (missing or )?damaged.*(run it again|call `bes run` again)\."
    ) as caught:
        StoredRun(copy)
    one_sentence(caught)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("graph.npz", lambda run: run.graph),
        ("embeddings/0.npz", lambda run: run.rows(0)),
        ("splits/0.npz", lambda run: run.split(0)),
        ("predictions/0-bes.npz", lambda run: run.predictions(0, "bes")),
        ("history/0.json", lambda run: run.history(0)),
        ("models/0.safetensors", lambda run: run.model(0)),
    ],
)
def test_missing_and_damaged_files_are_one_sentence_each(copy: Path, name: str, read: Any) -> None:
    run, path = StoredRun(copy), copy / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged") as caught:
        read(run)
    one_sentence(caught)
    path.unlink()
    with pytest.raises(InputError, match=r"missing or damaged|was left without") as caught:
        read(run)
    one_sentence(caught)
    assert path.name in str(caught.value)


def test_an_arm_that_was_not_run_is_refused(finished: RunDirectory) -> None:
    with pytest.raises(InputError, match="has no arm 'bess': use control or bes"):
        StoredRun(finished.path).seeds_of("bess")
