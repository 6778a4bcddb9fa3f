import base64
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.predict import choose_arm
from bes.report.content import content
from bes.report.html import render, write_report
from bes.report.tables import arms, paired
from bes.runs import run
from bes.stored import StoredRun
from bes.summary import verdict

Quick = Callable[..., RunConfig]
Read = Callable[[Path], Any]

NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page(stored: StoredRun, read: Read) -> Any:
    return read(write_report(stored))


def made(plan: RunConfig, graph: Graph, out: Path, seeds: tuple[int, ...] = (0,)) -> Path:
    """A run's report."""
    return write_report(StoredRun(run(plan, graph, list(seeds), out).path))


def test_the_page_has_one_of_what_there_is_one_of(page: Any) -> None:
    names = [tag for tag, _ in page.tags]
    for tag in ("html", "head", "body", "main", "h1"):
        assert names.count(tag) == 1


def check_order(page: Any) -> None:
    """Headings go down one level at a time, ids are used once, labels and links find what they are for."""
    levels = [int(tag[1]) for tag, _ in page.tags if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = Counter(attributes["id"] for _, attributes in page.tags if "id" in attributes)
    assert max(ids.values()) == 1
    for tag, attributes in page.tags:
        for key in ("for", "aria-labelledby", "aria-describedby"):
            assert attributes.get(key, next(iter(ids))) in ids
        if tag == "a":
            assert str(attributes["href"]).removeprefix("#") in ids


def test_headings_ids_and_labels_are_in_order(page: Any) -> None:
    check_order(page)


def test_the_page_needs_no_network(page: Any) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        for name in ("src", "srcset", "action", "data"):
            assert name not in attributes, (tag, attributes)
        assert str(attributes.get("href", "#")).startswith("#")
        assert "url(" not in (attributes.get("style") or "")
    assert not any("url(" in style or "@import" in style for style in page.styles)


def test_only_the_page_s_own_script_may_run(page: Any) -> None:
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    script = page.scripts[-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_the_page_is_light(stored: StoredRun) -> None:
    assert write_report(stored).stat().st_size < 500_000


def test_the_page_tells_verdict_table_runs_and_configuration(page: Any, stored: StoredRun) -> None:
    assert verdict(stored.records) in page.text
    assert "Boundary embedding shaping on small" in page.text
    assert "150 nodes" in page.text
    for row in paired(stored.records):
        assert " ".join(row.values()) in page.text
    for record in stored.records:
        accuracy = f"{100 * record['metrics']['test']['acc']:.2f}"
        assert f"{record['seed']} {record['arm']} {accuracy}" in page.text
    assert f"predictions.csv has a class for every node. {choose_arm(stored.records)[1]}" in page.text
    assert '"n_iter": 5' in page.text
    assert "torch" in page.text
    assert "test-peek" not in page.text


def test_the_sections_come_in_order(page: Any) -> None:
    titles = (
        "Control and shaped",
        "The embedding, before and after",
        "Who is taken for whom",
        "Nodes fixed and broken",
        "How shaping went",
        "Calibration",
        "Time by stage",
        "Each seed and arm",
        "Configuration and versions",
    )
    places = [page.text.index(title) for title in titles]
    assert places == sorted(places)


def test_the_table_is_paired_and_complete(stored: StoredRun) -> None:
    rows = paired(stored.records)
    assert [(row["part"], row["metric"]) for row in rows] == [
        (part, metric)
        for part in ("validation", "test", "test, at the boundary")
        for metric in ("accuracy", "balanced accuracy", "macro F1", "AUROC")
    ]
    by_arm = {
        arm: [r["metrics"]["test"]["acc"] for r in stored.records if r["arm"] == arm] for arm in ("control", "bes")
    }
    row = next(row for row in rows if (row["part"], row["metric"]) == ("test", "accuracy"))
    for arm, (first, second) in by_arm.items():  # of two values the error is half their distance
        assert row[arm] == f"{50 * (first + second):.2f} ± {50 * abs(first - second):.2f}"
    one, two = (b - a for a, b in zip(by_arm["control"], by_arm["bes"], strict=True))
    assert row["difference"] == f"{50 * (one + two):+.2f} ± {50 * abs(one - two):.2f}"


@pytest.mark.parametrize("name", ["pairs", "classes", "clusters", "edge"])
def test_pair_tasks_have_their_report(pair_runs: dict[str, StoredRun], read: Read, name: str) -> None:
    stored = pair_runs[name]
    page = read(write_report(stored))
    check_order(page)
    assert verdict(stored.records) in page.text
    assert "Pairs fixed and broken" in page.text
    assert f"Boundary: {stored.records[0]['boundary_mode']}." in page.text
    assert ("no link" in page.text) == (stored.config.task == "link")
    assert ("different class" in page.text) == (stored.config.task == "edge")
    for row in arms(stored.records):
        assert " ".join(value for value in row.values() if value) in page.text


def test_names_with_html_stay_text(tmp_path: Path, small_graph: Graph, quick: Quick, read: Read) -> None:
    """A graph, its nodes and its classes."""
    name = '</script><script>alert("x")</script><b>&amp;'
    ids = tuple(f"{NASTY}{i}" for i in range(small_graph.n_nodes))
    classes = ("<i>first</i>", "</script><b>second", "a & b")
    graph = replace(small_graph, names=Names(ids, classes=classes, notes=("<u>note</u>",)))
    page = read(made(quick().model_copy(update={"dataset": name}), graph, tmp_path, (0, 1)))
    names = [tag for tag, _ in page.tags]
    assert not {"b", "img", "u"} & set(names)
    assert names.count("script") == 2, "the data of the map, and the script"
    assert "alert" not in page.scripts[-1]
    for text in (*classes, "<u>note</u>", NASTY, "shaping on script><b>&amp;"):
        assert text in page.text
    data = json.loads(page.scripts[0])
    assert data["names"] == list(ids)
    assert data["classes"] == list(classes)


def test_test_peek_is_marked(tmp_path: Path, small_graph: Graph, quick: Quick, read: Read) -> None:
    page = read(made(quick(selection="test-peek"), small_graph, tmp_path))
    assert "Selected on the test part (test-peek)." in page.text
    assert "epochs chosen on test-peek" in page.text


def test_notes_and_missing_values_are_told(tmp_path: Path, small_graph: Graph, quick: Quick, read: Read) -> None:
    """Nothing to shape and nobody to test: those sections are left out."""
    masks = {f"{part}_mask": small_graph.y < -1 for part in ("train", "val", "test")}
    masks["val_mask"][:20] = True
    masks["train_mask"] = ~masks["val_mask"]
    graph = replace(small_graph, masks=masks)
    page = read(made(quick(split="mask", shaper={"delta": 0.0}), graph, tmp_path))
    assert "Seed 0: Layer 1 found no boundary nodes" in page.text
    assert "The test part has nothing to score" in page.text
    assert "test accuracy none none none" in page.text
    assert "There was nothing to shape" in page.text
    for title in ("Who is taken for whom", "fixed and broken", "How shaping went", "Calibration"):
        assert title not in page.text
    assert "range" not in [attributes.get("type") for _, attributes in page.tags]


def test_what_was_noticed_in_the_data_is_told(tmp_path: Path, small_graph: Graph, quick: Quick, read: Read) -> None:
    ids = tuple(f"\u202egnp.{i}" for i in range(small_graph.n_nodes))
    names = Names(ids, notes=("Column 'age' lacks 3 of 120 values.",))
    plan = quick().model_copy(update={"dataset": "schön"})
    path = made(plan, replace(small_graph, names=names), tmp_path, (0, 1))
    page = read(path)
    assert "Your data What was noticed while the graph was read. Column 'age' lacks 3 of 120 values." in page.text
    assert '"dataset": "schön"' in page.text, "no escapes"
    text = path.read_text().split("Who is taken for whom")[1]
    assert "\u202e" in text
    assert text.count("\u202e") == text.count("<bdi>\u202e"), "a name turns no other text around"


def test_a_graph_without_remarks_has_no_section_of_them(page: Any) -> None:
    assert "Your data" not in page.text


def test_versions_that_differ_are_told(stored: StoredRun, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{**r, "versions": {**r["versions"], "torch": f"9.{r['seed']}"}} for r in stored.records]
    assert "Not all seeds were run" not in read(write_report(stored)).text
    monkeypatch.setattr(stored, "records", records)
    text = read(write_report(stored)).text
    assert "torch 9.0 or 9.1" in text
    assert "Not all seeds were run under one version of torch: 9.0 in seed 0; 9.1 in seed 1." in text
    assert "one version of numpy" not in text


def test_seeds_that_are_left_out_are_counted(stored: StoredRun) -> None:
    assert content(stored)["left_out"] == 0
    assert content(stored, seeds=1)["left_out"] == 1
    assert "1 more seed is left out here" in render("section.html", run=content(stored, seeds=1), prefix="")


def test_a_seed_without_something_says_so(stored: StoredRun, tmp_path: Path, read: Read) -> None:
    """The first seed found no boundary, the second has lost an arm."""
    path = shutil.copytree(stored.path, tmp_path / "run")
    rows = stored.rows(0)
    np.savez(path / "embeddings" / "0.npz", **{**rows, "boundaries": np.zeros_like(rows["boundaries"])})
    (path / "history" / "0.json").write_text("[]")
    lines = (path / "records.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if (json.loads(line)["seed"], json.loads(line)["arm"]) != (1, "bes")]
    (path / "records.jsonl").write_text("".join(kept))
    page = read(write_report(StoredRun(path)))
    slider = next(a for _, a in page.tags if a.get("type") == "range")
    assert slider["max"] == "2", "as the second seed has it"
    still = next(a for _, a in page.tags if "still" in (a.get("class") or ""))
    assert "hidden" not in still
    assert "There was nothing to shape in this seed" in page.text
    assert "Seed 0: nothing was shaped" in page.text
    assert "Seed 1 has nothing to compare: an arm is missing" in page.text


def test_a_graph_too_large_to_draw_says_so(stored: StoredRun, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bes.report.maps.POINTS", 50)
    assert "Of 150 nodes, 50 are drawn" in read(write_report(stored)).text


def test_a_run_that_shaped_its_encoders_says_what_was_decided(
    small_graph: Graph, quick: Quick, read: Read, tmp_path: Path
) -> None:
    plan = quick(shaping="encoders", split="low:3", encoder_shaper={"epochs": 12, "guard": None, "sizes": None})
    page = read(made(plan, small_graph, tmp_path / "run", (0, 1)))
    assert "The encoders themselves were trained on" in page.text
    assert "read by their own heads" in page.text
    assert "decoder cheb" not in page.text
    assert "nodes without a label that joined" in page.text
    assert "steps kept, " not in page.text
    for record in StoredRun(tmp_path / "run").records:
        if record["arm"] == "bes":
            assert f"Epoch {record['selected_epoch']['shaping']} was kept." in page.text
            assert f"Teacher: {record['teacher']}. " in page.text
    assert "What their neighbourhoods look like" in page.text
    assert "Fixed in seed 0, wrong in control and right in bes" in page.text
    assert "Broken in seed 0, right in control and wrong in bes" in page.text


def test_a_guard_that_refuses_is_named(small_graph: Graph, quick: Quick, read: Read, tmp_path: Path) -> None:
    plan = quick(
        shaping="encoders", split="low:3", encoder_shaper={"epochs": 12, "lr": 1e-9, "guard": 1.0, "teacher": "smooth"}
    )
    page = read(made(plan, small_graph, tmp_path / "run", (0, 1)))
    assert "the guard kept the encoders as they came, so the arms are the same" in page.text
    assert "were better than the encoders as they came, where 100% were asked for." in page.text
    assert "The encoders were kept as they came." in page.text
    assert "no shaping step was taken" not in page.text
