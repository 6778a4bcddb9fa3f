"""What a suite is made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bes.bench.model import ACCURACY, Ask, Cell, Protocol, Sheet, Suite
from bes.config import RunConfig


@pytest.mark.parametrize(
    ("arm", "arms"), [("bes", ("control", "bes")), ("control", ("control", "bes")), ("gcn", ("gcn",))]
)
def test_control_and_bes_are_one_run_and_a_rival_is_its_own(
    arm: str, arms: tuple[str, ...], quick: Callable[..., RunConfig]
) -> None:
    assert Ask(quick(), arm, ACCURACY, (0,)).arms == arms


def test_rows_and_columns_stand_in_the_order_of_the_cells(quick: Callable[..., RunConfig]) -> None:
    ask = Ask(quick(), "bes", ACCURACY, (0,))
    cells = tuple(Cell(row, column, ask if row == "b" else None) for row in "ba" for column in "yx")
    sheet = Sheet("s", "S", Protocol("p", True, ""), cells)
    assert (sheet.rows, sheet.columns) == (["b", "a"], ["y", "x"])
    assert list(Suite("s", "S", (sheet, sheet)).asks()) == [ask] * 4
