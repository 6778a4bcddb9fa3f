"""What a run leaves behind: `records.jsonl`, predictions, splits, models. Nothing is ever half-written."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bes.config import RunConfig
from bes.errors import InputError
from bes.files import PART, alone_in, save_npz, whole_file
from bes.graph.graph import Graph
from bes.graph.readers import write_npz
from bes.pipeline.results import ArmResult, SeedResult
from bes.pipeline.tuning import Study
from bes.run_ids import as_written, run_id

#: The file of a run's graph.
GRAPH = "graph.npz"

#: The file of a run's records.
RECORDS = "records.jsonl"

#: The file of what tuning tried and found.
TUNED = "tuned.json"

#: The folder of trained models.
MODELS = "models"


def data_hash(graph: Graph) -> str:
    """SHA-256 of features, edges, labels, the graph's own masks and names: all that a run reads or gives back."""
    digest = hashlib.sha256(graph.content_hash.encode())
    for name, mask in sorted(graph.masks.items()):
        digest.update(f"{name}{tuple(mask.shape)}".encode())
        digest.update(mask.cpu().numpy().tobytes())
    if graph.names is not None:
        digest.update(replace(graph.names, notes=()).to_json().encode())  # notes name files, which may move
    return digest.hexdigest()


class RunDirectory:
    """The folder of one configuration; seeds can be added to it, another configuration cannot.

    Args:
        path: Where; made if absent.
        config: What is run.
        data_hash: `data_hash` of the graph.
    """

    def __init__(self, path: Path, config: RunConfig, data_hash: str) -> None:
        self.path = path
        self.config = config
        self.data_hash = data_hash
        self.identity = {
            "config": config.model_dump(mode="json"),
            "data_hash": data_hash,
            "bes": library_version(),
        }
        self._claim()
        self.records = read_lines(self.path / RECORDS)

    def _claim(self) -> None:
        """Make the folder ours, or see that it is."""
        known = self.path / "config.json"
        with writing(self.path):
            old = _with_defaults(_read_json(known)) if known.exists() else self.identity
            if old != self.identity:
                raise InputError(
                    f"{self.path} holds another run ({_difference(old, self.identity)}): "
                    "choose another --out, or delete that one."
                )
            shaping = ("embeddings", "history") if self.config.paired else ()
            for part in ("predictions", "splits", *shaping):
                (self.path / part).mkdir(parents=True, exist_ok=True)
            for left in [*self.path.glob(f"{PART}*"), *self.path.glob(f"*/{PART}*")]:  # by a kill
                left.unlink()
            with whole_file(known) as temporary:  # also when it is there: a folder that cannot be written says so now
                temporary.write_text(json.dumps(self.identity, indent=1), encoding="utf-8")

    def missing(self, seeds: list[int], arms: tuple[str, ...]) -> list[int]:
        """The seeds that still lack an arm or a file."""
        done = {(record["seed"], record["arm"]) for record in self.records}
        return [
            seed
            for seed in seeds
            if any((seed, arm) not in done for arm in arms)
            or not all(path.exists() for path in self._files(seed, arms))
        ]

    def _files(self, seed: int, arms: tuple[str, ...]) -> list[Path]:
        """What a finished seed has left."""
        names = [f"splits/{seed}.npz", *(f"predictions/{seed}-{arm}.npz" for arm in arms)]
        if self.config.paired:
            names += [f"embeddings/{seed}.npz", f"history/{seed}.json"]
            names += [f"{MODELS}/{seed}.safetensors"] if self.config.task == "node" else []
        return [self.path / name for name in names]

    def tuned(self) -> dict[str, Study]:
        """What tuning has found so far, by method."""
        path = self.path / TUNED
        try:
            return {name: Study(**kept) for name, kept in (_read_json(path) if path.exists() else {}).items()}
        except (TypeError, AttributeError):
            raise InputError(f"{path} is damaged: delete it to tune again.") from None

    def keep_tuned(self, found: dict[str, Any]) -> None:
        """Write what tuning has found so far."""
        with writing(self.path), whole_file(self.path / TUNED) as temporary:
            temporary.write_text(json.dumps(found, indent=1), encoding="utf-8")

    def keep(self, graph: Graph) -> None:
        """Write the graph beside its run, so that the folder can be opened without where it came from."""
        if not (self.path / GRAPH).exists():
            write_npz(graph, self.path / GRAPH)

    def add(self, result: SeedResult) -> None:
        """Record a finished seed: files first, then the line that says they are there."""
        with writing(self.path):
            self._add(result)

    def _add(self, result: SeedResult) -> None:
        seed = result.seed
        with whole_file(self.path / "splits" / f"{seed}.npz") as temporary:
            save_npz(temporary, result.split)
        if self.config.paired:
            with whole_file(self.path / "embeddings" / f"{seed}.npz") as temporary:
                save_npz(temporary, result.rows)
            with whole_file(self.path / "history" / f"{seed}.json") as temporary:
                temporary.write_text(json.dumps(result.history), encoding="utf-8")
        if result.model is not None:
            result.model.save(self.path / MODELS / f"{seed}.safetensors")
        done = {(record["seed"], record["arm"]) for record in self.records}
        for arm in result.arms:
            predictions = self.path / "predictions" / f"{seed}-{arm.arm}.npz"
            if (seed, arm.arm) in done and predictions.exists():
                continue
            with whole_file(predictions) as temporary:
                save_npz(temporary, arm.predictions)
            if (seed, arm.arm) in done:
                continue
            record = record_of(self.config, str(result.split["name"]), seed, arm, self.data_hash)
            append_lines(self.path / RECORDS, [record])
            self.records.append(record)


def record_of(config: RunConfig, split: str, seed: int, arm: ArmResult, data_hash: str) -> dict[str, Any]:
    """The record of one arm of one seed."""
    return {
        "dataset": config.dataset,
        "task": config.task,
        "split": split,
        "seed": seed,
        "arm": arm.arm,
        "selection": config.selection,
        "metrics": arm.metrics,
        "seconds": arm.seconds,
        "peak_mib": arm.peak_mib,
        "boundary": arm.boundary,
        "selected_epoch": arm.selected,
        "notes": arm.notes,
        "steps": arm.steps,
        **arm.more,
        "config": config.model_dump(mode="json"),
        "data_hash": data_hash,
        "run_id": run_id(config, data_hash, library_version(), seed, arm.arm),
        "versions": versions(),
    }


def append_lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Add records to the end of a file, a line each, and see them on the disk."""
    with path.open("ab") as file:
        file.write("".join(json.dumps(record) + "\n" for record in records).encode())
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path, *, mend: bool = True) -> list[dict[str, Any]]:
    """The whole lines of a file; what comes after them was cut short by a kill, or is being written.

    Args:
        mend: Cut it off: only where nobody else writes into the file.
    """
    if not path.exists():
        return []
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if mend and end < len(content):
        os.truncate(path, end)
    try:
        return [json.loads(line) for line in content[:end].splitlines()]
    except ValueError:
        raise InputError(f"{path} is damaged: choose another --out, or delete that one.") from None


def _with_defaults(identity: Any) -> Any:
    """An identity with the options that have come since it was written."""
    try:
        return {**identity, "config": as_written(identity["config"]).model_dump(mode="json")}
    except (InputError, TypeError, KeyError):
        return identity  # it says itself in what it differs


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{path} is damaged: choose another --out.") from None


@contextmanager
def alone_in_run(path: Path) -> Iterator[None]:
    """A run's folder, made if absent, into which no other `bes run` writes meanwhile."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    with alone_in(path, "bes run"):
        yield


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A folder that refuses to be written, or a full disk, as one sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"The output folder {path} cannot be written ({error.strerror}): choose another --out."
        ) from None


def library_version() -> str:
    return version("bes-graph")


def versions() -> dict[str, str | None]:
    """The versions a record depends on, and the commit when the library runs from a checkout."""
    found: dict[str, str | None] = {"bes": library_version(), "python": platform.python_version()}
    found |= {name: version(name) for name in ("torch", "numpy", "scipy", "scikit-learn")}
    return {**found, "commit": _commit()}


@cache
def _commit() -> str | None:
    """The commit of the code that this process has loaded, and whether that code was changed since."""
    try:
        if _git("ls-files", "--error-unmatch", __file__).returncode:  # installed into somebody else's checkout
            return None
        named = _git("describe", "--always", "--abbrev=12")
        # of the library alone: records and pages change while it runs
        changed = _git("diff", "--quiet", "HEAD", "--", ".")
    except OSError:
        return None
    if named.returncode:
        return None
    return named.stdout.strip() + ("-dirty" if changed.returncode else "")


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).resolve().parent
    return subprocess.run(["git", "-C", str(here), *words], capture_output=True, text=True, check=False)


def _difference(old: Any, new: Any, where: str = "") -> str:
    """The first key in which two configurations differ."""
    if where == "data_hash":
        return "the data are not the same"
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                return _difference(old.get(key), new.get(key), f"{where}.{key}" if where else key)
    return f"{where} is {old!r} there and {new!r} here"
