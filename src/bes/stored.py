"""A finished run read back from its folder alone: for reports, the explorer and predictions."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.arrays import Array, load_arrays
from bes.graph.graph import Graph
from bes.graph.readers import read_npz
from bes.records import GRAPH
from bes.settings import validate


class StoredRun:
    """What `bes run` left in a folder; nothing is written to it.

    Args:
        path: The folder, as given to `--out`.

    Attributes:
        config: What was run.
        records: The lines of `records.jsonl`, by seed.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not (self.path / "records.jsonl").is_file():
            raise InputError(f"The folder {self.path} holds no run: give one that `bes run` left in its --out.")
        found = self._json("config.json")
        self.config = validate(RunConfig, found["config"] if isinstance(found, dict) and "config" in found else {})
        lines = self._text("records.jsonl").splitlines()
        try:
            records: list[dict[str, Any]] = [json.loads(line) for line in lines]
        except ValueError:
            raise self._damaged("records.jsonl") from None
        if not records:
            raise InputError(f"The run in {self.path} has no finished seed yet: let `bes run` end first.")
        self.records = sorted(records, key=lambda record: record["seed"])

    @cached_property
    def graph(self) -> Graph:
        """The graph that was run, by the name it had."""
        if not (self.path / GRAPH).is_file():
            raise InputError(f"The run in {self.path} was left without its graph ({GRAPH}): run it again.")
        return read_npz(self.path / GRAPH, self.name)

    @property
    def name(self) -> str:
        """What the graph is called."""
        dataset = self.config.dataset
        return Path(dataset).stem if "." in dataset or "/" in dataset else dataset

    @property
    def seeds(self) -> list[int]:
        return list(dict.fromkeys(record["seed"] for record in self.records))

    def rows(self, seed: int) -> dict[str, Array]:
        """What was shaped, before and after: see `SeedResult.rows`."""
        return load_arrays(self.path / "embeddings" / f"{seed}.npz")

    def split(self, seed: int) -> dict[str, Array]:
        return load_arrays(self.path / "splits" / f"{seed}.npz")

    def predictions(self, seed: int, arm: str) -> dict[str, Array]:
        return load_arrays(self.path / "predictions" / f"{seed}-{arm}.npz")

    def history(self, seed: int) -> list[dict[str, Any]]:
        """The shaper's rows, one an iteration."""
        history: list[dict[str, Any]] = self._json(f"history/{seed}.json")
        return history

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise self._damaged(name) from None

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._text(name))
        except ValueError:
            raise self._damaged(name) from None

    def _damaged(self, name: str) -> InputError:
        return InputError(f"The file {self.path / name} is missing or damaged: run it again.")
