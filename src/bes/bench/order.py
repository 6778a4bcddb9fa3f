"""How long runs will take by those that were, and the order of a grid: what took least so far comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bes.bench.units import Unit
from bes.summary import Record


class Expected:
    """Seconds of a run, by what earlier ones took.

    Those of its arm on the same data say it. Else those of its arm on other data do, longer where all runs of the data
    are; else those of its data; else all of its task; else all there are.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._took: dict[tuple[str, ...], tuple[float, int]] = {}  # seconds in all, and of how many
        for record in records:
            if record.get("took") is not None:
                self._add(record["dataset"], record["task"], record["arm"], record["took"])

    def learn(self, unit: Unit, seconds: float) -> None:
        """A run that has ended."""
        self._add(unit.config.dataset, unit.config.task, unit.arms[-1], seconds)

    def _add(self, dataset: str, task: str, arm: str, seconds: float) -> None:
        for key in ((dataset, task, arm), ("by arm", task, arm), ("by data", task, dataset), (task,), ()):
            total, count = self._took.get(key, (0.0, 0))
            self._took[key] = total + seconds, count + 1

    def _mean(self, *key: str) -> float | None:
        total, count = self._took.get(key, (0.0, 0))
        return total / count if count else None

    def seconds(self, unit: Unit) -> float:
        """0 where nothing is known at all."""
        dataset, task, arm = unit.config.dataset, unit.config.task, unit.arms[-1]
        same = self._mean(dataset, task, arm)
        if same is not None:
            return same
        by_arm, by_data, of_task = (
            self._mean("by arm", task, arm),
            self._mean("by data", task, dataset),
            self._mean(task),
        )
        if by_arm is not None and by_data is not None and of_task:
            return by_arm * by_data / of_task
        found = [mean for mean in (by_arm, by_data, of_task, self._mean()) if mean is not None]
        return found[0] if found else 0.0


def cheapest_first(units: Sequence[Unit], expected: Expected) -> list[Unit]:
    """The same units, so that a grid that is stopped early has the most cells; those of one group stay side by side."""
    cost: dict[str, float] = {}
    for unit in units:
        cost.setdefault(unit.group, expected.seconds(unit))
    place = {group: i for i, group in enumerate(cost)}
    return sorted(units, key=lambda unit: (cost[unit.group], place[unit.group]))
