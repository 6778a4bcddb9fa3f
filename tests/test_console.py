"""What is printed of a run of methods alone, and how far its bar goes."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bes import console
from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.records import RunDirectory
from bes.report import methods
from bes.runs import run
from bes.stored import StoredRun

Quick = Callable[..., RunConfig]

REPORT = Path("somewhere/report.html")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Quick) -> StoredRun:
    """Two seeds of three methods."""
    plan = quick(methods={name: {"epochs": 3} for name in ("gcn", "mlp", "sage")})
    return StoredRun(run(plan, small_graph, [0, 1], tmp_path_factory.mktemp("methods") / "run").path)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """What is printed on a wide page."""
    shown = StringIO()
    monkeypatch.setattr(console, "out", Console(file=shown, width=200))
    return shown


def test_methods_are_printed_with_the_verdict(stored: StoredRun, printed: StringIO) -> None:
    stored.records[0]["notes"] = ["It was [odd]."]
    console.print_run(stored, REPORT, None)
    text = " ".join(printed.getvalue().split())
    assert "small: methods, split random, 2 seeds" in text
    for title in ("validation accuracy", "test accuracy", "test macro F1", "test AUROC", "test accuracy - best"):
        assert title in text
    places = []
    for row in methods.rows(stored.records):
        name = f"{row['method']} *" if row["best"] else row["method"]
        shown = [text for title, text in row["test"].items() if title != "balanced accuracy"]  # it is for its own runs
        figures = [row["validation"]["accuracy"], *shown]
        places.append(text.index(" │ ".join([name, *figures])))
    assert places == sorted(places)
    assert text.count(" * │") == 1
    assert methods.verdict(stored.records) in text
    assert f"{stored.records[0]['arm']}, seed 0: It was [odd]." in text
    assert f"Report: {REPORT}" in text
    assert "bes - control" not in text


def test_what_validation_counted_is_printed_too(stored: StoredRun, printed: StringIO) -> None:
    records = [{**record, "config": {**record["config"], "scoring": "balanced_accuracy"}} for record in stored.records]
    for row in methods.short(records):
        assert {"validation balanced accuracy", "test balanced accuracy", "test accuracy"} <= set(row)
    assert printed.getvalue() == ""


def test_tuning_and_test_peek_are_in_the_title(
    stored: StoredRun, printed: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "config", stored.config.model_copy(update={"tune": 7, "selection": "test-peek"}))
    console.print_run(stored, REPORT, None)
    text = " ".join(printed.getvalue().split())
    assert "small: methods, tuned by 7 trials, split random, 2 seeds selected on TEST (test-peek)" in text


def test_methods_of_links_fit_a_terminal(
    tmp_path: Path, small_graph: Graph, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = quick(task="link", methods={"gcn": {"epochs": 3}, "cosine": {}})
    found = StoredRun(run(plan, small_graph, [0], tmp_path).path)
    shown = StringIO()
    monkeypatch.setattr(console, "out", Console(file=shown, width=80))
    console.print_run(found, REPORT, None)
    assert "link, methods" in shown.getvalue()
    assert "…" not in shown.getvalue(), "nothing is cut off"
    assert max(map(len, shown.getvalue().splitlines())) <= 80


def test_methods_as_json_have_the_keys_of_a_paired_run(stored: StoredRun) -> None:
    found = console.run_as_json(stored, REPORT, None)
    rows = methods.rows(stored.records)
    assert found["paired"] == []
    assert found["methods"] == rows
    assert found["arms"] == [{"arm": row["method"], **row["test"]} for row in rows]
    assert found["verdict"] == methods.verdict(stored.records)
    assert found["seeds"] == [0, 1]
    assert found["predictions"] is None


def test_a_paired_run_has_no_rows_of_methods(finished: RunDirectory) -> None:
    found = console.run_as_json(StoredRun(finished.path), REPORT, None)
    assert found["methods"] == []
    assert [row["arm"] for row in found["arms"]] == ["control", "bes"]


def test_the_bar_counts_the_epochs_of_every_method(quick: Quick) -> None:
    def steps(**given: object) -> int:
        return console.seeds_bar(quick(**given), 1, show=False).steps

    assert steps(methods={"gcn": {"epochs": 3}, "mlp": {"epochs": 4}}) == 7
    assert steps(methods={"gcn": {"epochs": 3}, "mlp": {}}) == 203, "what is not given is as its settings say"
    assert steps(task="link", methods={"cn": {}}) == 1, "there is nothing to train"
    paired = steps()
    assert paired == 2 * 5 + 2 * 5 + 2 * 5
    assert steps(methods={"bes": {}, "gcn": {"epochs": 3}}) == paired + 3
