"""The simplest crew: a unit is run when it is started, in this process."""

from bes.bench.units import Outcome, Unit, Worker
from bes.graph.catalog import load


class AtOnce:
    """A crew without processes: a unit is run when it is started."""

    def __init__(self, jobs: int) -> None:
        self.size = jobs
        self._worker, self._ended = Worker(), list[tuple[int, Outcome]]()

    def start(self, worker: int, unit: Unit, data_hash: str) -> None:
        self._ended.append((worker, self._worker.run(unit, load(unit.config.dataset), data_hash)))

    def wait(self, _: float) -> list[tuple[int, Outcome]]:
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        self._ended.clear()
