import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.report import compare, methods
from bes.report.compare import differing, find_runs, run_labels, write_comparison
from bes.runs import run
from bes.stored import StoredRun
from bes.summary import verdict

Read = Callable[[Path], Any]


@pytest.fixture(scope="module")
def tree(
    tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Callable[..., RunConfig], stored: StoredRun
) -> Path:
    """Two runs at different depths, a folder without one, and a run that has just begun."""
    top = tmp_path_factory.mktemp("tree")
    shutil.copytree(stored.path, top / "paper")
    run(quick(selection="test-peek", shaper={"tau": 5.0}), small_graph, [0], top / "more" / "deep" / "peek")
    (top / "notes").mkdir()
    (top / "begun").mkdir()
    (top / "begun" / "records.jsonl").touch()
    shutil.copy(stored.path / "config.json", top / "begun")
    return top


def test_runs_are_found_at_any_depth_each_once(tree: Path) -> None:
    found = find_runs([tree])
    assert [one.path for one in found] == [tree / "more" / "deep" / "peek", tree / "paper"]
    again = find_runs([tree / "paper", tree, tree / "more" / ".." / "paper"])
    assert [one.path for one in again] == [tree / "paper", tree / "more" / "deep" / "peek"]


@pytest.mark.parametrize("name", ["notes", "missing", "paper/config.json", "begun"])
def test_where_there_is_none_one_sentence_says_so(tree: Path, name: str) -> None:
    with pytest.raises(InputError) as told:
        find_runs([tree / name])
    text = str(told.value)
    assert str(tree / name) in text
    assert "`bes run`" in text
    assert text.endswith(".")
    assert "\n" not in text


def test_only_the_settings_that_differ_are_told() -> None:
    found = differing(
        [
            {"a": 1, "same": [1, 2], "part": {"x": 0.5, "y": "u"}},
            {"a": 1, "same": [1, 2], "part": {"x": 0.25, "y": "u"}, "new": ["p", "q"]},
        ]
    )
    assert found == [
        {"key": "part.x", "values": ["0.5", "0.25"]},
        {"key": "new", "values": ["", "p, q"]},
    ]


def test_runs_of_one_name_are_told_apart_by_their_folders(tree: Path, tmp_path: Path) -> None:
    assert run_labels(find_runs([tree])) == ["peek", "paper"]
    for folder in ("a", "b"):
        shutil.copytree(tree / "paper", tmp_path / folder / "run")
    assert run_labels(find_runs([tmp_path])) == ["a/run", "b/run"]


def test_the_page_compares_and_holds_each_run(tree: Path, tmp_path: Path, read: Read) -> None:
    found = find_runs([tree])
    out = write_comparison(found, tmp_path / "new" / "report.html")
    page = read(out)
    assert out == tmp_path / "new" / "report.html"
    assert "2 runs compared" in page.text
    for one in found:
        assert verdict(one.records) in page.text
        assert verdict(one.records).rsplit(": ", 1)[-1].removesuffix(".") in page.text
    assert "selection test-peek validation" in page.text
    assert "shaper.tau 5.0 10.0" in page.text
    assert "shaper.n_iter" not in page.text.split("Each run")[0]
    assert "Some runs were selected on the test part" in page.text
    assert [a["class"] for tag, a in page.tags if a.get("class") == "map"] == ["map", "map"]
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3", "h4", "h5", "h6")]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_single_run_has_the_report_it_always_has(stored: StoredRun, tmp_path: Path, read: Read) -> None:
    page = read(write_comparison([stored], tmp_path / "one.html"))
    assert "compared" not in page.text
    assert "Boundary embedding shaping on small" in page.text


def test_tasks_can_stand_side_by_side(
    stored: StoredRun, pair_runs: dict[str, StoredRun], tmp_path: Path, read: Read
) -> None:
    page = read(write_comparison([stored, *pair_runs.values()], tmp_path / "all.html"))
    for metric in ("accuracy", "AUC"):
        assert metric in page.text
    assert "task node link link link edge" in page.text


def test_a_heavy_page_leaves_maps_and_runs_out_and_says_so(
    stored: StoredRun, pair_runs: dict[str, StoredRun], tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [stored, *pair_runs.values()]
    monkeypatch.setattr(compare, "MAPS", 2)
    page = read(write_comparison(runs, tmp_path / "maps.html"))
    assert sum(a.get("class") == "map" for _, a in page.tags) == 2
    assert "only the first 2 runs have a map;" in page.text
    monkeypatch.setattr(compare, "LENGTH", 1)
    page = read(write_comparison(runs, tmp_path / "short.html"))
    assert sum(a.get("class") == "one" for tag, a in page.tags if tag == "details") == 1
    assert "only the first 1 have their sections here" in page.text


def test_other_data_under_one_name_are_told(
    stored: StoredRun, small_graph: Graph, quick: Callable[..., RunConfig], tmp_path: Path, read: Read
) -> None:
    same = StoredRun(shutil.copytree(stored.path, tmp_path / "same"))
    page = read(write_comparison([stored, same], tmp_path / "same.html"))
    assert "Nothing: the runs have one configuration." in page.text
    assert "The data are not the same" not in page.text
    other = StoredRun(run(quick(), replace(small_graph, x=small_graph.x + 1), [0], tmp_path / "other").path)
    page = read(write_comparison([stored, other], tmp_path / "other.html"))
    assert "Nothing: the runs" not in page.text
    assert "The data are not the same: runs have read different data under the name small" in page.text


def test_without_a_map_nobody_is_sent_to_it(
    stored: StoredRun, tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = StoredRun(shutil.copytree(stored.path, tmp_path / "second"))
    monkeypatch.setattr(compare, "MAPS", 1)
    page = read(write_comparison([stored, second], tmp_path / "page.html"))
    assert page.text.count("Nodes fixed and broken") == 2
    assert page.text.count("Press a node to find it on the map.") == 1
    assert page.text.count("1 more seed is left out here") == 5, "three selectors with a map, two without"


@pytest.mark.parametrize("case", ["no run", "a folder"])
def test_what_cannot_be_written_is_one_sentence(case: str, stored: StoredRun, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+\.$|^[^\n]+html\.$"):
        write_comparison([] if case == "no run" else [stored], tmp_path)


@pytest.fixture(scope="module")
def methods_runs(
    tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Callable[..., RunConfig]
) -> list[StoredRun]:
    """Methods by themselves: of nodes, and of links."""
    top = tmp_path_factory.mktemp("methods")
    of_nodes = quick(methods={"gcn": {"epochs": 3}, "mlp": {"epochs": 3}})
    of_links = quick(task="link", methods={"gcn": {"epochs": 3}, "cn": {}})
    return [
        StoredRun(run(plan, small_graph, [0, 1], top / name).path)
        for name, plan in (("nodes", of_nodes), ("links", of_links))
    ]


def test_runs_of_methods_stand_beside_others(
    stored: StoredRun, methods_runs: list[StoredRun], tmp_path: Path, read: Read
) -> None:
    page = read(write_comparison([methods_runs[0], stored, methods_runs[1]], tmp_path / "mixed.html"))
    for one in methods_runs:
        told = methods.verdict(one.records)
        best = compare.best(one)
        assert told in page.text
        assert f"{best['best']} {best['figure']} {told.rsplit(': ', 1)[-1].removesuffix('.')}" in page.text
    assert verdict(stored.records) in page.text
    assert "bes \u2212 control" in page.text.split("What differs")[0]
    assert sum(a.get("class") == "one" for tag, a in page.tags if tag == "details") == 3
    assert sum(a.get("class") == "map" for _, a in page.tags) == 1
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3", "h4", "h5", "h6")]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_maps_are_those_of_the_runs_that_shape(
    stored: StoredRun, methods_runs: list[StoredRun], tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "MAPS", 1)
    page = read(write_comparison([*methods_runs, stored], tmp_path / "last.html"))
    assert sum(a.get("class") == "map" for _, a in page.tags) == 1, "the third run is the first with one"
    assert "To keep the page light" not in page.text
    second = StoredRun(shutil.copytree(stored.path, tmp_path / "second"))
    page = read(write_comparison([methods_runs[0], stored, second], tmp_path / "two.html"))
    assert "only the first 1 runs of control and bes have a map;" in page.text


def test_runs_of_methods_alone_have_no_columns_of_arms(
    methods_runs: list[StoredRun], tmp_path: Path, read: Read
) -> None:
    page = read(write_comparison(methods_runs, tmp_path / "alone.html"))
    assert "2 runs compared" in page.text
    assert "bes \u2212 control" not in page.text
    assert "To keep the page light" not in page.text
    single = read(write_comparison(methods_runs[:1], tmp_path / "single.html"))
    assert "2 methods on small" in single.text
