"""What a table's caption says of its numbers."""

from __future__ import annotations

from bes.bench.fill import FilledSheet
from bes.bench.model import Metric, Protocol


def protocol(given: Protocol) -> str:
    return sentence(f"Protocol {given.name}: {given.about}" if given.about.strip() else f"Protocol {given.name}")


def about(filled: FilledSheet) -> tuple[str, ...]:
    """Sentences: the metrics, how many splits stand behind a number, and the tables of the printed values."""
    metrics = list(dict.fromkeys(_metric(cell.cell.ask.metric) for cell in filled.cells if cell.cell.ask))
    shown = [sentence(f"Shown: {listed(metrics)}")] if metrics else []
    return (*shown, _splits(filled), _tables(filled))


def sentence(text: str) -> str:
    """The text on one line, with an end."""
    plain = " ".join(text.split())
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."


def listed(names: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _metric(metric: Metric) -> str:
    name = f"{metric.name} in percent" if metric.scale == 100 else metric.name
    return f"{name} (lower is better)" if metric.better == "lower" else name


def _splits(filled: FilledSheet) -> str:
    counts = sorted({len(cell.values) for cell in filled.cells if cell.values and not cell.problem})
    if not counts:
        many = "the recorded splits"
    elif len(counts) == 1:
        many = f"{counts[0]} recorded split{'s' if counts[0] > 1 else ''}"
    else:
        many = f"{counts[0]} to {counts[-1]} recorded splits"
    alone = any(len(cell.values) == 1 for cell in filled.cells)
    return f"Ours: mean ± standard error of {many}{'; without ±, of one split' if alone else ''}."


def _tables(filled: FilledSheet) -> str:
    tables = dict.fromkeys(cell.cell.printed.table for cell in filled.cells if cell.cell.printed)
    return f"Paper: as printed in {listed(list(tables))}." if tables else "The paper prints no value for this table."
