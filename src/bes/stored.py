"""A finished run read back from its folder alone: for reports, the explorer and predictions."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from bes.checkpoint import NodeModel
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.arrays import Array, load_arrays
from bes.graph.graph import Graph
from bes.graph.readers import read_npz
from bes.graph.variants import MARK
from bes.records import GRAPH, MODELS
from bes.run_ids import as_written

#: What every record has, and StoredRun relies on.
_KEYS = {"seed": int, "arm": str, "task": str, "metrics": dict}


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
            raise InputError(_no_run(self.path))
        found = self._json("config.json")
        if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
            raise self._damaged("config.json")
        self.config = self._config(found["config"])
        records = self._records()
        if not records:
            raise InputError(f"The run in {self.path} has no finished seed yet: let `bes run` end first.")
        self.records = sorted(records, key=lambda record: record["seed"])

    @cached_property
    def graph(self) -> Graph:
        """The graph that was run, by the name it had."""
        if not (self.path / GRAPH).is_file():
            raise InputError(f"The run in {self.path} was left without its graph ({GRAPH}): call `bes run` again.")
        try:
            return read_npz(self.path / GRAPH, self.name)
        except InputError:
            raise self._damaged(GRAPH) from None

    @property
    def name(self) -> str:
        """What the graph is called."""
        base, mark, variants = self.config.dataset.partition(MARK)
        return (Path(base).stem if "." in base or "/" in base else base) + mark + variants

    @property
    def seeds(self) -> list[int]:
        return list(dict.fromkeys(record["seed"] for record in self.records))

    def seeds_of(self, arm: str) -> list[int]:
        """The seeds in which `arm` was run to its end."""
        seeds = list(dict.fromkeys(record["seed"] for record in self.records if record["arm"] == arm))
        if not seeds:
            known = " or ".join(dict.fromkeys(record["arm"] for record in self.records))
            raise InputError(f"The run in {self.path} has no arm '{arm}': use {known}.")
        return seeds

    def rows(self, seed: int) -> dict[str, Array]:
        """What was shaped, before and after: see `SeedResult.rows`."""
        return self._arrays(f"embeddings/{seed}.npz")

    def split(self, seed: int) -> dict[str, Array]:
        return self._arrays(f"splits/{seed}.npz")

    def predictions(self, seed: int, arm: str) -> dict[str, Array]:
        return self._arrays(f"predictions/{seed}-{arm}.npz")

    def history(self, seed: int) -> list[dict[str, Any]]:
        """The shaper's rows, one an iteration."""
        history: list[dict[str, Any]] = self._json(f"history/{seed}.json")
        return history

    def model(self, seed: int, device: str | torch.device = "auto") -> NodeModel:
        """What was trained in a seed; tasks on pairs keep no models."""
        path = self.path / MODELS / f"{seed}.safetensors"
        if not path.is_file():
            raise InputError(
                f"The run in {self.path} was left without the model of seed {seed} ({MODELS}/{path.name}): "
                "run it again, into another folder."
            )
        return NodeModel.load(path, device)

    def _config(self, found: dict[str, Any]) -> RunConfig:
        try:
            return as_written(found)
        except InputError as error:
            reason = str(error).rstrip(".?")
            raise InputError(
                f"The file {self.path / 'config.json'} is damaged, or of another version of bes-graph ({reason}): "
                "run it again."
            ) from None

    def _records(self) -> list[dict[str, Any]]:
        """The whole lines: what is after the last line's end was cut short by a kill, or is being written."""
        lines = self._text("records.jsonl").split("\n")[:-1]
        try:
            records = [json.loads(line) for line in lines]
        except ValueError:
            raise self._damaged("records.jsonl") from None
        for record in records:
            if not isinstance(record, dict) or any(not isinstance(record.get(k), t) for k, t in _KEYS.items()):
                raise self._damaged("records.jsonl")
        return records

    def _arrays(self, name: str) -> dict[str, Array]:
        try:
            return load_arrays(self.path / name)
        except InputError:
            raise self._damaged(name) from None

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
        return InputError(f"The file {self.path / name} is missing or damaged: remove it, and call `bes run` again.")


def _no_run(path: Path) -> str:
    """Why there is no run at `path`, and where to look."""
    if not path.exists():
        return f"The folder {path} does not exist: give one that `bes run` left in its --out."
    if not path.is_dir():
        return f"{path} is a file: give the folder that `bes run` left in its --out."
    if (path / "config.json").is_file():
        return f"The run in {path} has no finished seed yet: call `bes run` again to go on."
    inside = sorted(found.parent.name for found in path.glob("*/records.jsonl"))[:3]
    hint = f"give one of the runs in it, such as {path / inside[0]}." if inside else "give one that `bes run` left."
    return f"The folder {path} holds no run: {hint}"
