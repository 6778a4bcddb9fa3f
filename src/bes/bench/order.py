"""The order of a grid: what took least so far comes first, so that one that is stopped early has the most cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from bes.bench.units import Unit
from bes.summary import Record


def cheapest_first(units: Sequence[Unit], records: Iterable[Record]) -> list[Unit]:
    """The same units by the time that a run of their arm took, on the same data or else on others.

    Units of one group stay side by side, and those of which nothing is known stay first, in their order.
    """
    took: dict[tuple[str, ...], list[float]] = {}
    for record in records:
        if record.get("took") is not None:
            for key in _keys(record["dataset"], record["task"], record["arm"]):
                took.setdefault(key, []).append(record["took"])

    def expected(unit: Unit) -> float:
        keys = _keys(unit.config.dataset, unit.config.task, unit.arms[-1])
        return next((fmean(took[key]) for key in keys if key in took), 0.0)

    cost: dict[str, float] = {}
    for unit in units:
        cost.setdefault(unit.group, expected(unit))
    place = {group: i for i, group in enumerate(cost)}
    return sorted(units, key=lambda unit: (cost[unit.group], place[unit.group]))


def _keys(dataset: str, task: str, arm: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """From what says most to what says something."""
    return (dataset, task, arm), (task, arm)
