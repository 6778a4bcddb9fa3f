from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.records import RunDirectory
from bes.report.html import write_report
from bes.report.tables import paired
from bes.runs import run
from bes.summary import verdict

VOID = {"meta", "link", "br", "hr", "img", "input", "col", "base", "source", "wbr"}
Quick = Callable[..., RunConfig]


class Page(HTMLParser):
    """Reads a page: its text outside scripts, its tags, and whether they close as they opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "style":
            self.styles.append(data)
        elif inside != "script":
            self.words.append(data)


@pytest.fixture(scope="module")
def page(finished: RunDirectory, small_graph: Graph) -> Page:
    return Page(write_report(finished, small_graph).read_text())


def test_the_page_is_well_formed(page: Page) -> None:
    assert page.open == []
    names = [tag for tag, _ in page.tags]
    for tag in ("html", "head", "title", "body", "h1"):
        assert names.count(tag) == 1


def test_the_page_needs_no_network(page: Page) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        for name in ("src", "href", "srcset", "action", "data"):
            assert name not in attributes, (tag, attributes)
        assert "url(" not in (attributes.get("style") or "")
    assert not any("url(" in style or "@import" in style for style in page.styles)


def test_the_page_tells_verdict_table_runs_and_configuration(page: Page, finished: RunDirectory) -> None:
    assert verdict(finished.records) in page.text
    assert "Boundary embedding shaping on sbm" in page.text
    assert "150 nodes" in page.text
    for row in paired(finished.records):
        assert " ".join(row.values()) in page.text
    for record in finished.records:
        accuracy = f"{100 * record['metrics']['test']['acc']:.2f}"
        assert f"{record['seed']} {record['arm']} {accuracy}" in page.text
    assert '"n_iter": 5' in page.text
    assert "torch" in page.text
    assert "test-peek" not in page.text


def test_the_table_is_paired_and_complete(finished: RunDirectory) -> None:
    rows = paired(finished.records)
    assert [(row["part"], row["metric"]) for row in rows] == [
        (part, metric)
        for part in ("validation", "test", "test, at the boundary")
        for metric in ("accuracy", "macro F1", "AUROC")
    ]
    by_arm = {
        arm: [r["metrics"]["test"]["acc"] for r in finished.records if r["arm"] == arm] for arm in ("control", "bes")
    }
    row = rows[3]
    for arm, (first, second) in by_arm.items():  # of two values the error is half their distance
        assert row[arm] == f"{50 * (first + second):.2f} ± {50 * abs(first - second):.2f}"
    one, two = (b - a for a, b in zip(by_arm["control"], by_arm["bes"], strict=True))
    assert row["difference"] == f"{50 * (one + two):+.2f} ± {50 * abs(one - two):.2f}"


def test_names_with_html_stay_text(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    name = '<script>alert("x")</script><b>&amp;'
    graph = replace(small_graph, name=name)
    plan = quick().model_copy(update={"dataset": name})
    page = Page(write_report(run(plan, graph, [0], tmp_path), graph).read_text())
    assert page.open == []
    assert f"shaping on {name}" in page.text
    assert "b" not in [tag for tag, _ in page.tags]


def test_test_peek_is_marked(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    page = Page(write_report(run(quick(selection="test-peek"), small_graph, [0], tmp_path), small_graph).read_text())
    assert "Selected on the test part (test-peek)." in page.text
    assert "epochs chosen on test-peek" in page.text


def test_notes_and_missing_values_are_told(tmp_path: Path, small_graph: Graph, quick: Quick) -> None:
    """Nothing to shape and nobody to test."""
    masks = {f"{part}_mask": small_graph.y < -1 for part in ("train", "val", "test")}
    masks["val_mask"][:20] = True
    masks["train_mask"] = ~masks["val_mask"]
    graph = replace(small_graph, masks=masks)
    plan = quick(split="mask", shaper={"delta": 0.0})
    page = Page(write_report(run(plan, graph, [0], tmp_path), graph).read_text())
    assert page.open == []
    assert "Seed 0: Layer 1 found no boundary nodes" in page.text
    assert "The test part has nothing to score" in page.text
    assert "test accuracy none none none" in page.text
