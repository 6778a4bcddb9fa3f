"""The paper's printed values, one file a table, as they stand: contradictions included."""

from __future__ import annotations

import csv
import difflib
import re
from functools import cache
from importlib import resources
from itertools import combinations

from bes.bench.model import Printed
from bes.errors import InputError, did_you_mean

#: The tables that print results; the others list datasets and hyperparameters.
TABLES: dict[int, str] = {
    1: "Accuracy of node classification (NC) and link prediction (LP), by method",
    6: "Accuracy with neighbours in the graph or in the embedding space",
    7: "Accuracy with the pairwise objective or the centers",
    8: "Convergence time in seconds with the pairwise objective or the centers",
    9: "F1 and AUC of node classification, by method",
    10: "F1 and AUC of link prediction, by method",
    11: "Accuracy of node classification on heterophilic and OGB graphs, by method",
    12: "Accuracy of link prediction on an OGB graph, by method",
    14: "Accuracy of node classification, part by part",
    15: "Accuracy of link prediction, part by part",
    16: "Accuracy of node classification with and without boundary nodes",
}

#: What stands where there is no number: out of memory, not supported.
NO_NUMBER = ("OOM", "-")

_NUMBER = re.compile(r"~?(?P<value>\d+(\.\d+)?)(±(?P<spread>\d+(\.\d+)?))?", re.ASCII)
_SMALL = ("Cora", "CiteSeer", "PubMed", "WikiCS")
_LARGER = ("Chameleon", "Cornell", "Texas", "Roman-empire", "ogbn-arxiv")

#: Cells that state the same thing: each group is one method on one dataset, as (table, row, column).
SAME: tuple[tuple[tuple[int, str, str], ...], ...] = (
    *(((1, "BES", f"{name} NC"), (14, "L1+2", name), (16, "w/ boundary nodes", name)) for name in _SMALL),
    *(((11, "BES", name), (16, "w/ boundary nodes", name)) for name in _LARGER),
    *(((1, "BES", f"{name} LP"), (15, "L1+2", name)) for name in _SMALL),
    *(
        ((6, f"{task} Embedding Space", name), (7, f"{task} Center-based Approximation", name), (table, "L1", name))
        for task, table in (("NC", 14), ("LP", 15))
        for name in _SMALL
    ),
)


def rows(table: int) -> list[str]:
    """The rows of a table, in the paper's order."""
    return list(_read(table))


def columns(table: int) -> list[str]:
    """The columns of a table, in the paper's order."""
    return list(next(iter(_read(table).values())))


def printed(table: int, row: str, column: str) -> Printed:
    """What the paper prints in one cell."""
    _known("row", row, rows(table), table)
    _known("column", column, columns(table), table)
    text = _read(table)[row][column]
    value, spread = parse(text)
    return Printed(text, value, spread, f"Table {table}", row, column)


def parse(text: str) -> tuple[float | None, float | None]:
    """The value and the spread of a printed text: `86.38±0.40`, `89.46`, `~160`, `OOM` or `-`."""
    if text in NO_NUMBER:
        return None, None
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise InputError(f"printed value {text!r} is not a number: write it such as 86.38±0.40, ~160, OOM or -.")
    spread = match["spread"]
    return float(match["value"]), None if spread is None else float(spread)


def contradictions() -> list[tuple[Printed, Printed]]:
    """Pairs of cells that should state the same value but do not; spreads are not compared."""
    pairs = [pair for group in SAME for pair in combinations([printed(*cell) for cell in group], 2)]
    return [(one, other) for one, other in pairs if _differ(one.value, other.value)]


def shares(column: str, of: int) -> tuple[int, int]:
    """How many figures of a column of table 11 are whole shares of `of` test nodes, as those of a single run are.

    Returns:
        So many, and of how many.
    """
    values = [value for row in rows(11) if (value := printed(11, row, column).value) is not None]
    whole = [value for value in values if not _differ(value, 100 * round(value * of / 100) / of)]
    return len(whole), len(values)


def _differ(one: float | None, other: float | None) -> bool:
    # Half of the last printed digit: what rounding alone can explain.
    return one is not None and other is not None and abs(one - other) > 0.005


@cache
def _read(table: int) -> dict[str, dict[str, str]]:
    """The texts of a table, by row and column."""
    if table not in TABLES:
        known = ", ".join(map(str, TABLES))
        raise InputError(f"table {table!r} is not one of the paper's tables of results: choose from {known}.")
    file = resources.files(__name__).joinpath(f"table-{table:02d}.csv")
    lines = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return {line.pop("row"): line for line in lines}


def _known(kind: str, name: str, known: list[str], table: int) -> None:
    if name in known:
        return
    plain = {word.lower(): word for word in known}
    near = [plain[word] for word in difflib.get_close_matches(name.lower(), plain)]
    hint = did_you_mean(near, f"choose from {', '.join(known)}.")
    raise InputError(f"{kind} {name!r} is not in Table {table} of the paper: {hint}")
