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
    line(
        "growth",
        "sbm-100000",
        "inference",
        10.0,
        nodes=100_000,
        cpu_ms=20.0,
        wall_ms=10.0,
        peak_mib=500.0,
        used_mib=100.0,
    ),
    line(
        "growth",
        "sbm-1000000",
        "inference",
        200.0,
        nodes=1_000_000,
        cpu_ms=400.0,
        wall_ms=100.0,
        peak_mib=1400.0,
        used_mib=1000.0,
    ),
    line("product", "none", "hidden layer", 10.0, 25.0, onednn=True),
]


def test_every_part_is_told_with_what_is_reached() -> None:
    text = page(LINES, "figures/speed.png")
    assert "2026-11-16; 2 cores; load of the machine 1.5 to 1.5; bes 1." in text
    assert "![speed](figures/speed.png)" in text
    assert "The least ratio is 4.0 (gcn on cora): none of 2 is slower than PyTorch Geometric's." in text
    assert "Not measured: sage on cora, gat on cora," in text
    assert "Of the 2 ratios that are asked for" in text
    assert "1 hold." in text
    assert "| hidden layer | 10.0 | 25.0 | 2.5 |" in text
    assert "On this processor they go to oneDNN" in text
    other = [{**one, "onednn": False} if one["kind"] == "product" else one for one in LINES]
    assert "On this processor both are the same" in page(other, "figures/speed.png")
    assert "Below 60% here: sparse product, gcn." in text
    assert "reach 40% of it" in text
    assert "200 ms, 1,400 MiB | 1.30 | 1.00 | 1.00 |" in text
    assert "Above 1.1: inference 1.30 (processor time)." in text
    assert "n^1.5" not in text  # only shaping looks for neighbours


def test_stages_of_a_run_come_before_their_parts() -> None:
    def grown(name: str, nodes: int, took: float) -> dict[str, Any]:
        more = {"nodes": nodes, "cpu_ms": took, "wall_ms": took, "peak_mib": 9.0, "used_mib": nodes / 1e3}
        return line("growth", f"sbm-{nodes}", name, took, **more)

    sizes = ((100_000, 1.0), (1_000_000, 10.0))
    text = page(
        [*LINES, *(grown("decoder", n, t) for n, t in sizes), *(grown("encoders", n, t) for n, t in sizes)], "x"
    )
    stages, parts = text.split("Parts of these stages")
    assert stages.index("| encoders |") < stages.index("| decoder |")
    assert "No exponent is above 1.1." in stages
    assert "inference 1.30" in parts
    assert "encoders" not in parts


def test_huge_pages_have_a_table_of_their_own() -> None:
    huge = {"huge_ours_ms": 1.0, "huge_rival_ms": 2.0, "huge_ratio": 2.0}
    text = page([LINES[0] | huge, LINES[1]], "x.png")
    assert "| gcn | 1.0 / 2.0 = **2.0** |" in text
    assert "Of 1 ratios 1 are smaller so" in text
    assert "asked for, 0 of 1 hold so (not gcn on cora), and none of 1 is slower" in text
    assert "huge pages for both" not in page(LINES, "x.png")


def test_a_slower_step_is_named() -> None:
    slow = line("conv-step", "pubmed", "gatv2", 2.0, 1.0)
    assert "1 of 3 are slower than PyTorch Geometric's (gatv2 on pubmed)" in page([*LINES[:2], slow], "x.png")


def test_a_product_that_a_cache_serves_explains_growth() -> None:
    small = line("roofline", "sbm-10", "smaller sparse product, gcn", 10.0, 15.0, bytes=100.0)
    large = line("roofline", "sbm-100", "sparse product, gcn", 100.0, 90.0, bytes=1000.0)
    text = page([*LINES[3:5], small, large], "x.png")
    assert "at 150% of the triad's rate on sbm-10 and at 90% on sbm-100" in text
    assert "with the power 1.00 of its bytes" in text
    assert "of the triad's rate on" not in page([*LINES[3:5], large], "x.png")


def test_a_measured_ceiling_explains_what_is_low() -> None:
    sparse = LINES[5] | {"reading_ms": 80.0, "fresh_ms": 5.0, "rest_ms": 5.0, "ceiling_ms": 90.0, "ceiling_share": 0.9}
    facts = {"intensity": 16.0, "bound": "flops", "attainable_gflops": 30.0, "gemm_gflops": 30.0, "triad_gbs": 10.0}
    dense = line("roofline", "sbm", "dense product", 100.0, 34.0, cached_ms=40.0, fresh_ms=50.0, **facts)
    placed = line("roofline", "sbm", "dense product, into memory that is there", 50.0, 34.0)
    ceiling = {"ceiling_ms": 95.0, "ceiling_share": 0.95}
    text = page([*LINES[3:5], sparse, dense | ceiling, placed], "x.png")
    assert "Reading the rows alone takes 80% to 80%" in text
    assert "reach\n90% to 90% of their ceiling" in text
    assert "| 100.0 | 50.0 | 50% | 90.0 | 90% |" in text
    assert "does 16.0 flops a byte, where this machine's limits meet at 3.0" in text
    assert "roof is set by flops, at 30.0 GFLOP/s, of which it reaches 34%" in text
    assert "reaches 85% of the roof, and into memory that is there\n68%" in text
    assert "costs 50% of its time" in text


def test_shaping_says_its_sample_its_steps_and_why_it_grows() -> None:
    rows = [
        line("growth", f"sbm-{n}", "shaping", t, nodes=n, cpu_ms=t, wall_ms=t, peak_mib=9.0, used_mib=n / 1e3, **did)
        for n, t, did in ((100_000, 10.0, {"steps": 400, "sample": 10_000}), (1_000_000, 300.0, {"steps": 399}))
    ]
    text = page(rows, "x.png")
    assert "above 10,000 nodes the displacement by a sample of so many, `displacement_sample=10000`" in text
    assert "Iterations that shaping took: 400 at 100,000 nodes, 399 at 1,000,000 nodes." in text
    assert "n^1.5" in text


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
