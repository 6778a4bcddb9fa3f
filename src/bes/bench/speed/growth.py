"""How time and memory of each stage grow with the graph, each stage and size in a process of its own."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bes.bench.speed.model import Timing
from bes.bench.speed.outside import Seen, watch
from bes.bench.speed.rivals import WIDTH
from bes.bench.speed.workload import CLASSES, STAGES

SIZES = (10_000, 100_000, 1_000_000)

#: Nodes for shaping alone.
LARGE = 10_000_000

#: A process that does next to nothing has so many nodes: its memory is the interpreter's, and so is its time.
SMALL = 1_000

SHAPING = "shaping"
BLOCK = 1 << 18  # rows of embeddings that are made at a time

Key = tuple[str, str]


def grow(done: Collection[Key] = (), sizes: Sequence[int] = SIZES, large: int = LARGE) -> Iterator[Timing]:
    """Every stage at every size, small to large; shaping at 10^7 comes last.

    `peak_mib` is of the whole process, reading the graph included; `used_mib` is without what a process with
    the same command on a tiny graph takes.

    Args:
        done: Graph and name of what is known already.
    """
    tiny: dict[str, Seen] = {}
    for nodes in sizes:
        wanted = [stage for stage in STAGES if (f"sbm-{nodes}", stage) not in done]
        if wanted:
            yield from _stages(wanted, nodes, tiny)
    for nodes in (*sizes, large):
        if (f"sbm-{nodes}", SHAPING) not in done:
            with tempfile.TemporaryDirectory() as folder:
                if SHAPING not in tiny:
                    tiny[SHAPING] = _shape(Path(folder), SMALL)
                seen = _shape(Path(folder), nodes)
            spent = 1000 * max(0.0, seen.cpu_seconds - tiny[SHAPING].cpu_seconds)
            yield _timing(nodes, SHAPING, {"ms": 1000 * seen.seconds, "cpu_ms": spent}, seen, tiny[SHAPING])


def _stages(wanted: Sequence[str], nodes: int, tiny: dict[str, Seen]) -> Iterator[Timing]:
    with tempfile.TemporaryDirectory() as place:
        small, folder = Path(place) / "small", Path(place) / "graph"
        for made, count in ((small, SMALL), (folder, nodes)):
            made.mkdir()
            _work("make", made, str(count))
        for stage in wanted:
            if stage not in tiny:
                tiny[stage] = _work(stage, small)
            seen = _work(stage, folder)
            yield _timing(nodes, stage, json.loads(seen.output), seen, tiny[stage])


def _work(*command: str | Path) -> Seen:
    call = "from bes.bench.speed.workload import main; main()"
    return watch([sys.executable, "-c", call, *map(str, command)])


def _shape(folder: Path, nodes: int) -> Seen:
    """`bes shape` on embeddings of which half have a label, as it stands on the command line."""
    z, y, out = (folder / f"{nodes}-{name}.npy" for name in ("z", "y", "out"))
    make_embeddings(z, y, nodes)
    return watch([sys.executable, "-m", "bes", "shape", str(z), "--labels", str(y), "-o", str(out), "--quiet"])


def make_embeddings(z: Path, y: Path, nodes: int) -> None:
    """Gaussian classes `[nodes, 64]` a few deviations apart, written in blocks; labels of one half, -1 else."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLASSES, WIDTH)).astype(np.float32)
    classes = rng.integers(0, CLASSES, nodes)
    rows: Any = np.lib.format.open_memmap(z, mode="w+", dtype=np.float32, shape=(nodes, WIDTH))
    for start in range(0, nodes, BLOCK):
        part = classes[start : start + BLOCK]
        rows[start : start + BLOCK] = centres[part] + rng.normal(size=(len(part), WIDTH)).astype(np.float32)
    rows.flush()
    np.save(y, np.where(rng.random(nodes) < 0.5, classes, -1))


def _timing(nodes: int, stage: str, took: dict[str, float], seen: Seen, tiny: Seen) -> Timing:
    used = None if seen.peak_mib is None or tiny.peak_mib is None else seen.peak_mib - tiny.peak_mib
    more = {"nodes": nodes, "cpu_ms": took["cpu_ms"], "peak_mib": seen.peak_mib, "used_mib": used}
    return Timing("growth", f"sbm-{nodes}", stage, took["ms"], more=more)


def exponents(rows: Sequence[dict[str, Any]], first: int = SIZES[1], last: int = SIZES[2]) -> list[dict[str, Any]]:
    """p of nodes^p between two sizes, for the processor's time and for the memory of each stage that has both."""
    found = []
    for stage in (*STAGES, SHAPING):
        at = {row["nodes"]: row for row in rows if row["name"] == stage}
        if first in at and last in at:
            between = {
                kind: _exponent(at[first][key], at[last][key], last / first)
                for kind, key in (("time_exponent", "cpu_ms"), ("memory_exponent", "used_mib"))
            }
            found.append({"name": stage, **between})
    return found


def _exponent(small: float | None, large: float | None, times: float) -> float | None:
    return math.log(large / small) / math.log(times) if small and large and min(small, large) > 0 else None
