"""A filled suite at a terminal."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bes.bench.compare import compare
from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.model import ACCURACY, Ask, Cell, Printed, Protocol, Sheet, Suite
from bes.bench.output import Filled
from bes.bench.terminal import show
from bes.config import RunConfig

Show = Callable[..., str]

CONFIG = RunConfig.build("small")
PROTOCOLS = {True: Protocol("validation", True, ""), False: Protocol("test-peek", False, "")}


def cell(row: str, column: str, values: list[float], printed: str | None = None, problem: str = "") -> FilledCell:
    ask = Ask(CONFIG, "bes", ACCURACY, (0, 1, 2))
    said = None if printed is None else Printed(printed, None, None, "Table 1", row, column)
    return FilledCell(Cell(row, column, ask, said), dict(enumerate(values)), {}, problem)


CELLS = [
    cell("GCN [x]", "Cora", [70.0, 72.0, 71.0], "81.50"),
    cell("GCN [x]", "Own", [], None, "data set absent"),
    cell("BES", "Cora", [80.0, 81.0, 82.0], "OOM"),
    cell("SGC", "Cora", [50.0], "77.10", "1 of 3 splits"),
]


@pytest.fixture
def said() -> Show:
    """`said(cells)`: what is printed, white space made plain."""

    def said(
        cells: list[FilledCell], *, honest: bool = True, reference: str = "BES", missing: dict[str, str] | None = None
    ) -> str:
        places = tuple(one.cell for one in cells)
        sheet = FilledSheet(Sheet("nodes", "[Nodes]", PROTOCOLS[honest], places, "", reference), tuple(cells))
        suite = Suite("own", "Own", (sheet.sheet,))
        console = Console(file=StringIO(), width=200, highlight=False, emoji=False)
        show(Filled(suite, [sheet], {"nodes": compare(sheet)}, {"Kept": Path("kept")}, missing or {}), console)
        file = console.file
        assert isinstance(file, StringIO)
        return " ".join(file.getvalue().split())

    return said


def test_ours_and_the_papers_value(said: Show) -> None:
    shown = said(CELLS)
    assert "71.00 ± 0.58 (81.50)" in shown
    assert "81.00 ± 0.58 (OOM)" in shown
    assert "50.00 1 of 3 splits (77.10)" in shown, "one split has no error"
    assert "data set absent" in shown


def test_brackets_are_no_markup(said: Show) -> None:
    shown = said(CELLS, missing={"[Cora] NC": "not [run] yet"})
    for words in ("[Nodes]", "GCN [x]", "No picture of [Cora] NC: not [run] yet."):
        assert words in shown


def test_differences_that_stand_out_are_counted(said: Show) -> None:
    assert "1 of 2 differences to BES have zero outside their interval" in said(CELLS)
    assert "0 of 1 differences" in said([CELLS[2], cell("GCN", "Cora", [80.0, 82.0, 81.0])])
    assert "differences" not in said(CELLS, reference="")
    assert "differences" not in said(CELLS[:2])


def test_what_is_not_honest_is_marked(said: Show) -> None:
    assert "NOT HONEST: test-peek" in said(CELLS, honest=False)
    assert "NOT HONEST" not in said(CELLS)


def test_pictures_that_are_kept_are_not_lamented(said: Show) -> None:
    assert "No picture" not in said(CELLS)
