"""The command line: what it prints, what it refuses and what it leaves behind."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from bes import console
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.catalog import load
from bes.graph.datasets import CATALOG

Call = Callable[..., Any]
Arrays = dict[str, np.ndarray]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]


def test_a_run_prints_the_paired_table_and_the_verdict(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call
) -> None:
    called = command("run", graph_file, "--seeds", "0-1", "--out", tmp_path / "out", *quick_settings)
    assert called.code == 0, called.err
    assert "small: gcn + cheb → cheb, preset paper, split random, 2 seeds" in called.out
    for word in ("control", "bes - control", "accuracy", "macro F1", "AUROC", "test, at the"):
        assert word in called.out
    assert "Shaping changed test accuracy by" in called.out
    assert "over 2 splits" in called.out
    assert "test-peek" not in called.out
    assert (tmp_path / "out" / "report.html").stat().st_size > 1000
    assert {(r["seed"], r["arm"]) for r in records(tmp_path / "out")} == {
        (seed, arm) for seed in (0, 1) for arm in ("control", "bes")
    }


def test_a_run_in_parts_says_what_memory_it_needs(
    tmp_path: Path, graph_file: Path, command: Call, refused: Call, quick_settings: list[str]
) -> None:
    words = ("run", graph_file, "--seeds", "0", *quick_settings, "--set", "n_parts=4", "--batching")
    done = command(*words, "parts", "--out", tmp_path / "parts")
    assert done.code == 0
    assert re.search(r"Memory: about 0\.\d GiB needed, [\d.]+ GiB available; parts\.", done.out)
    told = json.loads(command(*words, "full", "--out", tmp_path / "full", "--json").out)
    assert (told["batching"], told["memory_estimate_mib"] > 100) == ("full", True)
    refused(command(*words, "whole", "--out", tmp_path / "none"), "batching", "full")


def test_quiet_and_the_default_folder(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = command("run", graph_file.name, "--seeds", "0", "--quiet", *quick_settings)
    assert called == (0, "", "")
    assert (tmp_path / "runs" / "small" / "report.html").exists()


def test_test_peek_is_marked_in_red_letters(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call
) -> None:
    words = ["--seeds", "0", "--set", "selection=test-peek", "--out", tmp_path / "out", *quick_settings]
    called = command("run", graph_file, *words)
    assert "selected on TEST (test-peek)" in called.out
    assert {r["selection"] for r in records(tmp_path / "out")} == {"test-peek"}
    assert "Selected on the test part (test-peek)" in (tmp_path / "out" / "report.html").read_text()


def test_one_label_a_class_is_enough(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call
) -> None:
    called = command("run", graph_file, "--seeds", "0", "--split", "low:1", "--out", tmp_path / "out", *quick_settings)
    assert called.code == 0, called.err
    assert records(tmp_path / "out")[0]["split"] == "low:1"


def test_names_with_brackets_are_text(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call
) -> None:
    odd = graph_file.rename(tmp_path / "[red]odd[b].npz")
    called = command("run", odd, "--seeds", "0", "--out", tmp_path / "out", *quick_settings)
    assert called.code == 0, called.err
    assert "[red]odd[b]: gcn" in called.out


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_files_options_and_settings_in_their_order(tmp_path: Path, graph_file: Path, command: Call, kind: str) -> None:
    content = {"preset": "strong", "split": "low:9", "decoder": {"kind": "mlp", "epochs": 3}, "shaper": {"n_iter": 2}}
    file = tmp_path / f"my.{kind}"
    if kind == "json":
        file.write_text(json.dumps(content))
    else:
        file.write_text("preset: strong\nsplit: low:9\ndecoder: {kind: mlp, epochs: 3}\nshaper: {n_iter: 2}\n")
    words = ["--config", file, "--split", "low:8", "--encoders", "mlp, gcn", "--set", "tau=0.5"]
    words = [*words, "--set", "encoders.epochs=2", "--set", "n_iter=4", "--seeds", "0", "--out", tmp_path / "out"]
    called = command("run", graph_file, *words, "-q")
    assert called.code == 0, called.err
    used = records(tmp_path / "out")[0]["config"]
    assert used["preset"] == "strong"
    assert used["encoders"]["channels"] == 64, "preset over default"
    assert (used["decoder"]["kind"], used["decoder"]["epochs"]) == ("mlp", 3), "file over default"
    assert used["split"] == "low:8", "option over file"
    assert used["encoders"]["names"] == ["mlp", "gcn"]
    assert used["shaper"]["n_iter"] == 4, "setting over file"
    assert used["shaper"]["tau"] == 0.5


def changed(arrays: Arrays, **new: Any) -> Arrays:
    return {**arrays, **new}


def masked(arrays: Arrays, train: np.ndarray) -> Arrays:
    rest = ~train
    half = np.arange(150) % 2 == 0
    return changed(arrays, train_mask=train, val_mask=rest & half, test_mask=rest & ~half)


def one_bad(x: np.ndarray, value: float) -> np.ndarray:
    x = x.copy()
    x[3, 2] = value
    return x


BAD_GRAPHS: dict[str, tuple[Callable[[Arrays], Arrays], str, tuple[str, ...]]] = {
    "nan": (lambda a: changed(a, x=one_bad(a["x"], np.nan)), "random", ("features of graph 'bad'", "1 values", "NaN")),
    "infinity": (lambda a: changed(a, x=one_bad(a["x"], np.inf)), "random", ("features of graph 'bad'", "infinite")),
    "edges out of range": (
        lambda a: changed(a, edge_index=a["edge_index"].astype(int) + 1),
        "random",
        ("edges of graph 'bad'", "0..149"),
    ),
    "edges of floats": (
        lambda a: changed(a, edge_index=a["edge_index"].astype(float)),
        "random",
        ("edges of graph 'bad'", "must be integers"),
    ),
    "labels too short": (lambda a: changed(a, y=a["y"][:-1]), "random", ("labels of graph 'bad'", "150 nodes")),
    "no label": (lambda a: changed(a, y=a["y"] * 0 - 1), "random", ("Graph 'bad'", "no labelled node")),
    "no training label": (
        lambda a: masked(a, np.zeros(150, dtype=bool)),
        "mask",
        ("Graph 'bad'", "no training label under split 'mask'"),
    ),
    "one class": (lambda a: changed(a, y=a["y"] * 0), "random", ("graph 'bad'", "one class only")),
    "no node": (
        lambda _: {"x": np.zeros((0, 3)), "edge_index": np.zeros((2, 0), dtype=int), "y": np.zeros(0, dtype=int)},
        "random",
        ("features of graph 'bad'", "(0, 3)"),
    ),
    "a class missing from train": (
        lambda a: masked(a, (a["y"] != 2) & (np.arange(150) < 100)),
        "mask",
        ("Class 2 of graph 'bad'", "no training node", "allow_missing_classes"),
    ),
    "no masks": (lambda a: a, "mask", ("Graph 'bad'", "no masks for split 'mask': use random")),
    "no labels at all": (lambda a: {k: v for k, v in a.items() if k != "y"}, "random", ("no array 'y'",)),
}


@pytest.mark.parametrize(("change", "split", "words"), BAD_GRAPHS.values(), ids=BAD_GRAPHS.keys())
def test_bad_graphs_are_refused_and_leave_nothing(
    tmp_path: Path,
    graph_file: Path,
    quick_settings: list[str],
    command: Call,
    refused: Call,
    change: Callable[[Arrays], Arrays],
    split: str,
    words: tuple[str, ...],
) -> None:
    bad = tmp_path / "bad.npz"
    with np.load(graph_file) as file:
        np.savez(bad, **change(dict(file)))
    out = tmp_path / "out"
    refused(command("run", bad, "--seeds", "0-1", "--split", split, "--out", out, *quick_settings), *words)
    assert not out.exists()


def test_files_that_are_no_graph(tmp_path: Path, graph_file: Path, command: Call, refused: Call) -> None:
    cut, pickled = tmp_path / "cut.npz", tmp_path / "pickled.npz"
    cut.write_bytes(graph_file.read_bytes()[:-200])
    with np.load(graph_file) as file:
        np.savez(pickled, **{**file, "x": np.array([{"a": 1}], dtype=object)})
    for path, words in [
        (cut, ("cut.npz", "damaged")),
        (pickled, ("pickled.npz", "pickled objects, which are refused")),
        (tmp_path / "absent.npz", ("absent.npz", "does not exist")),
    ]:
        refused(command("run", path, "--out", tmp_path / "out"), *words)
    assert not (tmp_path / "out").exists()


BAD_WORDS = [
    (["--encoders", "gnc"], ("encoder 'gnc' is not known", "gcn")),
    (["--encoders", "zzz"], ("encoder 'zzz' is not known: use one of",)),
    (["--encoders", ","], ("encoders.names is empty: name some of",)),
    (["--decoder", "chebb"], ("decoder 'chebb' is not known: did you mean cheb?",)),
    (["--split", "ranom"], ("split 'ranom' is not known: use random",)),
    (["--split", "low:x"], ("split 'low:x' is not known",)),
    (["--preset", "pape"], ("preset 'pape' is not known: did you mean paper?",)),
    (["--set", "n_itr=3"], ("setting 'n_itr' is not known: did you mean shaper.n_iter",)),
    (["--set", "n_iter"], ("setting 'n_iter' has no value: write key=value",)),
    (["--set", "n_iter=-1"], ("shaper.n_iter=-1 is not valid",)),
    (["--set", "shrinkage=2.0"], ("shrinkage=2.0 is out of range",)),
    (["--seeds", "5-2"], ("--seeds 5-2 runs backwards",)),
    (["--seeds", "a"], ("--seeds a is not understood: write 0-4",)),
    (["--jobs", "0"], ("--jobs 0", "use 1 or more")),
    (["--device", "nonsense"], ("device 'nonsense' cannot be used here: use auto, cpu",)),
    (["--device", "meta"], ("device 'meta' cannot be used here",)),
    (["--config", "absent.yaml"], ("absent.yaml cannot be read",)),
    (["--out", "small.npz/x"], ("output folder small.npz/x cannot be written", "choose another --out")),
    (["--out", "small.npz"], ("output folder small.npz cannot be written",)),
]


@pytest.mark.parametrize(("words", "told"), BAD_WORDS, ids=lambda value: " ".join(value))
def test_bad_words_are_refused_and_leave_nothing(
    tmp_path: Path,
    graph_file: Path,
    quick_settings: list[str],
    command: Call,
    refused: Call,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    content = graph_file.read_bytes()
    refused(command("run", "small.npz", "--out", "out", *quick_settings, *words), *told)
    assert [path.name for path in tmp_path.iterdir()] == ["small.npz"]
    assert graph_file.read_bytes() == content


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path: Path, graph_file: Path, command: Call, refused: Call) -> None:
    refused(command("run", graph_file, "--device", "cuda", "--out", tmp_path / "out"), "device 'cuda' cannot be used")
    assert not (tmp_path / "out").exists()


def test_unknown_data_sets_are_answered_with_the_nearest(tmp_path: Path, command: Call, refused: Call) -> None:
    refused(command("run", "citeser", "--out", tmp_path / "out"), "'citeser'", "did you mean citeseer")
    refused(command("data", "verify", "citeser"), "did you mean citeseer")
    assert list(tmp_path.iterdir()) == []


def test_another_configuration_in_the_same_folder_is_refused(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call, refused: Call
) -> None:
    words = ["run", graph_file, "--seeds", "0", "--out", tmp_path / "out", *quick_settings]
    assert command(*words).code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    refused(command(*words, "--set", "tau=0.5"), "holds another run", "config.shaper.tau is 10.0 there and 0.5 here")
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_the_module_runs_and_refuses_in_a_process_of_its_own(tmp_path: Path) -> None:
    called = subprocess.run(
        [sys.executable, "-m", "bes", "run", "absent.npz"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert called.returncode == 2
    assert called.stdout == ""
    assert called.stderr == "bes: The file absent.npz does not exist: give the path of an .npz file.\n"
    assert list(tmp_path.iterdir()) == []


def test_stopped_by_hand_it_says_how_to_go_on(
    tmp_path: Path, graph_file: Path, command: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bes.runs.run_seed", stop)
    called = command("run", graph_file, "--out", tmp_path / "out")
    assert called.code == 130
    assert called.err == "bes: stopped; call it again with the same --out to go on.\n"


@pytest.fixture
def data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty BES_DATA and an empty cache."""
    root = tmp_path / "data[1]"
    root.mkdir()
    monkeypatch.setenv("BES_DATA", str(root))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(console, "out", Console(highlight=False, width=400))
    return root


def test_data_list_shows_the_catalogue(data_root: Path, command: Call) -> None:
    called = command("data", "list")
    assert called.code == 0
    for name in CATALOG:
        assert name in called.out
    assert "generated" in called.out
    assert "missing" in called.out
    assert f"Data root: {data_root}" in called.out


def test_data_is_added_verified_and_run_by_name(data_root: Path, tmp_path: Path, command: Call, refused: Call) -> None:
    source = tmp_path / "published"
    source.mkdir()
    shutil.copy(str(resources.files("bes") / "data" / "citeseer.npz"), source)
    called = command("data", "add", "citeseer", "--from", source)
    assert called.code == 0, called.err
    assert called.out == f"Added citeseer: {data_root / 'citeseer.npz'}"
    called = command("data", "verify", "citeseer")
    assert f"CiteSeer (citeseer): counts as expected, no digest known ({data_root / 'citeseer.npz'})" in called.out
    assert CATALOG["citeseer"].note in called.out
    assert load("citeseer").n_nodes == CATALOG["citeseer"].nodes
    refused(command("data", "add", "citeseer", "--from", source), "exists already: remove it first")
    refused(command("data", "add", "citeseer", "--from", tmp_path / "absent"), "exists already")
    refused(command("data", "add", "cora", "--from", tmp_path / "absent"), "absent", "does not exist")
    refused(command("data", "add", "corra", "--from", source), "did you mean cora")
    refused(command("data", "verify", "cora"), "'cora' is not here")
    (data_root / "citeseer.npz").write_bytes(b"damaged")
    refused(command("data", "verify"), "citeseer.npz", "damaged")


def test_data_verify_checks_all_that_is_here(data_root: Path, command: Call) -> None:
    assert data_root.is_dir()
    called = command("data", "verify")
    assert called.code == 0
    for name in ("citeseer", "sbm", "digits"):
        assert f"({name}): counts as expected" in called.out


def test_a_data_root_that_is_no_folder(
    tmp_path: Path, command: Call, refused: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BES_DATA", str(tmp_path / "absent"))
    refused(command("data", "list"), "BES_DATA names", "not a folder")


def test_doctor_tells_versions_devices_and_data(data_root: Path, command: Call) -> None:
    called = command("doctor")
    assert called.code == 0
    for word in ("torch", torch.__version__, "numpy", "python", "cores", "torch threads", "GPU", "data sets"):
        assert word in called.out
    assert str(data_root) in called.out


def test_help_names_every_command(command: Call) -> None:
    called = command("--help")
    assert called.code == 0
    for word in ("run", "predict", "report", "explore", "shape", "data", "doctor"):
        assert word in called.out


def test_a_bar_over_the_seeds_at_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, quick: Callable[..., RunConfig]
) -> None:
    for show, terminal in ((True, True), (False, True), (True, False)):
        shown = StringIO()
        monkeypatch.setattr(console, "out", Console(file=shown, force_terminal=terminal, width=100))
        with console.seeds_bar(quick(), 4, show=show) as bar:
            bar.seeds(2, 4)
            bar.watch("encoder gcn", 5)(0, None, {})
        assert ("seed 3/4" in shown.getvalue()) == (show and terminal)


def test_bad_input_can_be_caught_as_a_value_error() -> None:
    assert issubclass(InputError, ValueError)
