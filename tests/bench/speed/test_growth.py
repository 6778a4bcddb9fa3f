"""Growth: stages in processes of their own, and how exponents are fitted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bes.bench.speed import growth
from bes.bench.speed.growth import SHAPING, exponents
from bes.bench.speed.outside import Seen, watch
from bes.bench.speed.shaping import SAMPLE
from bes.bench.speed.workload import STAGES, make, read, run


def test_a_process_is_watched_from_outside() -> None:
    tiny = watch([sys.executable, "-c", "sum(range(5_000_000)); print(1)"])  # long enough to be seen
    large = watch([sys.executable, "-c", "x = b'1' * (200 << 20); import time; time.sleep(0.2); print(len(x))"])
    assert (tiny.output, large.output) == ("1\n", f"{200 << 20}\n")
    assert tiny.seconds > 0
    assert tiny.cpu_seconds > 0
    if Path("/proc/self/status").exists():
        assert tiny.peak_mib is not None
        assert large.peak_mib is not None
        assert 190 < large.peak_mib - tiny.peak_mib < 260


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        watch([sys.executable, "-c", "raise ValueError('no such thing')"])


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_runs_on_a_stored_graph(stage: str, tmp_path: Path) -> None:
    make(tmp_path, 300)
    graph = read(tmp_path)
    assert graph.edge_index.shape[1] == 300 * 14
    assert min(run(stage, tmp_path, seconds=0.0).values()) > 0


def test_what_is_known_is_left_out_and_sizes_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def fake(command: list[str]) -> Seen:
        seen.append(" ".join(part for part in command if part in STAGES or part == "shape"))
        layers = '"layers": [{"steps": 200, "boundary": 7}, {"steps": 3, "boundary": 5}]'
        told = f'{{"ms": 5.0, "cpu_ms": 9.0, {layers}}}'
        return Seen(2.0 * len(seen), 1.0 + len(seen), 100.0 + len(seen), told)

    monkeypatch.setattr(growth, "watch", fake)
    last = list(STAGES)[-1]
    done = {("sbm-1200", stage) for stage in STAGES if stage != last} | {("sbm-1200", SHAPING)}
    found = list(growth.grow(done, sizes=(1200,), large=1300))
    assert [(one.graph, one.name) for one in found] == [("sbm-1200", last), ("sbm-1300", SHAPING)]
    assert [name for name in seen if name] == [last, last, "shape", "shape"]  # each after one on a tiny graph
    assert all(one.more["used_mib"] == 1.0 for one in found)
    assert [one.more["cpu_ms"] for one in found] == [9.0, 1000.0]
    assert [one.more["wall_ms"] for one in found] == [5.0, 2000.0]  # shaping without what a tiny command takes
    assert (found[1].more["steps"], found[1].more["boundary"], found[1].more["sample"]) == (203, [7, 5], SAMPLE)
    assert all(one.more["work"] == growth.WORK for one in found)
    assert list(growth.grow(done | {("sbm-1200", last)}, sizes=(1200,), large=0)) == []


def test_shaping_is_called_with_its_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    called: list[str] = []
    monkeypatch.setattr(growth, "watch", called.extend)
    growth._shape(tmp_path, 50)
    assert f"displacement_sample={SAMPLE}" in called
    assert np.load(tmp_path / "50-z.npy").shape == (50, 64)


def test_exponents_are_slopes_between_two_sizes() -> None:
    rows = [
        {
            "name": "inference",
            "nodes": nodes,
            "cpu_ms": 3.0 * nodes**1.2,
            "wall_ms": nodes**1.1,
            "used_mib": 0.1 * nodes**0.9,
        }
        for nodes in (10, 100, 1000)
    ]
    (found,) = exponents(rows, 100, 1000)
    assert found["name"] == "inference"
    assert found["time_exponent"] == pytest.approx(1.2)
    assert found["wall_exponent"] == pytest.approx(1.1)
    assert found["memory_exponent"] == pytest.approx(0.9)
    assert exponents(rows[:1], 100, 1000) == []
    rows[2]["used_mib"] = None
    assert exponents(rows, 100, 1000)[0]["memory_exponent"] is None
