"""Units of work: what a worker runs in one piece, and what it gives back."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import torch

from bes.bench.convergence import Curves, converged
from bes.bench.model import PAIRED, Ask, Picture, Suite
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.pipeline import check, run_rival, run_seed
from bes.pipeline.methods import study_of
from bes.pipeline.results import ArmResult, SeedResult
from bes.pipeline.trained import Trained, encoder_key
from bes.pipeline.tuning import Study
from bes.records import library_version, record_of, versions
from bes.run_ids import run_id


@dataclass(frozen=True)
class Unit:
    """One seed of one configuration: control and bes together, or a rival by itself.

    Attributes:
        picture: The name under which the run's folder is kept for figures; empty where it is not.
        study: What tuning found for its group, where a record has it; no other tuning is then done.
    """

    config: RunConfig
    seed: int
    arms: tuple[str, ...] = PAIRED
    picture: str = ""
    study: Study | None = field(default=None, repr=False, compare=False)

    def run_ids(self, data_hash: str, version: str) -> dict[str, str]:
        """The id of each arm's record."""
        return {arm: run_id(self.config, data_hash, version, self.seed, arm) for arm in self.arms}

    @cached_property
    def group(self) -> str:
        """Units of one group share their encoders: one worker runs them one after another."""
        if self.config.tune:  # one study serves every seed
            return f"{self.config.canonical()}{self.arms}"
        alone = "" if self.arms == PAIRED else self.arms[0]
        return f"{encoder_key(self.config)}{self.seed}{alone}{self.picture}"

    @property
    def title(self) -> str:
        config = self.config
        task = "" if config.task == "node" else f" {config.task}s"
        marks = [mark for mark in (config.selection, config.links.message) if mark not in ("validation", "train")]
        return ", ".join([f"{config.dataset}{task}", "+".join(self.arms), *marks, f"seed {self.seed}"])


@dataclass
class Outcome:
    """What became of a unit: its records, and of a picture also its result; or why it failed."""

    unit: Unit
    records: list[dict[str, Any]]
    seconds: float
    error: str = ""
    result: SeedResult | None = None
    curves: dict[str, Any] | None = None


def units_of(suites: Iterable[Suite]) -> list[Unit]:
    """Every unit that the suites ask for, once, units of one group side by side."""
    found = dict.fromkeys(unit for suite in suites for unit in _units(suite))
    pictured = {(unit.config, unit.seed) for unit in found if unit.picture}
    kept = [unit for unit in found if unit.picture or unit.arms != PAIRED or (unit.config, unit.seed) not in pictured]
    first: dict[str, int] = {}
    for place, unit in enumerate(kept):
        first.setdefault(unit.group, place)
    return sorted(kept, key=lambda unit: first[unit.group])


def _units(suite: Suite) -> Iterable[Unit]:
    for ask in suite.asks():
        yield from unit_of(ask)
    for picture in suite.pictures:
        yield of_picture(picture)


def unit_of(ask: Ask) -> list[Unit]:
    return [Unit(ask.config, seed, ask.arms) for seed in ask.seeds]


def of_picture(picture: Picture) -> Unit:
    return Unit(picture.config, picture.seed, PAIRED, picture.name)


class Worker:
    """Runs units one after another, with the encoders of the last one at hand."""

    def __init__(self) -> None:
        self._dataset = ""
        self._trained: Trained[Any] = Trained()
        self._study: tuple[str, Study | InputError | None] = ("", None)

    def run(self, unit: Unit, graph: Graph, data_hash: str) -> Outcome:
        """Run a unit to its end; what it raises becomes its error."""
        start = time.perf_counter()
        try:
            outcome = self._run(unit, graph, data_hash)
        except InputError as error:
            outcome = Outcome(unit, [], 0.0, str(error))
        except Exception as error:  # one run that fails must not stop the others
            outcome = Outcome(unit, [], 0.0, f"{type(error).__name__}: {error}")
        outcome.seconds = time.perf_counter() - start
        return outcome

    def _run(self, unit: Unit, graph: Graph, data_hash: str) -> Outcome:
        if unit.config.dataset != self._dataset:
            self._dataset, self._trained = unit.config.dataset, Trained()
        check(unit.config, graph, [unit.seed])
        if unit.arms != PAIRED:
            arm = run_rival(unit.config, graph, unit.seed, unit.arms[0], self._tuned(unit, graph))
            return Outcome(unit, [_record(unit, unit.config.split, arm, data_hash)], 0.0)
        curves = Curves()
        watchers = [curves.watch] if unit.picture else []
        trained = None if unit.picture else self._trained
        result = run_seed(unit.config, graph, unit.seed, watchers, trained)
        split = str(result.split["name"])
        records = [_record(unit, split, arm, data_hash) for arm in result.arms]
        if unit.config.shaping == "layers":
            records[1]["convergence"] = converged(result.history, result.arms[1].seconds["shaping"])
        if not unit.picture:
            return Outcome(unit, records, 0.0)
        return Outcome(unit, records, 0.0, result=result, curves=curves.as_dict())

    def _tuned(self, unit: Unit, graph: Graph) -> Study | None:
        """What tuning found for the group of this unit: the first one asks, unless a record knows; the others read."""
        if not unit.config.tune or unit.study is not None:
            return unit.study
        if self._study[0] != unit.group:
            try:
                self._study = (unit.group, study_of(unit.config, graph, unit.arms[0]))
            except InputError as error:  # it would fail for every seed alike
                self._study = (unit.group, error)
        found = self._study[1]
        if isinstance(found, InputError):
            raise found
        return found


def _record(unit: Unit, split: str, arm: ArmResult, data_hash: str) -> dict[str, Any]:
    record = record_of(unit.config, split, unit.seed, arm, data_hash)
    return {"status": "done", **stamp(), **record}


def stamp() -> dict[str, str]:
    """When and on what a run was made."""
    gpu = "a" if torch.cuda.is_available() else "no"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {gpu} GPU"
    return {"date": datetime.now(UTC).date().isoformat(), "machine": machine}


def failed(unit: Unit, arm: str, error: str, data_hash: str) -> dict[str, Any]:
    """The record of an arm that was not run to its end."""
    return {
        "status": "failed",
        "error": error,
        **stamp(),
        "dataset": unit.config.dataset,
        "task": unit.config.task,
        "split": unit.config.split,
        "seed": unit.seed,
        "arm": arm,
        "selection": unit.config.selection,
        "config": unit.config.model_dump(mode="json"),
        "data_hash": data_hash,
        "run_id": unit.run_ids(data_hash, library_version())[arm],
        "versions": versions(),
    }
