"""How long runs will take by those that were, and the order of a grid: what took least so far comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bes.bench.units import Unit
from bes.summary import Record


class Expected:
    """Seconds of a run, by what earlier ones took: of its arm on the same data, or else of its arm, or else of all."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._took: dict[tuple[str, ...], tuple[float, int]] = {}  # seconds in all, and of how many
        for record in records:
            if record.get("took") is not None:
                self._add(record["dataset"], record["task"], record["arm"], record["took"])

    def learn(self, unit: Unit, seconds: float) -> None:
        """A run that has ended."""
        self._add(unit.config.dataset, unit.config.task, unit.arms[-1], seconds)

    def _add(self, dataset: str, task: str, arm: str, seconds: float) -> None:
        for key in _keys(dataset, task, arm):
            total, count = self._took.get(key, (0.0, 0))
            self._took[key] = total + seconds, count + 1

    def seconds(self, unit: Unit) -> float:
        """0 where nothing is known at all."""
        keys = _keys(unit.config.dataset, unit.config.task, unit.arms[-1])
        total, count = next((self._took[key] for key in keys if key in self._took), (0.0, 1))
        return total / count


def _keys(dataset: str, task: str, arm: str) -> tuple[tuple[str, ...], ...]:
    """From what says most to what says something."""
    return (dataset, task, arm), (task, arm), ()


def cheapest_first(units: Sequence[Unit], expected: Expected) -> list[Unit]:
    """The same units, so that a grid that is stopped early has the most cells; those of one group stay side by side."""
    cost: dict[str, float] = {}
    for unit in units:
        cost.setdefault(unit.group, expected.seconds(unit))
    place = {group: i for i, group in enumerate(cost)}
    return sorted(units, key=lambda unit: (cost[unit.group], place[unit.group]))
