"""A grid of runs: what is not recorded yet is given to workers, and recorded as it ends."""

from __future__ import annotations

import json
import shutil
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from bes.bench.data import load_checked, look_up
from bes.bench.model import Suite
from bes.bench.order import Expected, cheapest_first
from bes.bench.processes import Crew, MakeCrew, Processes
from bes.bench.store import Store, has_failed
from bes.bench.units import Outcome, Unit, failed, units_of
from bes.errors import InputError
from bes.files import whole_file
from bes.records import GRAPH, RunDirectory

#: How often a board is drawn anew, in seconds.
TICK = 0.25


class Board(Protocol):
    """Is told what happens, and shows it or not."""

    def begin(self, todo: Sequence[Unit], done: int, jobs: int) -> None: ...
    def start(self, unit: Unit) -> None: ...
    def end(self, outcome: Outcome) -> None: ...
    def tick(self) -> None: ...


class Runner:
    """Runs suites into a store.

    Args:
        suites: What is asked for.
        store: Where it is recorded; the folder also keeps the runs of pictures.
        retry: Whether runs that failed are tried again.

    Attributes:
        units: Everything that is asked for.
        todo: What of it is to be run, by the records as they were read last.
        absent: What of it cannot be run, for want of data.
    """

    def __init__(self, suites: Iterable[Suite], store: Store, *, retry: bool = False) -> None:
        self.units = units_of(suites)
        self.store = store
        self.retry = retry
        self.data = {name: look_up(name) for name in dict.fromkeys(unit.config.dataset for unit in self.units)}
        self.todo = self._missing()
        self.absent = [unit for unit in self.units if self.data[unit.config.dataset].hash is None]

    def _missing(self) -> list[Unit]:
        return [unit for unit in self.units if self._wanted(unit)]

    def _wanted(self, unit: Unit) -> bool:
        known = self.data[unit.config.dataset].hash
        if known is None:
            return False
        found = self.store.of(unit, known)
        if any(has_failed(record) for record in found.values()):
            return self.retry
        return len(found) < len(unit.arms) or bool(unit.picture and not self._kept(unit, known))

    def _with_study(self, unit: Unit) -> Unit:
        """The same unit, with what tuning found for its group if a record has it: nobody need tune again."""
        if not unit.config.tune:
            return unit
        group = (other for other in self.units if other.group == unit.group)
        return replace(unit, study=self.store.study(group, self._hash(unit)))

    def run(
        self,
        board: Board,
        *,
        jobs: int = 1,
        minutes: float | None = None,
        make_crew: MakeCrew = Processes,
        anew: bool = False,
    ) -> None:
        """Run what is missing; no unit starts after so many minutes, and those at work then come to their end.

        Args:
            anew: Set earlier records aside first.
        """
        if jobs < 1:
            raise InputError(f"--jobs {jobs} leaves nobody to work: use 1 or more.")
        if minutes is not None and not minutes > 0:
            raise InputError(f"--limit-minutes {minutes:g} leaves no time: use a number above 0.")
        end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
        with self.store.alone(anew=anew):
            self.todo = cheapest_first(self._missing(), Expected(self.store.records()))
            jobs = min(jobs, max(1, len(self.todo)))
            board.begin(self.todo, len(self.units) - len(self.todo) - len(self.absent), jobs)
            if not self.todo:
                return
            crew = make_crew(jobs)
            try:
                self._drive(crew, board, end)
            finally:
                crew.close()

    def _drive(self, crew: Crew, board: Board, end: float) -> None:
        queue, idle, last = deque(self.todo), set(range(crew.size)), dict.fromkeys(range(crew.size), "")
        while queue or len(idle) < crew.size:
            late = time.monotonic() >= end
            if late and len(idle) == crew.size:
                return
            while queue and idle and not late:
                worker, unit = _match(queue, idle, last)
                idle.remove(worker)
                last[worker] = unit.group
                board.start(unit)
                crew.start(worker, self._with_study(unit), self._hash(unit))
            for worker, outcome in crew.wait(TICK):
                idle.add(worker)
                self._record(outcome)
                board.end(outcome)
            board.tick()

    def _hash(self, unit: Unit) -> str:
        known = self.data[unit.config.dataset].hash
        assert known is not None
        return known

    def _record(self, outcome: Outcome) -> None:
        """Files first, then the lines that say they are there."""
        unit, known = outcome.unit, self._hash(outcome.unit)
        if outcome.error:
            self.store.add(failed(unit, arm, outcome.error, known) for arm in unit.arms)
            return
        if outcome.result is not None:
            self._keep(outcome)
        self.store.add({"took": outcome.seconds, **record} for record in outcome.records)

    @property
    def absent_data(self) -> list[str]:
        """A sentence for each data set that is not here."""
        return [data.absent for data in self.data.values() if data.absent]

    def failed(self) -> list[str]:
        """A line for each unit whose latest run failed."""
        lines = []
        for unit in self.units:
            known = self.data[unit.config.dataset].hash
            for record in self.store.of(unit, known).values() if known else ():
                if has_failed(record):
                    lines.append(f"{unit.title}: {record['error']}")
                    break
        return lines

    def folder(self, unit: Unit) -> Path:
        """Where the run of a picture is kept."""
        return picture_folder(self.store, unit, self._hash(unit))

    def _kept(self, unit: Unit, known: str) -> bool:
        place = picture_folder(self.store, unit, known)
        if not all((place / name).exists() for name in ("curves.json", GRAPH)):
            return False
        return not RunDirectory(place, unit.config, known).missing([unit.seed], unit.arms)

    def _keep(self, outcome: Outcome) -> None:
        unit, place = outcome.unit, self.folder(outcome.unit)
        assert outcome.result is not None
        shutil.rmtree(place, ignore_errors=True)  # of a kill in the midst of this
        directory = RunDirectory(place, unit.config, self._hash(unit))
        directory.keep(load_checked(unit.config.dataset, self._hash(unit)))
        directory.add(outcome.result)
        with whole_file(place / "curves.json") as temporary:
            temporary.write_text(json.dumps(outcome.curves), encoding="utf-8")


def picture_folder(store: Store, unit: Unit, data_hash: str) -> Path:
    name = "".join(letter if letter.isalnum() else "-" for letter in unit.picture)
    return store.path / "runs" / f"{name}-{unit.run_ids(data_hash, store.version)['bes'][:8]}"


def _match(queue: deque[Unit], idle: set[int], last: dict[int, str]) -> tuple[int, Unit]:
    """A worker and a unit for it: one that shares encoders with its last, else one whose group nobody is at."""
    taken = {last[worker] for worker in last if worker not in idle}
    for worker in sorted(idle):
        for unit in queue:
            if unit.group == last[worker]:
                queue.remove(unit)
                return worker, unit
    worker = min(idle)
    unit = next((unit for unit in queue if unit.group not in taken), queue[0])
    queue.remove(unit)
    return worker, unit
