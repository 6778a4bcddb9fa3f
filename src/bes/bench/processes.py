"""Workers in processes of their own: one that dies takes the unit it was at with it, and no other."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Protocol

from bes.bench.units import Outcome, Unit
from bes.machine import cores


class Crew(Protocol):
    """Workers by number, each at one unit at a time."""

    size: int

    def start(self, worker: int, unit: Unit, data_hash: str) -> None:
        """Give a unit to a worker that has none."""

    def wait(self, seconds: float) -> list[tuple[int, Outcome]]:
        """The units that ended, by worker; empty when none did in time."""

    def close(self) -> None:
        """Stop, whatever is at work."""


class Processes:
    """A crew on this machine, the cores divided among its members.

    Args:
        jobs: Processes.
    """

    def __init__(self, jobs: int) -> None:
        self.size = jobs
        self._context = get_context("spawn")  # forked torch threads hang
        self._threads = max(1, cores() // jobs)
        self._lifeline, self._ours = self._context.Pipe(duplex=False)
        self._members: dict[int, tuple[BaseProcess, Connection]] = {}
        self._at: dict[int, Unit] = {}

    def start(self, worker: int, unit: Unit, data_hash: str) -> None:
        self._at[worker] = unit
        if worker in self._members:
            try:
                self._members[worker][1].send((unit, data_hash))
                return
            except OSError:  # it died between units
                self._members.pop(worker)[0].join()
        self._members[worker] = self._hire()
        self._members[worker][1].send((unit, data_hash))

    def _hire(self) -> tuple[BaseProcess, Connection]:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._threads, self._lifeline), daemon=True)
        process.start()
        there.close()  # else the end of the process would not end the pipe
        return process, here

    def wait(self, seconds: float) -> list[tuple[int, Outcome]]:
        ends = {self._members[worker][1]: worker for worker in self._at}
        ready = [ends[end] for end in wait(list(ends), seconds)]  # type: ignore[index]
        return [(worker, self._receive(worker)) for worker in ready]

    def _receive(self, worker: int) -> Outcome:
        unit = self._at.pop(worker)
        process, end = self._members[worker]
        try:
            outcome: Outcome = end.recv()
        except (EOFError, OSError):  # also in the midst of what it sends
            process.join()
            del self._members[worker]  # the next unit gets a new process
            return Outcome(unit, [], 0.0, _obituary(process.exitcode))
        return outcome

    def close(self) -> None:
        self._ours.close()
        self._lifeline.close()
        for process, end in self._members.values():
            end.close()
            process.terminate()
        for process, _ in self._members.values():
            process.join()


def _obituary(code: int | None) -> str:
    if code == -9:
        return "The process was killed: most often for want of memory."
    return f"The process ended with exit code {code}."


def _serve(end: Connection, threads: int, lifeline: Connection) -> None:
    """Run units until there is nobody to give them."""
    from bes.bench.data import load_checked
    from bes.bench.units import Worker
    from bes.errors import InputError
    from bes.graph.graph import Graph
    from bes.runs import start_worker

    start_worker(threads, lifeline)
    worker, graphs = Worker(), dict[str, Graph]()
    while True:
        try:
            unit, data_hash = end.recv()
        except (EOFError, OSError):
            return
        name = unit.config.dataset
        try:
            graphs = graphs if name in graphs else {name: load_checked(name, data_hash)}
        except InputError as error:  # it was there when the grid began
            end.send(Outcome(unit, [], 0.0, str(error)))
            continue
        end.send(worker.run(unit, graphs[name], data_hash))


#: Makes a crew of so many workers.
MakeCrew = Callable[[int], Crew]
