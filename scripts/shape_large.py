"""Time and peak memory of `bes shape` on generated embeddings, seen from outside its process.

    python scripts/shape_large.py 1000000 --set displacement_sample=10000

prints a JSON object. The embeddings are those of `bes bench speed`: every other node has a label, and classes overlap,
so that there is a boundary and steps are taken.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bes.bench.speed.embeddings import make_embeddings
from bes.bench.speed.outside import watch


def measure(n: int, settings: list[str], folder: Path) -> dict[str, Any]:
    """`bes shape` on `n` nodes: wall and processor seconds, peak memory, and what it did."""
    z, y = folder / "z.npy", folder / "y.npy"
    make_embeddings(z, y, n)
    words = [sys.executable, "-m", "bes", "shape", str(z), "--labels", str(y), "-o", str(folder / "out.npy"), "--json"]
    for setting in settings:
        words += ["--set", setting]
    seen = watch(words)
    took = {"seconds": seen.seconds, "processor_seconds": seen.cpu_seconds, "peak_mib": seen.peak_mib}
    return {"nodes": n, "settings": settings, **took, "layers": json.loads(seen.output)["layers"]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nodes", type=int)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(measure(given.nodes, given.settings, Path(place)), indent=1))
