"""A metric over the values of a parameter."""

import statistics
from typing import Any

import numpy as np
import pytest

from bes.bench.figures.sensitivity import sensitivity
from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.model import ACCURACY, Ask, Cell, Protocol, Sheet
from bes.config import RunConfig
from bes.errors import InputError

VALUES = {
    ("Cora", "0.5"): [80.0, 82.0, 84.0],
    ("Cora", "1"): [85.0, 85.5, 87.0],
    ("Cora", "no shaping"): [80.0, 81.0, 85.0],
    ("CiteSeer", "0.5"): [70.0],
    ("CiteSeer", "1"): [],
    ("CiteSeer", "no shaping"): [71.0, 70.0],
}


def sheet(columns: tuple[str, ...] = ("0.5", "1", "no shaping")) -> FilledSheet:
    ask = Ask(RunConfig.build("cora"), "bes", ACCURACY, (0, 1, 2))
    kept = {place: values for place, values in VALUES.items() if place[1] in columns}
    cells = [Cell(row, column, ask) for row, column in kept]
    about = Protocol("honest", True, "")
    filled = [FilledCell(c, dict(enumerate(v)), {}) for c, v in zip(cells, kept.values(), strict=True)]
    return FilledSheet(Sheet("sensitivity-tau", "Accuracy by tau", about, tuple(cells)), tuple(filled))


def bars(ax: Any) -> dict[str, Any]:
    return {one.lines[0].get_gid(): one for one in ax.containers}


def heights(bar: Any) -> np.ndarray:
    return np.asarray(bar.lines[0].get_ydata(), dtype=float)


def test_differences_to_the_control_are_paired_by_seed() -> None:
    ax = sensitivity([sheet()]).axes[0]
    cora = bars(ax)["Cora"]
    np.testing.assert_allclose(heights(cora), [0.0, 23 / 6])
    error = statistics.stdev([0.0, 1.0, -1.0]) / 3**0.5
    low, high = cora.lines[2][0].get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * error)
    np.testing.assert_allclose(heights(bars(ax)["CiteSeer"]), [-1.0])  # seed 0 alone has both
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.5", "1"]
    assert ax.get_ylabel() == "accuracy against\nno shaping, points"
    assert ax.get_xlabel() == r"$\tau$"


@pytest.mark.parametrize("columns", [("0.5", "1"), ("0.5", "1", "no shaping")])
def test_without_a_control_values_are_drawn_as_they_are(columns: tuple[str, ...]) -> None:
    ax = sensitivity([sheet(columns)], against=None).axes[0]
    np.testing.assert_allclose(heights(bars(ax)["Cora"])[:2], [82.0, 257.5 / 3])
    assert ax.get_ylabel() == "accuracy, %"
    assert [label.get_text() for label in ax.get_xticklabels()] == list(columns)


def test_the_default_has_a_star_on_each_line_that_reaches_it() -> None:
    figure = sensitivity([sheet()], {"sensitivity-tau": "1"})
    stars = [line for line in figure.axes[0].get_lines() if line.get_gid() == "default"]
    assert len(stars) == 1  # CiteSeer has no value there
    assert stars[0].get_ydata()[0] == pytest.approx(23 / 6)
    assert figure.legends[0].get_texts()[-1].get_text() == "default"


def test_lines_differ_in_colour_dash_and_symbol() -> None:
    ax = sensitivity([sheet()]).axes[0]
    first, second = (one.lines[0] for one in bars(ax).values())
    for look in ("get_color", "get_marker", "get_linestyle"):
        assert getattr(first, look)() != getattr(second, look)()


def test_a_default_that_is_no_column_is_refused() -> None:
    with pytest.raises(InputError, match=r"default 7 of sensitivity-tau is none of its columns: 0\.5, 1\."):
        sensitivity([sheet()], {"sensitivity-tau": "7"})


def test_no_sheets_are_refused() -> None:
    with pytest.raises(InputError, match="no sheet"):
        sensitivity([])
