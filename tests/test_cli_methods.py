"""`bes methods`, and `bes run --method` with what can be done with its run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bes import console
from bes.cli import methods as cli
from bes.cli.app import method_names
from bes.graph.datasets import CATALOG
from bes.models.baselines import METHODS, make_method
from bes.models.baselines.settings import search_space, settings_of, sources_of

Call = Callable[..., Any]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "out", Console(highlight=False, emoji=False, width=300))


@pytest.fixture
def left(tmp_path: Path, graph_file: Path, command: Call) -> Path:
    """The folder of a run of two methods."""
    words = ("--method", "gcn,mlp", "--set", "gcn.epochs=3", "--set", "mlp.epochs=3", "--seeds", "0-1")
    called = command("run", graph_file, *words, "--out", tmp_path / "out", "-q")
    assert called == (0, "", "")
    return tmp_path / "out"


def test_every_method_has_its_row(command: Call) -> None:
    called = command("methods")
    assert called.code == 0, called.err
    for name, entry in METHODS.items():
        row = called.out[called.out.index(f"│ {name} │") :].split("│")[1:5]
        what, tasks, settings = (cell.strip() for cell in row[1:])
        assert len(what.split()) > 1, "more than a name"
        wanted = ["node"] + (["link"] if entry.kind.pairs else [])
        wanted += ["edge"] if entry.kind.pairs and not make_method(name, {}).learns_classes else []
        assert tasks == ", ".join(wanted)
        assert settings == ", ".join(sources_of(name))
    assert "For links also cn, aa" in called.out


def test_the_same_as_json(command: Call) -> None:
    rows = json.loads(command("methods", "--json").out)
    assert [row["name"] for row in rows] == list(METHODS)
    gcn = next(row for row in rows if row["name"] == "gcn")
    assert gcn["what"] == METHODS["gcn"].what
    assert gcn["tasks"] == ["node", "link", "edge"]
    assert gcn["settings"] == sources_of("gcn")


def test_a_method_tells_its_options_settings_and_what_tuning_tries(command: Call) -> None:
    found = json.loads(command("methods", "gcn", "--json").out)
    assert found["options"] == METHODS["gcn"].options
    assert found["search"] == search_space("gcn")
    usual = settings_of("gcn", "*")
    pairs = {key: value for key, value in settings_of("gcn", "*", pairs=True).items() if usual.get(key) != value}
    assert found["by_data_set"][:2] == [
        {"settings": "paper", "dataset": "*", "pairs": False, "options": usual},
        {"settings": "paper", "dataset": "*", "pairs": True, "options": pairs},
    ]
    text = command("methods", "gcn").out
    assert text.startswith("gcn: ")
    for key in METHODS["gcn"].options:
        assert f"│ {key} │" in text
    assert f"│ paper │ * │ pairs │ {', '.join(f'{key}={value}' for key, value in pairs.items())} │" in text
    assert f"│ hidden │ {', '.join(map(str, search_space('gcn')['hidden']))} │" in text


@pytest.mark.parametrize("name", METHODS)
def test_the_rows_of_a_method_add_up_to_its_settings(name: str) -> None:
    rows = cli._by_data_set(name)

    def added(source: str, dataset: str, *, pairs: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for wanted in ("*", dataset):
            for row in rows:
                if (row["settings"], row["dataset"], row["pairs"]) == (source, wanted, False):
                    found |= row["options"]
        for wanted in ("*", dataset) if pairs else ():
            for row in rows:
                if (row["settings"], row["dataset"], row["pairs"]) == (source, wanted, True):
                    found |= row["options"]
        return found

    for source in sources_of(name):
        for dataset in CATALOG:
            for pairs in (False, True):
                wanted = settings_of(name, dataset, source=source, pairs=pairs)
                assert added(source, dataset, pairs=pairs) == wanted


def test_settings_of_a_data_set_are_told_where_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "paper": {"*": {"lr": 0.01, "hidden": 8}, "cora": {"lr": 0.02, "hidden": 8}},
        "link": {"*": {"hidden": 64}, "cora": {"hidden": 32}},
    }
    monkeypatch.setattr("bes.models.baselines.settings._file", lambda _: files)
    assert [(row["dataset"], row["pairs"], row["options"]) for row in cli._by_data_set("gcn")] == [
        ("*", False, {"lr": 0.01, "hidden": 8}),
        ("*", True, {"hidden": 64}),
        ("cora", False, {"lr": 0.02}),
        ("cora", True, {"hidden": 32}),
    ]


def test_an_unknown_method_is_answered_with_the_nearest(command: Call, refused: Call) -> None:
    refused(command("methods", "gnc"), "method 'gnc' is not known", "gcn")


def test_names_are_completed() -> None:
    assert method_names("gat") == [name for name in METHODS if name.startswith("gat")]


def test_a_run_of_methods_ends_with_its_report(left: Path, graph_file: Path, command: Call) -> None:
    assert "2 methods on small" in (left / "report.html").read_text().replace("<bdi>", "")
    assert not (left / "embeddings").exists()
    words = ("--method", "gcn,mlp", "--set", "gcn.epochs=3", "--set", "mlp.epochs=3", "--seeds", "0-1")
    said = json.loads(command("run", graph_file, *words, "--out", left, "--json").out)
    assert {row["method"] for row in said["methods"]} == {"gcn", "mlp"}
    assert said["paired"] == []
    assert "is best on validation" in said["verdict"]
    assert Path(said["report"]).is_file()
    called = command("run", graph_file, *words, "--out", left)
    assert "methods, split random, 2 seeds" in called.out
    assert "is best on validation" in called.out


def test_what_needs_control_and_bes_says_so(left: Path, tmp_path: Path, command: Call, refused: Call) -> None:
    (tmp_path / "new.csv").write_text("x\n")
    refused(command("explore", left, "--no-open"), str(left), "methods alone", "report.html", "bes among its --method")
    asked = command("predict", left, "--nodes", tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    refused(asked, str(left), "methods alone", "kept no model", "bes among its --method")
    assert not (tmp_path / "p.csv").exists()


def test_a_run_of_methods_can_be_reported_again(left: Path, tmp_path: Path, command: Call) -> None:
    called = command("report", left, "-o", tmp_path / "again.html")
    assert called.code == 0, called.err
    assert "Report of 1 run" in called.out
    assert (tmp_path / "again.html").read_bytes() == (left / "report.html").read_bytes()
