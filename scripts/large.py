"""Write docs/results/large.md: time and peak memory of large jobs, seen from outside their processes.

python scripts/large.py                    every job that is not recorded yet (an hour on two quiet cores)
python scripts/large.py --only arxiv-like  that one again
python scripts/large.py --write            write the page from the committed records alone
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rank_memory
import shape_large
from recorded import ROOT, table, versions, write

from bes.bench.speed.outside import watch
from bes.bench.store import pack, unpack
from bes.bench.units import stamp
from bes.records import versions as installed

RECORDS = ROOT / "results" / "large.jsonl.gz"
PAGE = ROOT / "docs" / "results" / "large.md"

#: What `bes shape` is given: two views, and a displacement by a sample.
SHAPE = ["n_views=2", "displacement_sample=10000"]
RUN = "run arxiv-like --seeds 0 --set encoders.epochs=100 --set decoder.epochs=100"
RANKS = {"nodes": 600_000, "features": 64, "ranks": 2, "epochs": 2, "iterations": 5, "noise": 0.2}


def shape(n: int) -> Callable[[Path], dict[str, Any]]:
    return lambda folder: shape_large.measure(n, SHAPE, folder)


def run(folder: Path) -> dict[str, Any]:
    seen = watch([sys.executable, "-m", "bes", *RUN.split(), "--out", str(folder / "run")])
    return {"seconds": seen.seconds, "processor_seconds": seen.cpu_seconds, "peak_mib": seen.peak_mib}


def ranks(folder: Path) -> dict[str, Any]:
    return rank_memory.measure(Namespace(**RANKS), folder)


JOBS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "shape-1000000": shape(1_000_000),
    "shape-10000000": shape(10_000_000),
    "arxiv-like": run,
    "ranks": ranks,
}

#: What a reader types for it.
COMMANDS = {
    **{name: f"python scripts/shape_large.py {name[6:]} --set " + " --set ".join(SHAPE) for name in list(JOBS)[:2]},
    "arxiv-like": f"bes {RUN}",
    "ranks": "python scripts/rank_memory.py "
    + " ".join(f"--{key} {RANKS[key]}" for key in ("nodes", "ranks", "epochs", "iterations")),
}


def measure(only: str | None) -> None:
    """Run what is not recorded, or `only`, each recorded as it ends."""
    known = {line["name"]: line for line in unpack(RECORDS)} if RECORDS.exists() else {}
    for name in [only] if only else [name for name in JOBS if name not in known]:
        load = round(os.getloadavg()[0], 1)
        with tempfile.TemporaryDirectory() as folder:
            found = JOBS[name](Path(folder))
        print(name, found, flush=True)
        known[name] = {"name": name, **stamp(), "load": load, "versions": installed(), **found}
        pack([known[each] for each in JOBS if each in known], RECORDS)


def documents() -> dict[Path, str]:
    """The page as the committed records, and nothing else, make it."""
    lines = {line["name"]: line for line in unpack(RECORDS)}
    single = [name for name in lines if "seconds" in lines[name] and name != "ranks"]
    rows = [
        [
            f"`{COMMANDS[name]}`",
            f"{lines[name]['seconds']:,.0f} s",
            f"{lines[name]['processor_seconds']:,.0f} s",
            f"{lines[name]['peak_mib']:,.0f} MiB",
            f"{lines[name]['load']}",
        ]
        for name in single
    ]
    first = next(iter(lines.values()))
    parts = [
        "# Large jobs",
        f"Written by `python scripts/large.py` from `results/large.jsonl.gz`: {first['date']}; {first['machine']}; "
        f"{versions(list(lines.values()))}. Time and memory are of the job's own process, seen from outside: reading "
        "and writing of files, the start of Python and the report are in them. `arxiv-like` is a generated graph, for "
        "speed and memory only. How the parts are built: [scale](../scale.md).",
        table(["command", "time", "processor time", "peak memory", "load of the machine before"], rows),
    ]
    for name in ("shape-1000000", "shape-10000000"):
        if name in lines:
            steps = ", ".join(f"{layer['steps']} iterations" for layer in lines[name]["layers"])
            parts.append(f"{lines[name]['nodes']:,} embeddings, every other one with a label: {steps}.")
    if "ranks" in lines:
        parts += ["## Ranks", ranks_text(lines["ranks"])]
    return {PAGE: "\n\n".join(parts) + "\n"}


def ranks_text(line: dict[str, Any]) -> str:
    peaks = " and ".join(f"{mib:,}" for mib in line["rank_mib"])
    own = " and ".join(f"{part['own']:,} own and {part['halo']:,} halo nodes" for part in line["rank_nodes"])
    return (
        f"`{COMMANDS['ranks']}`: a block graph of {line['nodes']:,} nodes on {line['ranks']} ranks with {own}. "
        f"Peaks of the ranks' processes {peaks} MiB, of one process {line['one_process_mib']:,} MiB: {line['ratio']} "
        f"of it. Rank 0's helpers, which read, cut and record the whole graph while ranks wait, took "
        f"{line['helper_mib']:,} MiB."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="only write the page, from the committed records")
    parser.add_argument("--only", choices=JOBS, help="measure this job, again if it is recorded")
    given = parser.parse_args()
    if not given.write:
        measure(given.only)
    write(documents())
