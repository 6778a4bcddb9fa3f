"""Peak memory a rank against that of one process, read from outside.

    python scripts/rank_memory.py [--nodes 1000000] [--ranks 2] [--epochs 5] [--iterations 20]

Runs `bes run` on a generated block graph (mean degree 14, 16 classes, 200 labels a class), once in one process and once
on ranks of torchrun, and polls VmHWM of every process in /proc (Linux) until it ends. `ratio` is that of whole lives,
from start to exit; `ratio_until_scored` leaves out what one process does after scoring, its report. Rank 0's helpers,
which read and cut the graph at the start and record and report at the end, are processes of their own and hold it
whole; their peak is printed too. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bes.graph.readers import write_npz
from bes.graph.synthetic import sbm
from bes.machine import KEEP


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"nodes": 1_000_000, "features": 64, "ranks": 2, "epochs": 5, "iterations": 20}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--noise", type=float, default=0.2)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(told, Path(folder)), indent=1))


def measure(told: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both runs, one after the other, on a graph that is made here."""
    graph = folder / "blocks.npz"
    write_npz(sbm(told.nodes, 16, told.features, degree=14.0, noise=told.noise, separation=3.0), graph)
    settings = {
        "encoders.epochs": told.epochs,
        "decoder.epochs": told.epochs,
        "n_iter": told.iterations,
        "delta": 20,
        "tol": 0.01,
    }
    run = ["-m", "bes", "run", str(graph), "--seeds", "0", "-q", "--split", "low:200"]
    run += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", str(told.ranks)]
    alone = watched([sys.executable, *run, "--out", str(folder / "one")])
    many = watched([sys.executable, *torchrun, *run, "--out", str(folder / "many")])
    record = json.loads((folder / "many" / "records.jsonl").read_text().splitlines()[-1])
    one = json.loads((folder / "one" / "records.jsonl").read_text().splitlines()[-1])
    peak = max(alone[0])
    return {
        "nodes": told.nodes,
        "ranks": told.ranks,
        "one_process_mib": round(peak),
        "rank_mib": [round(rank) for rank in many[1]],
        "ratio": round(max(many[1]) / peak, 3),
        "one_process_until_scored_mib": round(one["peak_mib"]),
        "rank_until_scored_mib": [round(rank) for rank in record["rank_peak_mib"]],
        "ratio_until_scored": round(record["peak_mib"] / one["peak_mib"], 3),
        "helper_mib": round(max(many[2], default=0.0)),
        "rank_nodes": record["rank_nodes"],
        "seconds": {"one": one["seconds"], "ranks": record["seconds"]},
    }


def watched(command: list[str]) -> list[list[float]]:
    """Runs the command; the peaks in MiB of itself, of its children and of theirs."""
    # one process would keep freed memory while it trains, and ranks never do: it must not look larger for that
    process = subprocess.Popen(command, env={**os.environ, KEEP: "0"})
    peaks: list[dict[int, float]] = [{}, {}, {}]
    while process.poll() is None:
        alive, level = _processes(), {process.pid}
        for kept in peaks:
            kept |= {pid: max(kept.get(pid, 0.0), alive[pid][1]) for pid in level & alive.keys()}
            level = {pid for pid, (parent, _) in alive.items() if parent in level}
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return [list(kept.values()) for kept in peaks]


def _processes() -> dict[int, tuple[int, float]]:
    """The parent and the peak in MiB of every process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in path.read_text().splitlines())
        except OSError:  # it has just ended
            continue
        if "VmHWM" in lines:
            found[int(path.parent.name)] = int(lines["PPid"]), int(lines["VmHWM"].split()[0]) / 1024
    return found


if __name__ == "__main__":
    main()
