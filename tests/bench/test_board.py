"""The board of a grid: what it counts, says and expects."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from bes.bench import board as boards
from bes.bench.board import LiveBoard, duration
from bes.bench.units import Outcome, Unit
from bes.config import RunConfig

Quick = Callable[..., RunConfig]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be set."""
    now = [1000.0]
    monkeypatch.setattr(boards.time, "monotonic", lambda: now[0])
    return now


def plain() -> Console:
    return Console(file=io.StringIO(), width=60)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def record(arm: str, took: float | None) -> dict[str, Any]:
    return {"dataset": "small", "task": "node", "arm": arm} | ({} if took is None else {"took": took})


def test_a_log_gets_a_line_a_run(quick: Quick) -> None:
    units = [Unit(quick(), seed) for seed in range(3)]
    console = plain()
    with LiveBoard(console) as board:
        board.begin(units, 7, 1)
        board.start(units[0])
        board.end(Outcome(units[0], [], 2.04))
        board.tick()
        board.start(units[1])
        board.end(Outcome(units[1], [], 50.0, "Class [bold]2[/bold] has no training node: " + "x" * 60))
    lines = said(console).splitlines()
    assert lines[0] == "7 runs recorded, 3 to do."
    assert lines[1] == "8/10  small, control+bes, seed 0: 2.0 s  (4 s left)"
    assert lines[2].startswith(
        "9/10  small, control+bes, seed 1: failed: Class [bold]2[/bold] has no training node: xx"
    )
    assert lines[2].endswith("x  (2 s left)"), "one line, however long, and nothing learned from a failure"
    assert len(lines) == 3
    assert board.counts == {"recorded": 7, "done": 1, "failed": 1}


def test_asked_to_be_quiet_it_says_nothing(quick: Quick) -> None:
    for console in (plain(), Console(file=io.StringIO(), force_terminal=True)):
        unit = Unit(quick(), 0)
        with LiveBoard(console, show=False) as board:
            board.begin([unit], 0, 1)
            board.start(unit)
            board.tick()
            board.end(Outcome(unit, [], 1.0))
        assert said(console) == ""
        assert board.counts["done"] == 1


def test_at_a_terminal_the_table_shows_what_goes_on(quick: Quick, clock: list[float]) -> None:
    units = [Unit(quick(), seed) for seed in range(4)]
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with LiveBoard(console, [record("bes", 120.0)]) as board:
        board.begin(units, 5, 2)
        board.start(units[0])
        board.end(Outcome(units[0], [], 60.0))
        board.start(units[1])
        clock[0] += 30
        board.tick()
        shown = Console(file=io.StringIO(), width=100)
        shown.print(board._draw())
        text = said(shown)
    assert "runs recorded" not in said(console), "the table says it"
    row = next(line for line in text.splitlines() if "min" in line)
    # 5 before, 1 done, 1 running, none failed, 2 waiting; (60 + 90 + 90) / 2 seconds left
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["5", "1", "1", "0", "2", "2 min"]
    assert "… small, control+bes, seed 1: 30 s" in text
    assert "small, control+bes, seed 0: 60.0 s" in text


def test_time_left_is_that_of_the_same_kind_or_of_all(quick: Quick, clock: list[float]) -> None:
    known = [record("bes", 10.0), record("bes", 30.0), record("gcn", 2.0), record("cheb", None)]
    bes, gcn, other = Unit(quick(), 0), Unit(quick(), 0, ("gcn",)), Unit(quick(), 0, ("sgc",))
    board = LiveBoard(plain(), known, show=False)
    board.begin([bes], 0, 1)
    assert board.seconds_left() == pytest.approx(20)
    board.begin([gcn], 0, 1)
    assert board.seconds_left() == pytest.approx(2)
    board.begin([other], 0, 1)
    assert board.seconds_left() == pytest.approx(42 / 3)
    board.begin([bes, gcn, other], 0, 2)
    assert board.seconds_left() == pytest.approx((20 + 2 + 14) / 2)
    board.start(bes)
    clock[0] += 15
    assert board.seconds_left() == pytest.approx((5 + 2 + 14) / 2)
    clock[0] += 100
    assert board.seconds_left() == pytest.approx((0 + 2 + 14) / 2), "late, not early"
    assert LiveBoard(plain()).seconds_left() == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (42.4, "42 s"), (60, "1 min"), (420, "7 min"), (3599, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
