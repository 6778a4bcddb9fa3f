"""When shaping has converged, against a loop that reads as the docstring does."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bes.bench.convergence import LEFT, WINDOW, Curves, converged

Rows = list[dict[str, Any]]


def history(*layers: list[float]) -> Rows:
    """Rows as a shaper leaves them, a list of losses a layer."""
    return [
        {"layer": layer, "iteration": i, "loss": -value, "loss_after": value}
        for layer, losses in enumerate(layers, 1)
        for i, value in enumerate(losses)
    ]


def loop(before: int, losses: list[float]) -> tuple[int | None, float]:
    """Iterations until the last layer has converged, None if it has not; and how near a mean came to the limit."""
    window = min(WINDOW, len(losses))
    means = [sum(losses[i : i + window]) / window for i in range(len(losses) - window + 1)]
    limit = min(means) + LEFT * (max(means) - min(means))
    near = min(abs(mean - limit) for mean in means)
    for first in range(len(means)):
        if all(mean <= limit for mean in means[first:]):
            return before + first + window, near
    return None, near


@given(
    st.lists(st.lists(st.integers(0, 1000).map(float), min_size=1, max_size=40), min_size=1, max_size=3),
    st.floats(0.1, 100),
)
def test_it_is_what_the_loop_finds(layers: list[list[float]], seconds: float) -> None:
    total = sum(map(len, layers))
    expected, near = loop(total - len(layers[-1]), layers[-1])
    assume(expected is not None)
    assume(near > 1e-6 or len(set(layers[-1])) == 1)  # else rounding decides
    found = converged(history(*layers), seconds)
    assert (found["iterations"], found["of"]) == (expected, total)
    assert found["seconds"] == pytest.approx(seconds * expected / total)


def test_only_the_loss_after_a_step_counts_and_only_of_the_last_layer() -> None:
    """100, 0, 0, ...: means of ten are 10 while the first is among them, then 0."""
    falling = [100.0] + [0.0] * 29
    found = converged(history(falling), 3.0)
    assert found == {"iterations": 11, "of": 30, "seconds": pytest.approx(1.1), "converged": True}
    found = converged(history([5.0] * 7, falling), 37.0)
    assert found == {"iterations": 18, "of": 37, "seconds": pytest.approx(18), "converged": True}
    assert converged(history(falling, [5.0] * 7), 37.0)["iterations"] == 37


def test_a_loss_that_rises_again_has_not_converged_before_it_fell_back() -> None:
    bump = [100.0] * 10 + [0.0] * 20 + [60.0] + [0.0] * 20
    assert converged(history(bump), 51.0)["iterations"] == 41


def test_without_a_history_nothing_was_shaped() -> None:
    assert converged([], 0.25) == {"iterations": 0, "of": 0, "seconds": 0.25, "converged": True}


def test_it_never_takes_longer_than_shaping_did() -> None:
    """A loss that ends on the rise has not converged within its iterations: they are all it took."""
    rising = [20.0 - 2 * i for i in range(11)] + [0.0] * 5 + [20.0, 30.0, 40.0, 50.0]
    found = converged(history(rising), 10.0)
    assert found == {"iterations": 20, "of": 20, "seconds": pytest.approx(10.0), "converged": False}


def test_curves_keep_each_stage_by_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 101.5, 102.0, 104.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(now))
    curves = Curves()
    first = curves.watch("encoder gcn", 2)
    first(0, None, {"loss": 2.0, "score": 0.5})
    first(1, None, {"loss": 1.0, "score": 0.75})
    curves.watch("shaping of bes", 1)(0, None, {"loss": 0.25})
    assert curves.as_dict() == {
        "stages": [
            {"name": "encoder gcn", "seconds": [1.5, 2.0], "loss": [2.0, 1.0], "score": [0.5, 0.75]},
            {"name": "shaping of bes", "seconds": [4.0], "loss": [0.25], "score": [None]},
        ]
    }
