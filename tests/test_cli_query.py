"""`bes query`: its tables, its JSON, its CSV, and what it refuses."""

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bes.cli.query
from bes.bench.query import COLUMNS, EXAMPLE
from bes.cli import main

pytest.importorskip("duckdb")
Call = Callable[..., Any]

RECORDS = [
    {"run_id": "a", "dataset": "cora", "arm": "bes", "seed": 0, "metrics": {"test": {"acc": 0.123456789}}},
    {"run_id": "b", "dataset": 'a,[b]"c"', "arm": "control", "seed": 1, "config": {"shaper": {"tau": 2.0}}},
]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store at the default place."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "records.jsonl").write_text("".join(json.dumps(one) + "\n" for one in RECORDS))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "bench"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., str]:
    """What a command prints, to the byte."""

    def call(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["bes", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capfdbinary.readouterr()
        assert (stop.value.code or 0, err) == (0, b"")
        return out.decode()

    return call


@pytest.mark.usefixtures("store")
def test_a_table_with_numbers_to_the_right(printed: Call) -> None:
    out = printed("query", "select dataset, seed, test_acc as a_long_name, null as none from runs order by seed")
    lines = [[cell[1:-1] for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert lines == [
        ["cora    ", "   0", "   0.123457", "    "],
        ['a,[b]"c"', "   1", "           ", "    "],
    ]
    assert out.splitlines()[-1].strip() == "2 rows"


@pytest.mark.usefixtures("store")
def test_a_wide_table_keeps_its_columns(printed: Call) -> None:
    header = printed("query", "select * from runs").splitlines()[1]
    assert [cell.strip() for cell in header.split("┃")[1:-1]] == list(COLUMNS)


@pytest.mark.usefixtures("store")
def test_json(printed: Call) -> None:
    sql = "select dataset, test_acc, config, 1 as x, [1.5] as x, 'nan'::double as y, date '2026-01-02' as d from runs"
    assert json.loads(printed("query", sql, "--json")) == [
        {
            "dataset": "cora",
            "test_acc": 0.123456789,
            "config": None,
            "x": 1,
            "x_1": [1.5],
            "y": None,
            "d": "2026-01-02",
        },
        {
            "dataset": 'a,[b]"c"',
            "test_acc": None,
            "config": {"shaper": {"tau": 2.0}},
            "x": 1,
            "x_1": [1.5],
            "y": None,
            "d": "2026-01-02",
        },
    ]
    assert json.loads(printed("query", "select 1 from runs where false", "--json")) == []


@pytest.mark.usefixtures("store")
def test_csv(printed: Call) -> None:
    out = printed("query", "select dataset, test_acc, true as t, 'two\nlines' as l from runs", "--csv")
    assert out == ('dataset,test_acc,t,l\r\ncora,0.123456789,true,"two\nlines"\r\n"a,[b]""c""",,true,"two\nlines"\r\n')
    assert list(csv.reader(io.StringIO(out, newline="")))[2] == ['a,[b]"c"', "", "true", "two\nlines"]


def test_several_sources(store: Path, tmp_path: Path, printed: Call) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"run_id": "c"}) + "\n" + '{"run_id": "d"')
    out = printed("query", "select run_id from runs", "--from", store, "--from", other, "--csv")
    assert out.split() == ["run_id", "a", "b", "c"]


def test_without_sql_the_columns_are_listed(tmp_path: Path, printed: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = printed("query")
    for name, (kind, where) in COLUMNS.items():
        assert [name, kind, where] in [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines()]
    assert out.splitlines()[-1] == f'For example: bes query "{EXAMPLE}"'
    assert [row["column"] for row in json.loads(printed("query", "--json"))] == list(COLUMNS)


def test_the_example_runs_and_leaves_out_what_is_not_honest(store: Path, printed: Call) -> None:
    honest = {"task": "link", "selection": "validation", "config": {"links": {"message": "train"}}}
    others = [
        {**honest, "selection": "test-peek"},
        {**honest, "config": {"links": {"message": "all"}}},
        {**honest, "task": "node", "config": {"links": {"message": "all"}}},
        honest,
    ]
    lines = [
        json.dumps({"run_id": f"x{i}", "dataset": "pubmed", "arm": "bes", "metrics": {"test": {"acc": i}}, **one})
        + "\n"
        for i, one in enumerate(others)
    ]
    (store / "records.jsonl").write_text("".join(lines))
    found = json.loads(printed("query", EXAMPLE, "--json"))
    assert [(row["task"], row["n"], row["acc"]) for row in found] == [("link", 1, 3.0), ("node", 1, 2.0)]
    assert len({row["setting"] for row in found}) == 2


def test_what_is_refused(store: Path, tmp_path: Path, command: Call, refused: Call) -> None:
    refused(command("query", "selec"), "The query cannot be run (Parser Error", "selec")
    refused(command("query", "copy runs to 'x.csv'"), "Permission Error", "x.csv")
    refused(command("query", "select 1", "--json", "--csv"), "--json and --csv exclude each other: choose one.")
    refused(command("query", "select 1", "--from", tmp_path), "There are no records in", "bes bench table1", "--from")
    (store / "records.jsonl").unlink()
    refused(command("query", "select 1"), "There are no records in bench: make some with `bes bench table1`")
    assert list(tmp_path.rglob("*")) == [store]


def test_help_names_the_options(command: Call) -> None:
    called = command("query", "--help")
    assert called.code == 0
    assert bes.cli.query.query.__doc__ is not None
    for word in ("SQL", "--from", "--json", "--csv", "bench"):
        assert word in called.out
