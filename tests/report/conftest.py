"""Runs of every task, and pages read as a browser would."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bes.graph.graph import Graph
from bes.records import RunDirectory
from bes.runs import run
from bes.stored import StoredRun

VOID = {"meta", "link", "br", "hr", "img", "input", "col", "base", "source", "wbr"}


class Page(HTMLParser):
    """Reads a page: its text outside scripts, its tags, and whether they close as they opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "style":
            self.styles.append(data)
        elif inside == "script":
            self.scripts.append(data)
        else:
            self.words.append(data)


@pytest.fixture(scope="session")
def read() -> Callable[[Path], Page]:
    """`read(path)`: a page that is well formed."""

    def parse(path: Path) -> Page:
        page = Page(path.read_text())
        assert page.open == []
        return page

    return parse


@pytest.fixture(scope="session")
def stored(finished: RunDirectory) -> StoredRun:
    """Two seeds of node classification."""
    return StoredRun(finished.path)


@pytest.fixture(scope="session")
def pair_runs(tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Any) -> dict[str, StoredRun]:
    """Link prediction by each boundary and edge classification, a seed each but for `pairs`, which has two."""
    found = {}
    for name, task, boundary in (
        ("pairs", "link", "pairs"),
        ("classes", "link", "classes"),
        ("clusters", "link", "clusters"),
        ("edge", "edge", "pairs"),
    ):
        plan = quick(task=task, links={"boundary": boundary})
        seeds = [0, 1] if name == "pairs" else [0]
        found[name] = StoredRun(run(plan, small_graph, seeds, tmp_path_factory.mktemp("pairs") / name).path)
    return found
