import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bes import records
from bes.checkpoint import NodeModel
from bes.config import RunConfig
from bes.errors import InputError
from bes.files import whole_file
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit
from bes.pipeline import run_seed
from bes.records import RunDirectory, data_hash, versions
from bes.runs import run

Quick = Callable[..., RunConfig]

#: The contract: scripts read these.
KEYS = {
    "dataset": str,
    "task": str,
    "split": str,
    "seed": int,
    "arm": str,
    "selection": str,
    "metrics": dict,
    "seconds": dict,
    "peak_mib": float,
    "boundary": list,
    "config": dict,
    "run_id": str,
    "versions": dict,
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]


def contents(path: Path) -> dict[str, tuple[str, int]]:
    """Every file below `path`: its digest and when it was written."""
    return {
        str(file.relative_to(path)): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def test_records_keep_the_contract(finished: RunDirectory) -> None:
    records = lines(finished.path)
    assert [(r["seed"], r["arm"]) for r in records] == [(0, "control"), (0, "bes"), (1, "control"), (1, "bes")]
    for record in records:
        assert {key: type(record[key]) for key in KEYS} == KEYS
        assert (record["dataset"], record["task"], record["split"]) == ("small", "node", "random")
        assert record["selection"] == "validation"
        assert set(record["metrics"]) == {"val", "test", "test_boundary"}
        for part in record["metrics"].values():
            assert set(part) == {"n", "acc", "balanced_acc", "f1", "auroc"}
            assert all(0 <= part[key] <= 1 for key in ("acc", "balanced_acc", "f1", "auroc"))
        assert set(record["seconds"]) == {"encoders", "shaping", "decoder", "evaluate"}
        assert all(spent >= 0 for spent in record["seconds"].values())
        assert RunConfig.model_validate(record["config"]) == finished.config
        assert {"bes", "python", "torch", "numpy", "commit"} <= set(record["versions"])
        assert record["boundary"] == [] if record["arm"] == "control" else len(record["boundary"]) == 2
        for layer, row in enumerate(record["boundary"], start=1):
            assert row["layer"] == layer
            assert 0 <= row["set"] <= row["region"] <= 150
    assert len({record["run_id"] for record in records}) == 4


def test_arms_are_scored_on_the_same_nodes(finished: RunDirectory) -> None:
    for control, shaped in zip(finished.records[::2], finished.records[1::2], strict=True):
        for part in ("val", "test", "test_boundary"):
            assert control["metrics"][part]["n"] == shaped["metrics"][part]["n"] > 0


def test_predictions_for_every_node(finished: RunDirectory, small_graph: Graph) -> None:
    for record in finished.records:
        with np.load(finished.path / "predictions" / f"{record['seed']}-{record['arm']}.npz") as file:
            node, prob = file["node"], file["prob"]
        assert np.array_equal(node, np.arange(150))
        assert prob.shape == (150, 3)
        np.testing.assert_allclose(prob.sum(1), 1, atol=1e-5)
        with np.load(finished.path / "splits" / f"{record['seed']}.npz") as file:
            test = file["test"]
        accuracy = (prob.argmax(1) == small_graph.y.numpy())[test].mean()
        assert record["metrics"]["test"]["acc"] == pytest.approx(accuracy), "the record tells of these predictions"


def test_splits_can_be_read_back(finished: RunDirectory, small_graph: Graph) -> None:
    split = NodeSplit.load(finished.path / "splits" / "1.npz", small_graph)
    assert sorted(torch.cat([split.train, split.val, split.test]).tolist()) == list(range(150))
    assert not set(split.test.tolist()) & set(split.train.tolist())


def test_embeddings_and_history_are_kept(finished: RunDirectory) -> None:
    with np.load(finished.path / "embeddings" / "0.npz") as file:
        assert file["before"].shape == file["after"].shape == (150, 16)
        assert file["boundary"].ndim == 1
    history = json.loads((finished.path / "history" / "0.json").read_text())
    shaped = next(r for r in finished.records if r["seed"] == 0 and r["arm"] == "bes")
    assert len(history) == shaped["steps"]["tried"]


def test_models_are_kept_and_say_what_was_recorded(finished: RunDirectory, small_graph: Graph) -> None:
    assert sorted(path.name for path in (finished.path / "models").iterdir()) == ["0.safetensors", "1.safetensors"]
    for record in finished.records:
        model = NodeModel.load(finished.path / "models" / f"{record['seed']}.safetensors")
        assert (model.seed, model.config) == (record["seed"], finished.config)
        with np.load(finished.path / "predictions" / f"{record['seed']}-{record['arm']}.npz") as file:
            assert np.array_equal(model.predict_proba(small_graph, record["arm"]).numpy(), file["prob"])


def test_a_model_that_cannot_be_written_leaves_no_record(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    directory = RunDirectory(tmp_path / "run", quick(), "hash")
    (directory.path / "models").write_text("in the way")
    with pytest.raises(InputError, match=r"models.* cannot be written"):
        directory.add(run_seed(quick(), small_graph, 0))
    assert directory.records == []
    assert not (directory.path / "records.jsonl").exists()


def test_pairs_keep_no_model(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    config = quick(task="link", rivals=(), decoder={"kind": "dot"})
    directory = RunDirectory(tmp_path / "run", config, "hash")
    directory.add(run_seed(config, small_graph, 0))
    assert [r["arm"] for r in directory.records] == ["control", "bes"]
    assert not (directory.path / "models").exists()


def test_nothing_but_the_contract_lies_there(finished: RunDirectory) -> None:
    assert {path.split("/")[0] for path in contents(finished.path)} <= {
        "records.jsonl",
        "config.json",
        "predictions",
        "splits",
        "embeddings",
        "history",
        "models",
        "graph.npz",
        "predictions.csv",
        "report.html",
    }
    assert not [path for path in finished.path.rglob("*") if path.name.startswith(".")]


def test_the_data_hash_knows_features_edges_labels_and_masks(small_graph: Graph) -> None:
    y = small_graph.y.clone()
    y[0] = (y[0] + 1) % 3
    x = small_graph.x.clone()
    x[0, 0] += 1
    mask = torch.arange(150) < 75
    graphs = [
        small_graph,
        replace(small_graph, y=y),
        replace(small_graph, x=x),
        replace(small_graph, edge_index=small_graph.edge_index[:, (small_graph.edge_index != 0).all(0)]),
        replace(small_graph, masks={"train_mask": mask}),
        replace(small_graph, masks={"train_mask": ~mask}),
        replace(small_graph, masks={"test_mask": mask}),
    ]
    assert len({data_hash(graph) for graph in graphs}) == len(graphs)
    assert data_hash(replace(small_graph, name="other")) == data_hash(small_graph)


def test_a_second_time_adds_nothing(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    directory = RunDirectory(tmp_path / "run", quick(), "hash")
    result = run_seed(quick(), small_graph, 0)
    directory.add(result)
    directory.add(result)
    assert [r["arm"] for r in lines(tmp_path / "run")] == ["control", "bes"]


def test_a_line_cut_short_is_cut_off(tmp_path: Path, finished: RunDirectory) -> None:
    good = (finished.path / "records.jsonl").read_bytes()
    shutil.copytree(finished.path, tmp_path, dirs_exist_ok=True)
    for damage in (good[:-1], good[:-40], good[: good.rfind(b"\n", 0, -1) + 2]):
        (tmp_path / "records.jsonl").write_bytes(damage)
        directory = RunDirectory(tmp_path, finished.config, finished.data_hash)
        assert [(r["seed"], r["arm"]) for r in directory.records] == [(0, "control"), (0, "bes"), (1, "control")]
        assert lines(tmp_path) == directory.records
        assert directory.missing([0, 1, 2], ("control", "bes")) == [1, 2]


def test_a_seed_without_one_of_its_files_is_run_again(
    tmp_path: Path, finished: RunDirectory, small_graph: Graph, quick: Quick
) -> None:
    shutil.copytree(finished.path, tmp_path, dirs_exist_ok=True)
    before = contents(tmp_path)
    for name in ("predictions/0-control.npz", "models/1.safetensors", "history/0.json", "graph.npz"):
        (tmp_path / name).unlink()
        run(quick(), small_graph, [0, 1], tmp_path)
        assert {file: digest for file, (digest, _) in contents(tmp_path).items() if not file.endswith(".npz")} == {
            file: digest for file, (digest, _) in before.items() if not file.endswith(".npz")
        }
        assert contents(tmp_path).keys() == before.keys()


def test_what_a_kill_left_behind_is_swept(tmp_path: Path, quick: Quick) -> None:
    RunDirectory(tmp_path, quick(), "hash")
    left = [tmp_path / "predictions" / ".part-x1.npz", tmp_path / ".part-x2.json"]
    mine = tmp_path / "predictions" / ".mine"
    for path in [*left, mine]:
        path.write_text("half")
    RunDirectory(tmp_path, quick(), "hash")
    assert not any(path.exists() for path in left)
    assert mine.exists()


def test_another_configuration_or_other_data_is_refused_and_nothing_changes(
    tmp_path: Path, finished: RunDirectory, quick: Quick
) -> None:
    path = finished.path
    before = contents(path)
    with pytest.raises(
        InputError, match=r"holds another run \(config\.shaper\.n_iter is 5 there and 6 here\)"
    ) as caught:
        RunDirectory(path, quick(shaper={"n_iter": 6}), finished.data_hash)
    assert str(path) in str(caught.value)
    with pytest.raises(InputError, match=r"holds another run \(the data are not the same\): choose another --out"):
        RunDirectory(path, quick(), "other")
    assert contents(path) == before
    damaged = tmp_path / "damaged"
    RunDirectory(damaged, quick(), "hash")
    (damaged / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json is damaged"):
        RunDirectory(damaged, quick(), "hash")


def test_damage_in_the_middle_is_refused(tmp_path: Path, quick: Quick) -> None:
    RunDirectory(tmp_path, quick(), "hash")
    (tmp_path / "records.jsonl").write_text('{"seed": 0\n{"seed": 1}\n')
    with pytest.raises(InputError, match=r"records\.jsonl is damaged"):
        RunDirectory(tmp_path, quick(), "hash")
    assert (tmp_path / "records.jsonl").read_text() == '{"seed": 0\n{"seed": 1}\n'


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, quick: Quick) -> None:
    (tmp_path / "file").write_text("keep me")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(InputError, match=r"output folder .* cannot be written \(.*\): choose another --out"):
            RunDirectory(place, quick(), "hash")
    assert contents(tmp_path).keys() == {"file"}
    assert (tmp_path / "file").read_text() == "keep me"


def test_whole_file_writes_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with whole_file(path) as temporary:
        temporary.write_text("one")
        assert not path.exists()
    with pytest.raises(TypeError), whole_file(path) as temporary:
        temporary.write_text(b"half")  # type: ignore[arg-type]
    assert path.read_text() == "one"
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]


def test_versions_name_what_a_record_depends_on() -> None:
    found = versions()
    assert found["torch"] == torch.__version__
    assert found["numpy"] == np.__version__


def test_a_folder_that_becomes_unwritable_is_one_sentence(tmp_path: Path, finished: RunDirectory) -> None:
    """The folder of predictions is lost while a seed is trained."""
    directory = RunDirectory(tmp_path / "run", finished.config, finished.data_hash)
    (directory.path / "splits").rmdir()
    (directory.path / "splits").write_text("")
    result = SimpleNamespace(seed=0, split=None)
    with pytest.raises(InputError, match="cannot be written"):
        directory.add(result)
    assert directory.records == []


def test_a_record_names_the_commit_and_whether_the_library_was_changed_since(tmp_path: Path, monkeypatch) -> None:
    code = tmp_path / "src" / "records.py"
    page = tmp_path / "page.md"
    code.parent.mkdir()
    code.write_text("")
    page.write_text("")

    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    monkeypatch.setattr(records, "__file__", str(code))

    def commit() -> str | None:
        records._commit.cache_clear()
        return versions()["commit"]

    git("init", "-q")
    assert commit() is None  # in somebody else's checkout, of which it is no part
    git("add", ".")
    git("commit", "-q", "-m", "one")
    name = git("rev-parse", "--short=12", "HEAD").strip()
    assert commit() == name
    page.write_text("what a measurement wrote")
    assert commit() == name
    code.write_text("changed = True\n")
    assert commit() == f"{name}-dirty"
    monkeypatch.undo()
    records._commit.cache_clear()
