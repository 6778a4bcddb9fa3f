"""Cells of the paper's tables: which run fills which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bes.bench import paper
from bes.bench.model import ACCURACY, PAIRED, Ask, Cell, Metric, Printed, Protocol
from bes.bench.suites.settings import DATASETS, HONEST, METHODS, Sections, link_config, method_config, node_config
from bes.models.convs import CONVS

#: Splits of the paper, and of what we compare most closely.
FIVE, TEN = tuple(range(5)), tuple(range(10))

#: Methods of which one run takes over five minutes, by data set: three splits must do.
Slow = Mapping[str, frozenset[str]]

#: Those of nodes with the paper's settings; of links none.
SLOW: Slow = {"CiteSeer": frozenset({"graphecl"}), "PubMed": frozenset({"graphecl", "mpnn-sage", "mpnn-gat"})}


def splits(slow: Slow, arm: str, dataset: str, usual: Sequence[int]) -> tuple[int, ...]:
    """The usual splits, or the first three of them where one takes too long."""
    return tuple(usual[:3] if arm in slow.get(dataset, ()) else usual)


def slow_note(slow: Slow, datasets: Iterable[str]) -> str:
    """Where three splits must do, as a sentence; empty where they need not."""
    titles = {arm: title for title, arm in METHODS.items()}
    cells = [f"{titles[arm]} on {dataset}" for dataset in datasets for arm in sorted(slow.get(dataset, ()))]
    return f"Three splits where one run takes over five minutes: {', '.join(cells)}." if cells else ""


def webkb_note() -> str:
    """What the paper's figures of the smallest graphs look like."""
    (cornell, n), (texas, m) = (paper.shares(name, 37) for name in ("Cornell", "Texas"))
    return (
        f"Of the paper's figures {cornell} of {n} for Cornell and {texas} of {m} for Texas are whole shares of 37 "
        "nodes, a test part of usual splits: single runs, by their look, and no means."
    )


def ask(
    task: str,
    dataset: str,
    arm: str,
    seeds: Sequence[int],
    sections: Sections | None = None,
    *,
    protocol: Protocol = HONEST,
    metric: Metric = ACCURACY,
) -> Ask:
    """One arm on one data set (by its name in the paper); a rival is trained as the paper's table 3 says."""
    make = node_config if task == "NC" else link_config
    if arm in CONVS:
        sections = {"encoders": {"names": (arm,)}, **(sections or {})}
    config = make(DATASETS[dataset], sections, protocol)
    if arm not in PAIRED and arm not in CONVS:
        config = method_config(config, arm, source="paper")
    return Ask(config, arm, metric, tuple(seeds))


def method_cells(
    table: int,
    task: str,
    columns: Iterable[tuple[str, str, Metric]],
    *,
    protocol: Protocol = HONEST,
    seeds: Sequence[int] = TEN,
    rival_seeds: Sequence[int] = TEN,
    rows: Sequence[str] | None = None,
    more: Sequence[str] = (),
) -> tuple[Cell, ...]:
    """The cells of a table of methods.

    Args:
        columns: Of each, its name in the table, the data set and the metric.
        seeds, rival_seeds: The splits of control and bes, and of every other method.
        rows: Some of the table's rows only.
        more: Rows that the table does not have.
    """
    columns = list(columns)
    slow = SLOW if task == "NC" else {}
    cells = []
    for row in [*(rows or paper.rows(table)), *more]:
        for column, dataset, metric in columns:
            printed, arm = printed_or_none(table, row, column), METHODS[row]
            chosen = seeds if arm in PAIRED else splits(slow, arm, dataset, rival_seeds)
            cells.append(Cell(row, column, ask(task, dataset, arm, chosen, protocol=protocol, metric=metric), printed))
    return tuple(cells)


def printed_or_none(table: int, row: str, column: str) -> Printed | None:
    """What the paper prints, where its table has such a row and column."""
    if row in paper.rows(table) and column in paper.columns(table):
        return paper.printed(table, row, column)
    return None
