"""How time and memory of each stage grow with the graph, each stage and size in a process of its own."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from bes.bench.speed.embeddings import make_embeddings
from bes.bench.speed.model import Timing
from bes.bench.speed.outside import Seen, watch
from bes.bench.speed.shaping import SAMPLE
from bes.bench.speed.workload import STAGES

SIZES = (10_000, 100_000, 1_000_000)

#: Nodes for shaping alone.
LARGE = 10_000_000

#: A process that does next to nothing has so many nodes: its memory is the interpreter's, and so is its time.
SMALL = 1_000

SHAPING = "shaping"

#: The stages of a run; whatever else is measured is a part of one.
WHOLE = ("encoders", SHAPING, "decoder", "evaluation")

#: Which work it is that is measured: lines of another one are not gone on from.
WORK = 4

Key = tuple[str, str]


def grow(done: Collection[Key] = (), sizes: Sequence[int] = SIZES, large: int = LARGE) -> Iterator[Timing]:
    """Every stage at every size, small to large; shaping at 10^7 comes last.

    `peak_mib` is of the whole process, reading the graph included; `used_mib` is without what a process with
    the same command on a tiny graph takes. `wall_ms` and `cpu_ms` are of the stage alone: for shaping, which is a whole
    command, likewise without what it takes on a tiny graph.

    Args:
        done: Graph and name of what is known already.
        large: Nodes for shaping alone; 0 leaves it out.
    """
    tiny: dict[str, Seen] = {}
    for nodes in sizes:
        wanted = [stage for stage in STAGES if (f"sbm-{nodes}", stage) not in done]
        if wanted:
            yield from _stages(wanted, nodes, tiny)
    for nodes in (*sizes, *([large] if large else [])):
        if (f"sbm-{nodes}", SHAPING) not in done:
            yield _shaping(nodes, tiny)


def _shaping(nodes: int, tiny: dict[str, Seen]) -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        if SHAPING not in tiny:
            tiny[SHAPING] = _shape(Path(folder), SMALL)
        seen = _shape(Path(folder), nodes)
    base = tiny[SHAPING]
    took = {
        "ms": 1000 * seen.seconds,
        "wall_ms": 1000 * max(0.0, seen.seconds - base.seconds),
        "cpu_ms": 1000 * max(0.0, seen.cpu_seconds - base.cpu_seconds),
    }
    layers = json.loads(seen.output)["layers"]
    did = {"steps": sum(layer["steps"] for layer in layers), "boundary": [layer["boundary"] for layer in layers]}
    return _timing(nodes, SHAPING, took, seen, base, sample=SAMPLE, **did)


def _stages(wanted: Sequence[str], nodes: int, tiny: dict[str, Seen]) -> Iterator[Timing]:
    with tempfile.TemporaryDirectory() as place:
        small, folder = Path(place) / "small", Path(place) / "graph"
        for made, count in ((small, SMALL), (folder, nodes)):
            made.mkdir()
            _work("make", made, str(count))
        for stage in wanted:
            if stage not in tiny:
                tiny[stage] = _work(stage, small, "0")  # its memory alone counts
            seen = _work(stage, folder)
            yield _timing(nodes, stage, json.loads(seen.output), seen, tiny[stage])


def _work(*command: str | Path) -> Seen:
    call = "from bes.bench.speed.workload import main; main()"
    return watch([sys.executable, "-c", call, *map(str, command)])


def _shape(folder: Path, nodes: int) -> Seen:
    """`bes shape` on embeddings of which half have a label, as it stands on the command line, with a sample."""
    z, y, out = (folder / f"{nodes}-{name}.npy" for name in ("z", "y", "out"))
    make_embeddings(z, y, nodes)
    words = ["shape", str(z), "--labels", str(y), "-o", str(out), "--json", "--set", f"displacement_sample={SAMPLE}"]
    return watch([sys.executable, "-m", "bes", *words])


def _timing(nodes: int, stage: str, took: dict[str, float], seen: Seen, tiny: Seen, **did: Any) -> Timing:
    used = None if seen.peak_mib is None or tiny.peak_mib is None else seen.peak_mib - tiny.peak_mib
    times = {"wall_ms": took.get("wall_ms", took["ms"]), "cpu_ms": took["cpu_ms"]}
    more = {"nodes": nodes, **times, "peak_mib": seen.peak_mib, "used_mib": used, "work": WORK, **did}
    return Timing("growth", f"sbm-{nodes}", stage, took["ms"], more=more)


#: What grows, and the field of a line that tells it.
GROWING = {"time_exponent": "cpu_ms", "wall_exponent": "wall_ms", "memory_exponent": "used_mib"}


def exponents(rows: Sequence[dict[str, Any]], first: int = SIZES[1], last: int = SIZES[2]) -> list[dict[str, Any]]:
    """p of nodes^p between two sizes, of the processor's time, the clock's and memory, of each stage that has both."""
    found = []
    for stage in (*STAGES, SHAPING):
        at = {row["nodes"]: row for row in rows if row["name"] == stage}
        if first in at and last in at:
            between = {
                kind: _exponent(at[first].get(key), at[last].get(key), last / first) for kind, key in GROWING.items()
            }
            found.append({"name": stage, **between})
    return found


def _exponent(small: float | None, large: float | None, times: float) -> float | None:
    return math.log(large / small) / math.log(times) if small and large and min(small, large) > 0 else None
