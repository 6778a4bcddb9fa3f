"""What the neighbourhoods of fixed and broken test nodes look like, beside those of all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bes.graph.arrays import Array
from bes.graph.graph import Graph
from bes.report.outcomes import Outcome

#: Of each group of nodes: whether control is right in it, and bes.
GROUPS = {
    "fixed": (False, True),
    "broken": (True, False),
    "right in both": (True, True),
    "wrong in both": (False, False),
}


def neighborhoods(found: Sequence[Outcome], graph: Graph, trained_on: Callable[[int], Array]) -> list[dict[str, Any]]:
    """A row a group, over all seeds; None where a group has no node, or none with a neighbour.

    Args:
        found: Of nodes.
        trained_on: From a seed to its training nodes.

    Returns:
        Of each group: `nodes` (counted anew in each seed), `neighbors` (the median number), and in the mean over nodes
        that have any, the share of neighbours of the node's own class (`alike`), and that train in the seed (`known`).
    """
    row, col = graph.edge_index.cpu().numpy()
    y, n = graph.y.cpu().numpy(), graph.n_nodes
    degree = np.bincount(row, minlength=n)
    alike = np.bincount(row, (y[row] == y[col]) & (y[row] >= 0), minlength=n)
    seen: dict[str, list[Array]] = {name: [] for name in GROUPS}
    for outcome in found:
        training = np.zeros(n, dtype=bool)
        training[trained_on(outcome.seed)] = True
        known = np.bincount(row, training[col], minlength=n)
        nodes = outcome.items[:, 0]
        each = np.stack([degree[nodes], alike[nodes], known[nodes]])
        for name, (before, after) in GROUPS.items():
            seen[name].append(each[:, (outcome.right("control") == before) & (outcome.right("bes") == after)])
    return [_row(name, np.concatenate(parts, axis=1)) for name, parts in seen.items()]


def _row(name: str, each: Array) -> dict[str, Any]:
    degree, alike, known = each
    some = degree > 0
    shares = {"alike": alike, "known": known}
    return {
        "name": name,
        "nodes": each.shape[1],
        "neighbors": float(np.median(degree)) if degree.size else None,
        **{key: float((count[some] / degree[some]).mean()) if some.any() else None for key, count in shares.items()},
    }
