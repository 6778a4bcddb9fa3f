"""Comparisons as a table, in every format."""

import re
from dataclasses import replace

import pytest

from bes.bench.compare import Comparison
from bes.bench.fill import FilledSheet
from bes.bench.model import Protocol, Sheet
from bes.bench.stats import Paired
from bes.bench.tables import comparison_grid, to_html, to_latex, to_markdown
from bes.bench.tables.comparison import HEADS
from bes.bench.tables.grid import Grid

SHEET = FilledSheet(
    Sheet("nodes", "Nodes & more", Protocol("validation", True, "Validation selects."), (), "", "BES"), ()
)

FOUND = [
    Comparison("GCN_1", "Cora", Paired.of([-2.0, -1.0, -3.0, -1.5, -2.5]), 0.125),
    Comparison("GAT", "Cora", Paired.of([1.0]), 1.0),
    Comparison("GAT", "Own", Paired.of([0.0, 0.0]), None),
]


@pytest.fixture
def grid() -> Grid:
    return comparison_grid(SHEET, FOUND)


def texts(grid: Grid) -> dict[str, list[str]]:
    return {line.name: [text.text for text in line.groups[0]] for line in grid.lines}


def test_a_line_a_comparison(grid: Grid) -> None:
    assert grid.groups[0].heads == HEADS
    found = texts(grid)
    assert list(found) == ["GCN_1, Cora", "GAT, Cora", "GAT, Own"]
    splits, difference, t, bootstrap, p, corrected, clear = found["GCN_1, Cora"]
    assert (splits, difference, p, corrected, clear) == ("5", "-2.00 ± 0.35", "0.062", "0.125", "yes")
    assert t == "-2.98 to -1.02"
    assert re.fullmatch(r"-2\.\d\d to -1\.\d\d", bootstrap)


def test_what_cannot_be_said_is_said_to_be_none(grid: Grid) -> None:
    found = texts(grid)
    assert found["GAT, Cora"] == ["1", "+1.00", "none", "none", "1.000", "1.000", "none"]
    assert found["GAT, Own"] == ["2", "+0.00 ± 0.00", "+0.00 to +0.00", "+0.00 to +0.00", "none", "none", "no"]


def test_the_caption_says_what_so_many_splits_can_show(grid: Grid) -> None:
    about = " ".join(grid.about)
    assert "Each row minus BES, paired by split" in about
    assert "1.000 over 1, 0.500 over 2, 0.062 over 5" in about
    assert grid.title == "Nodes & more: differences to BES"
    assert grid.name == "nodes-comparisons"
    assert grid.warning == ""


def test_a_protocol_that_is_not_honest_is_marked() -> None:
    peek = replace(SHEET.sheet, protocol=Protocol("test-peek", False, "The test part selects."))
    found = comparison_grid(FilledSheet(peek, ()), FOUND)
    assert found.warning == "NOT HONEST: test-peek"
    for text in (to_markdown(found), to_latex(found), to_html([found], title="t")):
        assert "NOT HONEST: test-peek" in text


def test_no_comparison_is_a_table_without_lines() -> None:
    found = comparison_grid(SHEET, [])
    assert found.lines == ()
    assert "smallest p" not in " ".join(found.about)
    assert "differences to BES" in to_markdown(found)


def test_every_format_holds_every_text(grid: Grid) -> None:
    markdown, latex, page = to_markdown(grid, 3), to_latex(grid), to_html([grid], title="Nodes")
    assert markdown.startswith("### Nodes &amp; more: differences to BES\n")
    row = next(line for line in markdown.splitlines() if line.startswith(r"| GCN\_1, Cora |"))
    assert [cell.strip() for cell in row.strip("|").split("|")][1:3] == ["5", "-2.00 ± 0.35"]
    assert all(line.count("|") == len(HEADS) + 2 for line in markdown.splitlines() if line.startswith("|"))
    body = next(line for line in latex.splitlines() if line.startswith(r"GCN\_1, Cora &"))
    assert body.count("&") == len(HEADS)
    assert r"-2.00 $\pm$ 0.35" in body
    for words in ("GCN_1, Cora", "-2.00 ± 0.35", "-2.98 to -1.02", "differences to BES"):
        assert words in page
