"""Which test nodes or pairs shaping fixed and which it broke, and who their neighbours are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bes.graph.arrays import Array
from bes.graph.graph import Graph
from bes.report.outcomes import Outcome

#: Rows of each table, and neighbours named in a row.
ROWS, NEIGHBORS = 50, 8

#: What stands between the ends of a pair.
BETWEEN = " \N{EN DASH} "

#: A class that nobody knows.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Tally:
    """How often, over the seeds, each item was tested, fixed and broken."""

    keys: Array
    tested: Array
    fixed: Array
    broken: Array

    def text(self, key: int) -> str:
        at = int(np.searchsorted(self.keys, key))
        seeds = "seed" if self.tested[at] == 1 else "seeds"
        return f"fixed {self.fixed[at]}, broken {self.broken[at]} of {self.tested[at]} {seeds}"


def keys(items: Array, n_nodes: int) -> Array:
    """One number an item, nodes `[n, 1]` or pairs `[n, 2]`."""
    items = items.astype(np.int64)
    found: Array = items[:, 0] if items.shape[1] == 1 else items[:, 0] * n_nodes + items[:, 1]
    return found


def tally(found: Sequence[Outcome], n_nodes: int) -> Tally:
    """Counts over all seeds, by item."""
    every = [keys(outcome.items, n_nodes) for outcome in found]
    unique, at = np.unique(np.concatenate(every), return_inverse=True)
    counts = [
        np.bincount(at, np.concatenate(where), minlength=len(unique)).astype(np.int64)
        for where in (
            [np.ones(len(outcome.truth)) for outcome in found],
            [outcome.fixed() for outcome in found],
            [outcome.broken() for outcome in found],
        )
    ]
    return Tally(unique, *counts)


def changes(outcome: Outcome, count: Tally, around: Around, names: Sequence[str]) -> dict[str, Any]:
    """The tables of one seed: `fixed` and `broken`, each with its `total` and its first rows, largest change first."""
    both = {}
    for what, where in (("fixed", outcome.fixed()), ("broken", outcome.broken())):
        chosen = np.flatnonzero(where)
        gain = [outcome.prob[arm][chosen, outcome.truth[chosen]] for arm in ("control", "bes")]
        order = chosen[np.argsort(-np.abs(gain[1] - gain[0]), kind="stable")][:ROWS]
        rows = [_row(outcome, int(i), count, around, names) for i in order]
        both[what] = {"total": len(chosen), "rows": rows, "more": len(chosen) - len(rows)}
    return {"seed": outcome.seed, **both}


def _row(outcome: Outcome, i: int, count: Tally, around: Around, names: Sequence[str]) -> dict[str, Any]:
    item = outcome.items[i]
    row: dict[str, Any] = {
        "id": BETWEEN.join(around.ids[node] for node in item),
        "truth": _name(names, int(outcome.truth[i])),
        "over_seeds": count.text(int(keys(item[None], around.n_nodes)[0])),
        "neighbors": around.of(int(item[0])) if len(item) == 1 else None,
    }
    for arm in ("control", "bes"):
        guess = int(outcome.guess[arm][i])
        row[arm] = {"name": _name(names, guess), "prob": float(outcome.prob[arm][i, guess])}
    return row


class Around:
    """Neighbours by name: looked up among the graph's sorted edges."""

    def __init__(self, graph: Graph) -> None:
        self.ids, self.names = graph.ids, graph.class_names
        self.n_nodes = graph.n_nodes
        self._row, self._col = graph.edge_index.cpu().numpy()
        self._y = graph.y.cpu().numpy()

    def of(self, node: int) -> dict[str, Any]:
        """The number of neighbours, by class (most first), and the first of them with their classes."""
        start, end = np.searchsorted(self._row, [node, node + 1])
        near = self._col[start:end]
        classes, counts = np.unique(self._y[near], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {
            "total": len(near),
            "by_class": [{"name": _name(self.names, int(classes[k])), "n": int(counts[k])} for k in order],
            "first": [
                {"id": self.ids[other], "name": _name(self.names, int(self._y[other]))} for other in near[:NEIGHBORS]
            ],
            "more": max(0, len(near) - NEIGHBORS),
        }


def _name(names: Sequence[str], c: int) -> str:
    if c < 0:
        return UNKNOWN
    return names[c] if c < len(names) else str(c)
