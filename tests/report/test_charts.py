import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.report.charts import chart, nice_step, padded


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_inside(low: float, span: float) -> None:
    drawn = chart("t", ("x", low, low + span), ("y", 0, 1))
    places = [place for place, _ in drawn.x.ticks]
    assert 2 <= len(places) <= 6
    assert places == sorted(places)
    assert all(drawn.x.start - 0.1 <= place <= drawn.x.end + 0.1 for place in places)


@pytest.mark.parametrize(("span", "step"), [(1, 0.25), (100, 25), (7, 2), (0.003, 0.001), (18, 5)])
def test_steps_are_round(span: float, step: float) -> None:
    assert nice_step(span) == pytest.approx(step)


def test_up_is_more_and_the_ends_are_the_axes() -> None:
    drawn = chart("t", ("x", 0, 10), ("y", 0, 5))
    drawn.line([(0, 0), (10, 5)], "curve")
    first, last = ([float(v) for v in point.split(",")] for point in drawn.lines[0]["points"].split())
    assert first == [drawn.x.start, drawn.y.start]
    assert last == [drawn.x.end, drawn.y.end]
    assert last[1] < first[1]


def test_a_single_value_still_has_a_range() -> None:
    low, high = padded([3.0, 3.0])
    assert low < 3 < high
    drawn = chart("t", ("x", 4, 4), ("y", low, high))
    assert drawn.x.at(4) == drawn.x.start
    assert padded([0.0, 2.0], zero=True)[0] == 0


def test_no_point_leaves_no_mark() -> None:
    drawn = chart("t", ("x", 0, 1), ("y", 0, 1))
    drawn.marks([], "h0", "kept")
    assert drawn.paths == []
