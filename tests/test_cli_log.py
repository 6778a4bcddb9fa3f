"""`--log`: every epoch and iteration of every stage, also from several processes."""

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


def stages(path: Path) -> Counter[str]:
    """How many losses each stage of a log holds."""
    with path.open(newline="", encoding="utf-8") as file:
        return Counter(row["stage"] for row in csv.DictReader(file) if row["name"] == "loss")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_every_stage_of_a_node_run_is_logged(
    jobs: str, tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call
) -> None:
    words = ["--seeds", "0-1", "--log", "csv", "--jobs", jobs, "--out", tmp_path / "out"]
    called = command("run", graph_file, *words, *quick_settings)
    assert called.code == 0, called.err
    for seed in (0, 1):
        found = stages(tmp_path / "out" / "logs" / str(seed) / "log.csv")
        assert found["encoder gcn"] == found["encoder cheb"] == 5
        assert found["decoder of control"] == found["decoder of bes"] == 5
        assert 1 <= found["shaping of bes"] <= 10


def test_every_stage_of_a_link_run_is_logged(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call
) -> None:
    words = ["--task", "link", "--boundary", "classes", "--rivals", "bes-pairs", "--seeds", "0", "--log", "csv"]
    called = command("run", graph_file, *words, "--out", tmp_path / "out", *quick_settings)
    assert called.code == 0, called.err
    found = stages(tmp_path / "out" / "logs" / "0" / "log.csv")
    assert set(found) >= {"encoder gcn", "encoder sage", "decoder of control", "decoder of bes", "decoder of bes-pairs"}


def test_tensorboard_gets_an_event_file(
    tmp_path: Path, graph_file: Path, quick_settings: list[str], command: Call
) -> None:
    pytest.importorskip("tensorboard")
    called = command("run", graph_file, "--seeds", "0", "--log", "tensorboard", "--out", tmp_path, *quick_settings)
    assert called.code == 0, called.err
    assert list((tmp_path / "logs" / "0" / "tensorboard").glob("events.out.tfevents.*"))


def test_an_unknown_log_is_refused_before_anything_is_written(
    tmp_path: Path, graph_file: Path, command: Call, refused: Callable[..., None]
) -> None:
    refused(command("run", graph_file, "--log", "tensorbord", "--out", tmp_path / "out"), "tensorbord", "tensorboard")
    assert not (tmp_path / "out").exists()
