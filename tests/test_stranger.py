"""A stranger's path: two CSV files of one's own, a label for half of the people, and ten mistakes on the way."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Call = Callable[..., Any]
TEAMS = ("blue", "green", "red")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A folder with people.csv (every other one without a team) and knows.csv; teams know one another and differ."""
    rng = np.random.default_rng(0)
    team = rng.integers(3, size=150)
    rows = [["person", "name", "age", "city", "member", "team"]]
    for i, t in enumerate(team):
        age = "" if i % 25 == 7 else str(20 + 12 * t + int(rng.integers(15)))
        city = ("Bonn", "Köln", "Trier")[t if rng.random() < 0.7 else rng.integers(3)]
        rows.append([f"p{i:03}", f"Name {i}", age, city, "yes"[: 3 * (i % 2)], TEAMS[t] if i % 2 else ""])
    ties = [["one", "other", "since"]]
    while len(ties) < 500:
        a, b = rng.integers(150, size=2)
        if a != b and (team[a] == team[b] or rng.random() < 0.1):
            ties.append([f"p{a:03}", f"p{b:03}", "2024"])
    write(tmp_path / "people.csv", rows)
    write(tmp_path / "knows.csv", ties)
    (tmp_path / "truth.json").write_text(json.dumps({f"p{i:03}": TEAMS[t] for i, t in enumerate(team)}))
    return tmp_path


def write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def words(folder: Path, **other: str) -> list[str]:
    given = {"nodes": str(folder / "people.csv"), "edges": str(folder / "knows.csv"), "label": "team", **other}
    pairs = [(f"--{key}", value) for key, value in given.items() if value]
    return ["run", *(word for pair in pairs for word in pair), "--seeds", "0-1"]


def test_half_of_the_people_get_a_team(people: Path, command: Call) -> None:
    out = people / "out"
    called = command(*words(people), "--out", out, "--set", "shaper.n_iter=20")
    assert called.code == 0, called.err
    assert "Column 'age'" in called.out, "what was missing is said"
    assert "Predictions:" in called.out
    rows = read(out / "predictions.csv")
    assert list(rows[0]) == ["person", "prediction", *(f"prob_{team}" for team in TEAMS)]
    assert [row["person"] for row in rows] == [row["person"] for row in read(people / "people.csv")]
    for row in rows:
        prob = {team: float(row[f"prob_{team}"]) for team in TEAMS}
        assert sum(prob.values()) == pytest.approx(1, abs=1e-4)
        assert prob[row["prediction"]] == max(prob.values())
    assert "a class for every node, the 75 without a label among them" in (out / "report.html").read_text()
    truth = json.loads((people / "truth.json").read_text())
    unlabelled = [row for row in rows if int(row["person"][1:]) % 2 == 0]
    assert np.mean([truth[row["person"]] == row["prediction"] for row in unlabelled]) > 0.8

    write(people / "new.csv", [["person", "age", "city", "member"], ["ann", "22", "Bonn", ""], ["bo", "48", "", "yes"]])
    blue, red = (next(p for p, t in truth.items() if t == team) for team in ("blue", "red"))
    write(people / "ties.csv", [["one", "other"], ["ann", blue], ["bo", red], ["bo", "ann"]])
    called = command(
        "predict", out, "--nodes", people / "new.csv", "--edges", people / "ties.csv", "-o", people / "n.csv"
    )
    assert called.code == 0, called.err
    assert "Predicted 2 new nodes" in called.out
    new = read(people / "n.csv")
    assert [row["person"] for row in new] == ["ann", "bo"]
    assert list(new[0]) == list(rows[0])
    assert {row["prediction"] for row in new} <= set(TEAMS)


def test_a_run_as_json(people: Path, command: Call) -> None:
    called = command(*words(people), "--out", people / "out", "--json", "--set", "shaper.n_iter=5")
    said = json.loads(called.out)
    assert said["dataset"].endswith("people.csv")
    assert said["seeds"] == [0, 1]
    assert said["verdict"].startswith("Shaping changed test accuracy by")
    assert Path(said["predictions"]).is_file()
    assert Path(said["report"]).is_file()
    assert any("age" in note for note in said["notes"])


def spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


#: Each mistake: what is done to the files, the words of the command that differ, and what the error has to name.
MISTAKES: dict[str, tuple[Callable[[Path], object], dict[str, str], tuple[str, ...]]] = {
    "a column that is not there": (lambda _: None, {"label": "taem"}, ("'taem'", "people.csv", "'team'")),
    "a tie to nobody": (
        lambda path: spoil(path / "knows.csv", "2024", "2024\r\np001,p999,2024"),
        {},
        ("'p999'", "line 3", "'other'", "knows.csv"),
    ),
    "one person twice": (
        lambda path: spoil(path / "people.csv", "p003,", "p001,"),
        {},
        ("'p001'", "line 5", "line 3", "'person'"),
    ),
    "no such file": (lambda _: None, {"nodes": "persons.csv"}, ("persons.csv", "give")),
    "no such ties": (lambda path: (path / "knows.csv").unlink(), {}, ("knows.csv", "cannot be read")),
    "a letter in a number": (
        lambda path: spoil(path / "people.csv", "p000,Name 0,", "p000,Name 0,4o"),
        {},
        ("line 2", "'age'", "people.csv"),
    ),
    "saved in another encoding": (
        lambda path: (path / "people.csv").write_bytes((path / "people.csv").read_text("utf-8").encode("cp1252")),
        {},
        ("people.csv", "UTF-8"),
    ),
    "the files swapped": (
        lambda path: (
            (path / "people.csv").rename(path / "x"),
            (path / "knows.csv").rename(path / "people.csv"),
            (path / "x").rename(path / "knows.csv"),
        ),
        {},
        ("people.csv",),
    ),
    "a spreadsheet": (
        lambda path: (path / "people.csv").write_bytes(b"PK\x03\x04" + bytes(200)),
        {},
        ("people.csv", "CSV"),
    ),
    "an unknown part": (
        lambda path: spoil(path / "people.csv", "Bonn", "Bonn"),
        {"split-column": "city"},
        ("line 2", "'city'", "train", "val", "test"),
    ),
    "a column called as one of the output": (
        lambda path: spoil(path / "people.csv", "person,", "prediction,"),
        {},
        ("'prediction'", "rename"),
    ),
    "a row too short": (lambda path: spoil(path / "people.csv", "p002,", ""), {}, ("Line 4", "people.csv", "cells")),
    "no label named": (lambda _: None, {"label": ""}, ("people", "--label")),
    "an id that a terminal would draw": (
        lambda path: spoil(path / "knows.csv", "2024", "2024\r\np001,chr1:100:B,2024"),
        {},
        ("'chr1:100:B'", "line 3"),
    ),
    "a setting misspelt": (lambda _: None, {"set": "n_layer=3"}, ("n_layer", "n_layers")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_says_how_to_go_on(
    mistake: str, people: Path, command: Call, refused: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(people)
    make, other, named = MISTAKES[mistake]
    make(people)
    called = command(*words(people, **other), "--out", people / "out")
    refused(called, *named)
    assert not (people / "out").exists(), "nothing is left behind"


def test_one_team_alone_cannot_be_learned(people: Path, command: Call, refused: Callable[..., None]) -> None:
    text = (people / "people.csv").read_text(encoding="utf-8")
    for team in ("green", "red"):
        text = text.replace(team, "")
    (people / "people.csv").write_text(text, encoding="utf-8")
    refused(command(*words(people), "--out", people / "out"), "one class", "two")


def test_predictions_for_a_folder_without_a_run(people: Path, command: Call, refused: Callable[..., None]) -> None:
    refused(command("predict", people, "--nodes", people / "people.csv"), "holds no run", "bes run")
