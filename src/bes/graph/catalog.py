"""Data sets by name: found, read, checked, listed and added.

A name is looked for in the folder `BES_DATA`, then in the user's cache directory, then in the
package, then on the network. In a folder it is `NAME.npz`, or a folder `NAME` with the published files.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from bes.errors import InputError
from bes.graph.datasets import CATALOG, DatasetInfo, lookup
from bes.graph.download import download
from bes.graph.graph import Graph
from bes.graph.like import LIKE, generate
from bes.graph.readers import read_geom_gcn, read_npz, read_ogb, read_planetoid, read_wikics, write_npz
from bes.graph.synthetic import digits, sbm
from bes.graph.variants import MARK, base_name, vary


@dataclass(frozen=True)
class Verified:
    """What `verify` found: the row, the place, and the file's SHA-256 if `SHA256SUMS` beside it lists it."""

    info: DatasetInfo
    where: str
    sha256: str | None


def load(name_or_path: str | Path, *, seed: int = 0) -> Graph:
    """The graph of a catalogued name, or of a path ending in `.npz`; either with variants (`cora#edges:1`).

    Args:
        seed: For the generated `sbm`, `arxiv-like` and `collab-like`; the others are what they are.
    """
    name = str(name_or_path)
    if MARK in name and not Path(name).exists():
        return vary(load(base_name(name), seed=seed), name)
    if str(name_or_path).endswith(".npz"):
        return read_npz(Path(name_or_path).expanduser())
    info = lookup(str(name_or_path))
    path = find(info)
    if path is not None:
        graph = _read(info, path)
    elif info.kind == "generated":
        graph = _generate(info.name, seed)
    else:
        graph = _fetch(info)
    info.check(graph, str(path or "memory"))
    if info.kind == "geom-gcn":  # here the file's own masks are Geom-GCN's: `geom:K` and `mask:K` are the same
        graph.masks.update({f"geom_{key}": mask for key, mask in graph.masks.items()})
    return graph


def data_root() -> Path:
    """Where data sets are added: the folder `BES_DATA`, else the user's cache directory."""
    return _roots()[0]


def find(info: DatasetInfo) -> Path | None:
    """The file or folder that `load` would read; None where it has to be generated or downloaded."""
    for root in [*_roots(), Path(str(resources.files("bes"))) / "data"]:
        for stem in dict.fromkeys([info.name, info.name.replace("-", "_")]):
            if (root / f"{stem}.npz").is_file():
                return root / f"{stem}.npz"
            if (root / stem).is_dir():
                return root / stem
    return None


def available() -> list[tuple[DatasetInfo, str]]:
    """Every row of the catalogue with the place it is in: a path, `generated`, or empty where it is missing."""
    rows = []
    for info in CATALOG.values():
        path = find(info)
        rows.append((info, str(path) if path else "generated" if info.kind == "generated" else ""))
    return rows


def verify(name: str) -> Verified:
    """Read the data set `name`, check its counts, and its digest where `SHA256SUMS` lies beside it."""
    info = lookup(name)
    path = find(info)
    if path is None and info.kind != "generated":
        raise _missing(info, "has not been added")
    load(info.name)
    if path is None:
        return Verified(info, "generated", None)
    listed = _listed_digest(path)
    if listed is None:
        return Verified(info, str(path), None)
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != listed:
        raise InputError(f"The file {path} has SHA-256 {actual}, but SHA256SUMS lists {listed}: get it again.")
    return Verified(info, str(path), actual)


def add(name: str, source: str | Path) -> Path:
    """Read the published files of `name` in the folder `source` and write `NAME.npz` into the data root."""
    info = lookup(name)
    source, target = Path(source), data_root() / f"{info.name}.npz"
    if info.kind == "generated":
        raise InputError(f"The data set '{info.name}' is generated: there is nothing to add.")
    if target.exists():
        raise InputError(f"The file {target} exists already: remove it first to replace it.")
    if not source.is_dir():
        raise InputError(f"The folder {source} does not exist: give the one with {', '.join(info.files())}.")
    graph = _read(info, source)
    info.check(graph, str(source))
    write_npz(graph, target)
    return target


def _generate(name: str, seed: int) -> Graph:
    if name in LIKE:
        return generate(name, seed=seed)
    return sbm(seed=seed) if name == "sbm" else digits()


def _roots() -> list[Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bes"
    chosen = os.environ.get("BES_DATA")
    if not chosen:
        return [cache]
    root = Path(chosen).expanduser()
    if not root.is_dir():
        raise InputError(f"BES_DATA names {root}, which is not a folder: create it or unset BES_DATA.")
    return [root, cache]


def _read(info: DatasetInfo, path: Path) -> Graph:
    """The graph in an `.npz`, or in a folder that holds one or the published files."""
    inner = path / f"{info.name}.npz"
    if path.is_file() or inner.is_file():
        return read_npz(path if path.is_file() else inner, info.name)
    if info.kind == "planetoid":
        return read_planetoid(path, info.name)
    if info.kind == "wikics":
        return read_wikics(path / "data.json", info.name)
    if info.kind == "geom-gcn":
        return read_geom_gcn(path, info.name)
    if info.kind == "ogb":
        return read_ogb(path, info.name)
    raise InputError(f"The folder {path} has no {info.name}.npz: put it there.")


def _fetch(info: DatasetInfo) -> Graph:
    """Download, and keep in the user's cache directory for the next time."""
    try:
        graph = download(info)
    except Exception as error:  # PyG and the network fail in many ways, and each means the same to the user
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise _missing(info, f"cannot be downloaded ({reason})") from None
    info.check(graph, "the network")
    write_npz(graph, _roots()[-1] / f"{info.name}.npz")
    return graph


def _missing(info: DatasetInfo, reason: str) -> InputError:
    files = info.files()
    folder = "" if info.kind in ("npz", "heterophilous") else f", or a folder {info.name} with {', '.join(files)},"
    return InputError(
        f"The data set '{info.name}' is not here and {reason}: "
        f"put {info.name}.npz{folder} from the {info.source} into {data_root()}."
    )


def _listed_digest(path: Path) -> str | None:
    """The digest that `SHA256SUMS` beside `path` gives it."""
    sums = path.parent / "SHA256SUMS"
    if not path.is_file() or not sums.is_file():
        return None
    entries = (line.split(maxsplit=1) for line in sums.read_text().splitlines() if line.strip())
    return {entry[-1].lstrip("*"): entry[0].lower() for entry in entries}.get(path.name)
