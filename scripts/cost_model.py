"""Write into docs/scale.md what the cost model predicts beside what was measured, and what it says of 10^9 nodes.

python scripts/cost_model.py --measure   first a run on two ranks and cuts of generated graphs (a few minutes)
python scripts/cost_model.py             only write, from the committed records of `make speed` and of that run
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cost_text import page
from recorded import ROOT, between, write

from bes.bench.store import pack, unpack
from bes.bench.units import stamp
from bes.graph.catalog import load
from bes.graph.graph import Graph
from bes.graph.readers import write_npz
from bes.graph.synthetic import sbm
from bes.records import versions
from bes.scale.partition import halo_share, partition

SPEED = ROOT / "results" / "speed.jsonl.gz"
RECORDS = ROOT / "results" / "ranks.jsonl.gz"
PAGE = ROOT / "docs" / "scale.md"

#: The run whose messages are counted.
RUN = {"nodes": 20_000, "features": 64, "classes": 10, "degree": 14.0, "labels": 200, "ranks": 2}
SETTINGS = {
    "encoders.names": "cheb,gcn",
    "encoders.channels": 32,
    "encoders.epochs": 5,
    "decoder.kind": "cheb",
    "decoder.hidden": 64,
    "decoder.epochs": 5,
    "n_layers": 2,
    "n_iter": 10,
    "delta": 20,
    "tol": 0.0,
    "batch_size": 64,
}

#: Into how many parts graphs are cut.
PARTS = (2, 8, 64)


def run_on_ranks() -> dict[str, Any]:
    """A small run on ranks of torchrun: its record, with what it was made of."""
    with tempfile.TemporaryDirectory() as place:
        graph = blocks()
        write_npz(graph, Path(place) / "blocks.npz")  # by its name alone, which is recorded
        words = ["run", "blocks.npz", "--seeds", "0", "-q", "--split", f"low:{RUN['labels']}", "--out", "run"]
        words += [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
        launcher = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            str(RUN["ranks"]),
        ]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([*launcher, "-m", "bes", *words], check=True, env=env, cwd=place)
        record = json.loads((Path(place) / "run" / "records.jsonl").read_text().splitlines()[-1])
    made = {**RUN, "edges": graph.edge_index.shape[1] // 2}
    return {**record, "kind": "ranks", "graph": f"sbm-{RUN['nodes']}", "made": made, "set": SETTINGS, **seen()}


def blocks() -> Graph:
    return sbm(int(RUN["nodes"]), int(RUN["classes"]), int(RUN["features"]), degree=RUN["degree"])


def cuts() -> Iterator[dict[str, Any]]:
    """Halo rows for each own row where METIS cuts generated graphs."""
    import torch

    for name, graph in ((f"sbm-{RUN['nodes']}", blocks()), ("arxiv-like", load("arxiv-like"))):
        for count in PARTS:
            part = partition(graph, count, "metis", torch.Generator().manual_seed(0))
            degree = graph.edge_index.shape[1] / graph.n_nodes
            facts = {"nodes": graph.n_nodes, "degree": degree, "halo_share": halo_share(graph, part)}
            yield {"kind": "cut", "graph": name, "parts": count, **facts, **seen()}


def seen() -> dict[str, Any]:
    """When, where and with what."""
    return {**stamp(), "load": round(os.getloadavg()[0], 1), "versions": versions()}


def documents() -> dict[Path, str]:
    """The page as the committed records, and nothing else, make it."""
    speed = sorted(unpack(SPEED), key=lambda line: line["place"])
    return {PAGE: between(PAGE, "cost", page(speed, unpack(RECORDS)))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="run on ranks and cut graphs first")
    if parser.parse_args().measure:
        pack([run_on_ranks(), *cuts()], RECORDS)
    write(documents())
