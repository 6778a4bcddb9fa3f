"""What the documents say is true: the example runs, and every result comes from the committed records."""

import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.model import Cell, Sheet
from bes.bench.suites.settings import HONEST

ROOT = Path(__file__).resolve().parent.parent


def script(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")  # as when it is run
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readmes_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["z_hat"].shape == names["z"].shape
    accuracy = float(re.search(r"'test': \{'n': \d+, 'acc': ([\d.]+)", capsys.readouterr().out).group(1))
    assert accuracy > 0.65


def test_the_example_of_links_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "links.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "links.md", "exec"), names)
    assert "tensor" in capsys.readouterr().out
    assert names["auc"] > 0.75


@pytest.mark.parametrize("name", ["first_look", "links", "speed", "large", "cost_model"])
def test_the_results_are_what_the_committed_records_say(name, monkeypatch):
    for path, text in script(name, monkeypatch).documents().items():
        assert path.read_text() == text, f"{path.name} is not what scripts/{name}.py --write makes of the records"


def test_the_ceiling_is_the_best_of_rows_that_start_alike_on_each_split(monkeypatch):
    helps = script("when_it_helps", monkeypatch)
    rows = {
        "BES": {"Cora": {0: 3.0, 1: 1.0}, "PubMed": {0: 9.0}},
        helps.CONTROL: {"Cora": {0: 1.0, 1: 2.0}, "PubMed": {0: 1.0, 1: 1.0}},
        "GCN": {"Cora": {0: 99.0, 1: 99.0}, "PubMed": {0: 99.0, 1: 99.0}},  # starts by itself
    }
    cells = [
        FilledCell(Cell(row, name, None), values, {}) for row, found in rows.items() for name, values in found.items()
    ]
    sheet = FilledSheet(Sheet("few", "Few", HONEST, (), "", "BES"), tuple(cells))
    assert helps.ceiling(sheet) == {"Cora": 1.0}  # PubMed lacks a split of BES


def test_a_prediction_that_is_off_is_named(monkeypatch):
    cost = script("cost_model", monkeypatch)
    text, lines = importlib.import_module("cost_text"), cost.unpack(cost.SPEED)
    here = text.machine(lines)
    right = 1000 * here.takes(text.STAGES["inference"](1000))
    grown = [
        {"kind": "growth", "name": "inference", "nodes": 1000, "wall_ms": right},
        {"kind": "growth", "name": "displacement", "nodes": 1000, "wall_ms": 1e6 * right},
    ]
    limits = [line for line in lines if line["kind"] == "roofline"]
    found = text.page([*limits, *grown], cost.unpack(cost.RECORDS))
    assert "| 1.00 |" in found
    assert "Off by more than 2 times: 1 of 2: displacement at 1,000 nodes (" in found
    found = text.page([*limits, *grown[:1]], cost.unpack(cost.RECORDS))
    assert "All 1 predictions are within 2 times of what was measured." in found


def test_what_is_likely_is_the_model_corrected_by_what_was_measured(monkeypatch):
    cost = script("cost_model", monkeypatch)
    text, lines = importlib.import_module("cost_text"), cost.unpack(cost.SPEED)
    here, name = text.machine(lines), "displacement"
    grown = [
        {"kind": "growth", "name": name, "nodes": nodes, "wall_ms": 1000 * ratio * here.takes(text.STAGES[name](nodes))}
        for nodes, ratio in ((1_000, 9.0), (100_000, 3.0))
    ]
    limits = [line for line in lines if line["kind"] == "roofline"]
    found = text.page([*limits, *grown[::-1]], cost.unpack(cost.RECORDS))
    row = next(line for line in found.splitlines() if line.startswith("| shaping, applying a layer |"))
    model, likely = (float(cell.removesuffix(" s")) for cell in row.split(" | ")[2:4])
    assert likely == pytest.approx(3 * model, rel=0.05)  # that of the larger size; printed to a tenth
    seen = text.Seen(3.0, 2.0)
    assert seen.of(0.1) == 2.0  # calls take as long as they do
    assert seen.of(1.0) == 3.0


@pytest.mark.parametrize("path", ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))])
def test_files_that_documents_name_exist(path):
    for name in re.findall(r"`((?:docs|src|tests|scripts|results)/[\w./-]+)`", (ROOT / path).read_text()):
        assert (ROOT / name).exists(), f"{path} names {name}"


def test_the_commands_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make ([\w-]+)", (ROOT / "README.md").read_text()):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_page_of_results_is_what_the_committed_records_say(monkeypatch, capsys):
    script("results", monkeypatch).check()
    assert re.search(r"\d{3,} numbers in \d\d documents are what the committed records say", capsys.readouterr().out)


@pytest.mark.parametrize("what", ["page", "record"])
def test_a_changed_number_is_found(what, monkeypatch, capsys, tmp_path):
    results = script("results", monkeypatch)
    page = ROOT / "docs" / "results" / "table1.md"
    if what == "page":
        text = page.read_text()
        number = re.search(r"\| (\d\d\.\d\d) ±", text).group(1)
        wrong = f"{float(number) + 0.01:.2f}"
        monkeypatch.setattr(results, "documents", lambda: {page: text.replace(number, wrong, 1)})
    else:
        records = results.unpack(results.RECORDS)
        chosen = next(r for r in records if r["dataset"] == "cora" and r["task"] == "node" and r["arm"] == "bes")
        chosen["metrics"]["test"]["acc"] += 0.01
        results.pack(records, tmp_path / "changed.jsonl.gz")
        monkeypatch.setattr(results, "RECORDS", tmp_path / "changed.jsonl.gz")
    with pytest.raises(SystemExit):
        results.check()
    assert "is not what the committed records say" in capsys.readouterr().out


def test_data_that_were_not_here_are_told_from_those_not_measured_yet(monkeypatch, tmp_path):
    results = script("results", monkeypatch)
    store = results.Store(tmp_path, "1")
    store.add([{"run_id": "a", "dataset": "cora", "data_hash": "d" * 64, "arm": "bes", "seed": 0, "config": {}}])
    missed = {"wikics", "cora"}
    assert results._data("wikics", store, missed).absent
    assert results._data("wikics#edges:1", store, missed).absent
    assert not results._data("actor", store, missed).absent
    assert results._data("cora", store, missed) == results.Data("cora", "d" * 64), "made elsewhere, and recorded"


def test_what_is_not_here_is_kept_beside_the_records(monkeypatch, tmp_path):
    results = script("results", monkeypatch)
    monkeypatch.setattr(results, "ABSENT", tmp_path / "absent.json")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cora.npz").touch()
    monkeypatch.setenv("BES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    results.look()
    found = json.loads((tmp_path / "absent.json").read_text())
    assert "wikics" in found
    assert not {"cora", "citeseer"} & set(found), "in the folder, in the package"
    assert found == sorted(found)
    assert not any("#" in name for name in found), "variants are made from what is here"


def test_of_a_large_group_the_number_and_the_first_names_are_said(monkeypatch):
    claims = script("results_claims", monkeypatch)
    names = [f"M{i}" for i in range(7)]
    assert claims._others(names[:5]) == "M0; M1; M2; M3; M4"
    assert claims._others(names) == "7 others, among them M0; M1; M2; M3; M4"


def test_the_suite_of_the_guide_can_be_read(tmp_path):
    from bes.bench.suites.own import read_suite

    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "bench.md").read_text(), re.DOTALL)
    (tmp_path / "mine.yaml").write_text(text)
    suite = read_suite(tmp_path / "mine.yaml")
    assert suite.sheets[0].rows == ["GCN", "H2GCN", "no shaping", "one layer", "two layers"]
    assert suite.sheets[0].reference == "no shaping"


def test_the_guide_names_every_suite():
    from bes.bench.suites import SUITES

    text = (ROOT / "docs" / "bench.md").read_text()
    assert [name for name in SUITES if f"`{name}`" not in text] == []
