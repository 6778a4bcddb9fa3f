"""The page of speed says what the lines say."""

from __future__ import annotations

from typing import Any

from bes.bench.speed.figure import draw
from bes.bench.speed.kept import Line
from bes.bench.speed.output import write
from bes.bench.speed.page import page


def line(kind: str, graph: str, name: str, ours: float | None, rival: float | None = None, **more: Any) -> Line:
    pair = {"ours_ms": ours, "rival_ms": rival, "ratio": rival / ours if ours and rival else None}
    stamp = {"date": "2026-11-16", "machine": "2 cores", "load": 1.5, "versions": {"bes": "1", "commit": None}}
    return {"kind": kind, "graph": graph, "name": name, **pair, **stamp, **more}


LINES = [
    line("conv-step", "cora", "gcn", 2.0, 8.0),
    line("conv-step", "cora", "cheb", 2.0, 8.0),
    line("stage", "cora", "paper: shaping", 100.0),
    line("roofline", "none", "triad, GB/s", None, limit=20.0),
    line("roofline", "none", "rows in random order", 100.0, 40.0),
    line("roofline", "sbm", "sparse product, gcn", 100.0, 50.0),
    line("roofline", "sbm", "sparse product, sum", 100.0, 70.0),
    line("growth", "sbm-100000", "inference", 10.0, nodes=100_000, cpu_ms=20.0, peak_mib=500.0, used_mib=100.0),
    line("growth", "sbm-1000000", "inference", 200.0, nodes=1_000_000, cpu_ms=400.0, peak_mib=1400.0, used_mib=1000.0),
]


def test_every_part_is_told_with_what_is_reached() -> None:
    text = page(LINES, "figures/speed.png")
    assert "2026-11-16; 2 cores; load of the machine 1.5 to 1.5; bes 1." in text
    assert "![speed](figures/speed.png)" in text
    assert "The least ratio is 4.0 (gcn on cora)." in text
    assert "Of the 2 ratios that are asked for" in text
    assert "1 hold." in text
    assert "Below 60% here: sparse product, gcn." in text
    assert "reach 40% of it" in text
    assert "200 ms, 1,400 MiB | 1.30 | 1.00 |" in text
    assert "Above 1.1: inference 1.30." in text


def test_a_part_that_was_not_measured_has_no_heading() -> None:
    text = page(LINES[:2], "speed.png")
    assert "Growth" not in text
    assert "limits" not in text


def test_a_busy_machine_is_told() -> None:
    busy = [one | {"load": 9.0} for one in LINES[:1]] + LINES[1:2]
    assert "**Not to be quoted: 1 of 2 timings" in page(busy, "speed.png")
    assert "quoted" not in page(LINES, "speed.png")


def test_nothing_low_is_not_explained() -> None:
    text = page([LINES[3], LINES[6]], "speed.png")
    assert "All sparse products reach 60% or more." in text
    assert "Below" not in text


def test_the_picture_has_a_panel_a_part() -> None:
    assert [len(draw(lines).axes) for lines in (LINES, LINES[:2], LINES[-2:])] == [3, 1, 1]


def test_without_lines_nothing_is_written(tmp_path: Any) -> None:
    files, notes = write([], tmp_path)
    assert (files, len(notes)) == ([], 1)
