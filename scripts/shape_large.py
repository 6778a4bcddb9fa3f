"""Time and peak memory of `bes shape` on generated embeddings, seen from outside its process.

    python scripts/shape_large.py 1000000 --set displacement_sample=10000

prints a JSON object. Half of the nodes have a label; classes overlap, so that there is a boundary and steps are taken.
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

import numpy as np

WIDTH, CLASSES, LATENT, BLOCK = 64, 10, 8, 1 << 18


def make_embeddings(folder: Path, n: int, seed: int = 0) -> tuple[Path, Path]:
    """`z.npy` `[n, 64]` and `y.npy` `[n]`, made in blocks: overlapping classes in few dimensions, and noise."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((CLASSES, LATENT), dtype=np.float32) * 1.2
    spread = np.linalg.qr(rng.standard_normal((WIDTH, LATENT)))[0].T.astype(np.float32)
    z, y = folder / "z.npy", folder / "y.npy"
    header = {"descr": "<f4", "fortran_order": False, "shape": (n, WIDTH)}
    classes = rng.integers(0, CLASSES, n)
    with z.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n, BLOCK):
            part = classes[start : start + BLOCK]
            latent = centres[part] + rng.standard_normal((len(part), LATENT), dtype=np.float32)
            noise = rng.standard_normal((len(part), WIDTH), dtype=np.float32) * np.float32(0.1)
            (latent @ spread + noise).tofile(file)
    np.save(y, np.where(np.arange(n) % 2 == 0, classes, -1))
    return z, y


def measure(n: int, settings: list[str], folder: Path) -> dict[str, Any]:
    """`bes shape` on `n` nodes: wall and processor seconds, peak memory, and what it did."""
    z, y = make_embeddings(folder, n)
    words = [sys.executable, "-m", "bes", "shape", str(z), "--labels", str(y), "-o", str(folder / "out.npy"), "--json"]
    for setting in settings:
        words += ["--set", setting]
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bes shape ended with {process.returncode}.")
    layers = json.loads(told)["layers"]
    seconds = {"seconds": time.perf_counter() - start, "processor_seconds": used.ru_utime + used.ru_stime}
    return {"nodes": n, "settings": settings, **seconds, "peak_mib": used.ru_maxrss / 1024, "layers": layers}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nodes", type=int)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(measure(given.nodes, given.settings, Path(place)), indent=1))
