"""The report of a run of methods in a browser: by day and by night, on a desk and on a phone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.report.compare import write_comparison
from bes.runs import run
from bes.stored import StoredRun

LOOKS = [
    pytest.param({"viewport": {"width": width, "height": 800}, "color_scheme": scheme}, id=f"{width} {scheme}")
    for width in (1200, 400)
    for scheme in ("light", "dark")
]

WIDTH = "document.documentElement.scrollWidth - innerWidth"

#: What is wider than the page and not in a box that scrolls.
OUTSIDE = (
    "[...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll')"
    " && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))"
)


@pytest.fixture(scope="module")
def pages(
    tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Callable[..., RunConfig]
) -> dict[str, Path]:
    """Methods of nodes, of links, and both compared."""
    top = tmp_path_factory.mktemp("methods")
    plans = {
        "nodes": quick(methods={name: {"epochs": 3} for name in ("gcn", "mlp", "sage", "cheb")}),
        "links": quick(task="link", methods={"gcn": {"epochs": 3}, "cn": {}}),
    }
    runs = {name: StoredRun(run(plan, small_graph, [0, 1], top / name).path) for name, plan in plans.items()}
    found = {name: write_comparison([one], top / f"{name}.html") for name, one in runs.items()}
    return {**found, "both": write_comparison(list(runs.values()), top / "both.html")}


@pytest.mark.parametrize("page", LOOKS, indirect=True)
@pytest.mark.parametrize("name", ["nodes", "links", "both"])
def test_nothing_leaves_the_page(page: Any, pages: dict[str, Path], name: str) -> None:
    page.goto(pages[name].as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.evaluate(WIDTH) <= 0
    assert page.evaluate(OUTSIDE) == []


def test_tables_sort_and_the_options_open(page: Any, pages: dict[str, Path]) -> None:
    page.goto(pages["nodes"].as_uri())
    table = page.locator("table").first
    head = table.get_by_role("button", name="accuracy").first
    head.click()
    figures = [float(text.split()[0]) for text in table.locator("tbody tr td:nth-child(2)").all_inner_texts()]
    assert figures == sorted(figures)
    options = page.locator("#options ~ details")
    assert options.count() == 4
    assert not options.first.locator("table").is_visible(), "many methods are closed at first"
    options.first.locator("summary").click()
    assert options.first.locator("table").is_visible()
