"""What a suite leaves: tables, page and figures from the store, and the same as plain data."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bes.bench import output
from bes.bench.data import Data
from bes.bench.model import ACCURACY, Ask, Cell, Picture, Printed, Protocol, Sheet, Suite
from bes.bench.output import Filled, latex, markdown, page, write
from bes.bench.runner import picture_folder
from bes.bench.store import Store
from bes.bench.units import failed, of_picture, unit_of
from bes.config import RunConfig
from bes.errors import InputError
from bes.records import library_version

HONEST = Protocol("validation", True, "Validation selects.")
DATA = {"small": Data("small", "hash"), "away": Data("away", None, "It is not here.")}
SCORES = {"gcn": [0.70, 0.72, 0.71], "bes": [0.80, 0.83, 0.80]}


def stage(name: str) -> dict[str, Any]:
    return {"name": name, "seconds": [0.1, 0.2, 0.3], "loss": [3.0, 2.0, 1.0], "score": [0.5, 0.6, 0.7]}


CURVES = {"stages": [stage(name) for name in ("decoder of control", "shaping of bes", "decoder of bes")]}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", library_version())


@pytest.fixture
def suite() -> Suite:
    """GCN, BES and a method that is not built, on a data set that is here and one that is not; two pictures."""
    here, away = RunConfig.build("small"), RunConfig.build("away")
    cells = [
        Cell(row, column, Ask(config, arm, ACCURACY, (0, 1, 2)), Printed("81.50", 81.5, None, "Table 1", row, column))
        for row, arm in (("GCN", "gcn"), ("BES", "bes"))
        for column, config in (("Small <1>", here), ("Away", away))
    ]
    cells.append(Cell("Other", "Small <1>", None, why="method not built yet"))
    sheet = Sheet("nodes", "Nodes", HONEST, tuple(cells), "", "BES")
    pictures = (Picture("Small NC L1", here), Picture("Away NC L1", away))
    return Suite("own", "Own & others", (sheet,), pictures, "convergence")


@pytest.fixture
def recorded(store: Store, suite: Suite) -> Store:
    """The store with every run of the data set that is here."""
    for ask in suite.asks():
        if ask.config.dataset == "small":
            for unit in unit_of(ask):
                for arm in unit.arms:
                    score = {"test": {"acc": SCORES.get(arm, SCORES["gcn"])[unit.seed]}}
                    store.add([{**failed(unit, arm, "", "hash"), "status": "done", "metrics": score}])
    return store


@pytest.fixture
def kept(recorded: Store, suite: Suite) -> Path:
    """The folder of the first picture, as far as curves need it."""
    place = picture_folder(recorded, of_picture(suite.pictures[0]), "hash")
    place.mkdir(parents=True)
    (place / "curves.json").write_text(json.dumps(CURVES))
    return place


def test_what_is_filled(recorded: Store, suite: Suite) -> None:
    filled = Filled.of(suite, recorded, DATA)
    (sheet,) = filled.sheets
    assert [(cell.cell.row, cell.cell.column, len(cell.values), cell.problem) for cell in sheet.cells] == [
        ("GCN", "Small <1>", 3, ""),
        ("GCN", "Away", 0, "data set absent"),
        ("BES", "Small <1>", 3, ""),
        ("BES", "Away", 0, "data set absent"),
        ("Other", "Small <1>", 0, "method not built yet"),
    ]
    (one,) = filled.comparisons["nodes"]
    assert (one.row, one.column, one.paired.n) == ("GCN", "Small <1>", 3)
    assert one.paired.mean == pytest.approx(-10)


def test_pictures_without_a_run_are_named_with_the_reason(recorded: Store, suite: Suite) -> None:
    filled = Filled.of(suite, recorded, DATA)
    assert filled.kept == {}
    assert filled.missing == {"Small NC L1": "not measured yet", "Away NC L1": "data set absent"}
    said = page(filled, [])
    assert "Small NC L1: not measured yet." in said
    assert "Away NC L1: data set absent." in said


def test_a_picture_whose_run_failed_says_so(store: Store, suite: Suite) -> None:
    """It is not run again by itself: that it was not measured yet would be wrong for good."""
    unit = of_picture(suite.pictures[0])
    store.add([failed(unit, arm, "Out of memory.", "hash") for arm in unit.arms])
    assert "Out of memory." in Filled.of(suite, store, DATA).missing["Small NC L1"]


@pytest.mark.usefixtures("kept")
def test_files_and_figures_are_listed_and_there(tmp_path: Path, recorded: Store, suite: Suite) -> None:
    pytest.importorskip("matplotlib")
    filled = Filled.of(suite, recorded, DATA)
    assert list(filled.kept) == ["Small NC L1"]
    files, notes = write(filled, tmp_path / "deep" / "own")
    assert notes == []
    names = ["index.html", "tables.md", "tables.tex", "convergence-nc.png", "convergence-nc.svg"]
    assert [path.name for path in files] == names
    assert sorted(path.name for path in (tmp_path / "deep" / "own").iterdir()) == sorted(names), "and nothing else"
    told = "".join(f"\n{sentence}\n" for sentence in filled.absent)
    assert told, "what to do about the data set that is not here"
    assert (tmp_path / "deep" / "own" / "tables.md").read_text() == markdown(filled) + told
    assert (tmp_path / "deep" / "own" / "tables.tex").read_text() == latex(filled)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(("light", "kind"), [(10**9, "svg+xml"), (0, "png")])
def test_the_page_holds_its_figures(
    tmp_path: Path, recorded: Store, suite: Suite, monkeypatch: pytest.MonkeyPatch, light: int, kind: str
) -> None:
    """A heavy SVG is embedded as PNG."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(output, "LIGHT", light)
    write(Filled.of(suite, recorded, DATA), tmp_path / "own")
    said = (tmp_path / "own" / "index.html").read_text()
    (found,) = re.findall(rf'"data:image/{re.escape(kind)};base64,([^"]+)"', said)
    file = tmp_path / "own" / ("convergence-nc.svg" if kind == "svg+xml" else "convergence-nc.png")
    assert base64.b64decode(found) == file.read_bytes()
    assert "Own &amp; others" in said
    assert "Small &lt;1&gt;" in said
    assert "Nodes: differences to BES" in said


@pytest.mark.usefixtures("kept")
def test_tables_are_written_where_figures_cannot_be_drawn(
    tmp_path: Path, recorded: Store, suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(*_: object) -> None:
        raise InputError("Figures need matplotlib, which is not here: pip install it.")

    monkeypatch.setattr(output, "draw", draw)
    files, notes = write(Filled.of(suite, recorded, DATA), tmp_path / "own")
    assert notes == ["Figures need matplotlib, which is not here: pip install it."]
    assert [path.name for path in files] == ["index.html", "tables.md", "tables.tex"]


def test_a_suite_of_pictures_alone_has_no_tables(tmp_path: Path, store: Store, suite: Suite) -> None:
    pictures = Suite("own", "Own", (), suite.pictures, "convergence")
    files, _ = write(Filled.of(pictures, store, DATA), tmp_path / "own")
    assert [path.name for path in files] == ["index.html"]


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, store: Store, suite: Suite) -> None:
    (tmp_path / "own").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        write(Filled.of(suite, store, DATA), tmp_path / "own")
    assert (tmp_path / "own").read_text() == "mine"


def test_comparisons_follow_their_sheet(recorded: Store, suite: Suite) -> None:
    said = markdown(Filled.of(suite, recorded, DATA), level=2)
    assert [line for line in said.splitlines() if line.startswith("#")] == [
        "## Nodes",
        "### Nodes: differences to BES",
    ]
    assert "data set absent" in said


def test_without_runs_there_are_no_comparisons(store: Store, suite: Suite) -> None:
    said = markdown(Filled.of(suite, store, DATA))
    assert "differences" not in said
    assert "data set absent" in said
    assert "not measured yet" in said
    assert "method not built yet" in said


@pytest.mark.usefixtures("kept")
def test_plain_data_go_through_json(recorded: Store, suite: Suite) -> None:
    shown = Filled.of(suite, recorded, DATA).as_json()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert shown["pictures"] == {"Small NC L1": "kept", "Away NC L1": "data set absent"}
    bes = next(c for c in shown["sheets"][0]["cells"] if (c["row"], c["column"]) == ("BES", "Small <1>"))
    assert (bes["splits"], bes["problem"], bes["paper"]["value"]) == (3, "", 81.5)
    assert (bes["mean"], bes["difference"]) == (pytest.approx(81), pytest.approx(-0.5))
    assert len(set(bes["run_ids"].values())) == 3


def test_the_same_store_gives_the_same_bytes(tmp_path: Path, recorded: Store, suite: Suite) -> None:
    written = []
    for name in ("first", "second"):
        files, _ = write(Filled.of(suite, Store(recorded.path, recorded.version), DATA), tmp_path / name)
        written.append({path.name: path.read_bytes() for path in files})
    assert written[0] == written[1]
