"""Who is near a node: in the graph, and in an embedding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Rows of an embedding looked at together, so that a wide one needs no second copy of itself.
BLOCK = 16_384

Ints = NDArray[np.int64]


class Adjacency:
    """Neighbours of each node, from edges `[2, E]` that are there in both directions.

    Args:
        edge_index: The edges, in any order.
        n_nodes: Number of nodes N.
    """

    def __init__(self, edge_index: NDArray[np.integer], n_nodes: int) -> None:
        order = np.lexsort((edge_index[1], edge_index[0]))
        self._ends: Ints = edge_index[1][order].astype(np.int64)
        self._start = np.searchsorted(edge_index[0][order], np.arange(n_nodes + 1))

    def of(self, node: int) -> Ints:
        """The neighbours of a node, in order."""
        around: Ints = self._ends[self._start[node] : self._start[node + 1]]
        return around


def nearest(z: NDArray[np.floating], node: int, k: int) -> tuple[Ints, NDArray[np.float64]]:
    """The `k` rows of `z` `[N, D]` nearest to row `node`, itself left out, and their distances; nearest first.

    Exact, in one pass of O(N D); among equals the first come first.
    """
    n = len(z)
    k = min(k, n - 1)
    squared = np.empty(n)
    for start in range(0, n, BLOCK):
        away = z[start : start + BLOCK].astype(np.float64) - z[node]
        squared[start : start + BLOCK] = np.einsum("nd,nd->n", away, away)
    squared[node] = np.inf
    if k < 1:
        return np.empty(0, np.int64), np.empty(0)
    limit = np.partition(squared, k - 1)[k - 1]
    close = np.flatnonzero(squared <= limit)
    close = close[np.argsort(squared[close], kind="stable")][:k]
    return close, np.sqrt(squared[close])
