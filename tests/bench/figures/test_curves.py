"""Curves by the second."""

from typing import Any

import numpy as np
import pytest

from bes.bench.figures.curves import convergence, curve
from bes.errors import InputError


def stage(name: str, start: float, end: float, score: list[float | None]) -> dict[str, Any]:
    n = len(score)
    return {
        "name": name,
        "seconds": np.linspace(start, end, n).tolist(),
        "loss": [1.0 / (i + 1) for i in range(n)],
        "score": score,
    }


def recorded(scale: float = 1.0) -> dict[str, Any]:
    """As a run leaves it: encoders, shaping, then one decoder after the other."""
    stages = [
        stage("encoder gcn", 0.1 * scale, 2 * scale, [0.1, 0.2]),
        stage("shaping of bes", 2.5 * scale, 5 * scale, [None, None, None]),
        stage("decoder of control", 5.5 * scale, 6 * scale, [0.5, None, 0.7]),
        stage("decoder of bes", 6.5 * scale, 8 * scale, [0.5, 0.6, 0.8]),
    ]
    return {"stages": stages}


def lines(ax: Any) -> dict[str, Any]:
    return {line.get_gid(): line for line in ax.get_lines()}


def test_an_arm_does_not_pay_for_the_other() -> None:
    seconds, _ = curve(recorded(), "decoder of bes", "score")
    np.testing.assert_allclose(seconds, [5.5, 6.25, 7.0])  # a second went into the decoder of control
    seconds, score = curve(recorded(), "decoder of control", "score")
    np.testing.assert_allclose(seconds, [2.5, 3.0])  # three went into shaping
    np.testing.assert_allclose(score, [0.5, 0.7])
    np.testing.assert_allclose(curve(recorded(), "shaping of bes", "loss")[0], [2.5, 3.75, 5.0])


def test_a_stage_that_was_not_run_is_empty() -> None:
    seconds, values = curve(recorded(), "decoder of mlp", "score")
    assert seconds.size == values.size == 0


def test_curves_of_unlike_length_are_refused() -> None:
    broken = recorded()
    broken["stages"][3]["score"].pop()
    with pytest.raises(InputError, match="3 seconds and 2 of score"):
        curve(broken, "decoder of bes", "score")


def test_panels_hold_a_line_a_setting_and_the_control() -> None:
    figure = convergence({"Cora NC": {"L1": recorded(), "L1+2": recorded(2)}, "Cora LP": {"L1": recorded()}})
    above, other, below, _ = figure.axes
    assert [above.get_title(), other.get_title()] == ["Cora NC", "Cora LP"]
    assert list(lines(above)) == ["L1", "L1+2", "control"]
    assert list(lines(below)) == ["L1", "L1+2"]
    np.testing.assert_allclose(lines(above)["L1+2"].get_ydata(), [0.5, 0.6, 0.8])
    np.testing.assert_allclose(lines(below)["L1"].get_ydata(), [1, 1 / 2, 1 / 3])
    looks = {(line.get_color(), line.get_linestyle()) for line in lines(above).values()}
    assert len(looks) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["L1", "L1+2", "control"]


def test_a_control_that_is_given_is_not_taken_from_elsewhere() -> None:
    figure = convergence({"Cora": {"control": recorded(3), "L1": recorded()}})
    np.testing.assert_allclose(lines(figure.axes[0])["control"].get_xdata(), [7.5, 9.0])


def test_long_spans_are_logarithmic_and_short_ones_are_not() -> None:
    long = recorded()
    long["stages"][3]["seconds"] = [6.5, 60.0, 600.0]
    figure = convergence({"short": {"L1": recorded()}, "long": {"L1": long}})
    assert [ax.get_xscale() for ax in figure.axes] == ["linear", "log", "linear", "log"]


def test_more_than_four_panels_go_on_below() -> None:
    figure = convergence({f"graph {i}": {"L1": recorded()} for i in range(5)})
    named = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert named == [f"graph {i}" for i in range(5)]
    assert sum(ax.axison for ax in figure.axes) == 10


def test_no_curves_are_refused() -> None:
    with pytest.raises(InputError, match="no curves"):
        convergence({})
