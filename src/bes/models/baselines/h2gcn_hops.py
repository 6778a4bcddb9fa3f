"""The one-hop and the exact two-hop operator of a graph, each with its own degrees and without self-loops."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array
from torch import Tensor

from bes.errors import InputError
from bes.graph.sparse import Operators, Sparse

#: Entries that a two-hop matrix may have: 50 million take 400 MB, and seconds a round.
LIMIT = 50_000_000

#: Walks of two steps that are followed at a time.
_WALKS = 1 << 23


class Hops(NamedTuple):
    """D_k^-1/2 A_k D_k^-1/2 for the neighbours at distance one and two."""

    one: Sparse
    two: Sparse


_HOPS: WeakKeyDictionary[Operators, Hops] = WeakKeyDictionary()


def hops_of(ops: Operators) -> Hops:
    """Both operators of a graph, built once."""
    if ops not in _HOPS:
        _HOPS[ops] = Hops(*(_normalised(pairs, ops.n_nodes) for pairs in (ops.edge_index, two_hop(ops))))
    return _HOPS[ops]


def two_hop(ops: Operators) -> Tensor:
    """Pairs `[2, P]` of nodes whose shortest path has two edges, both directions, sorted by the first row."""
    n, device = ops.n_nodes, ops.edge_index.device
    row, col = ops.edge_index.cpu().numpy()
    near = csr_array((np.ones(len(row), dtype=np.float32), (row, col)), shape=(n, n))
    found, entries = [], 0
    for start, stop in _runs(near):
        pairs = _at_distance_two(near, start, stop)
        entries += pairs.shape[1]
        if entries > LIMIT:
            raise InputError(
                f"The two-hop matrix of this graph has more than {LIMIT:,} entries (of {n:,} nodes, the first "
                f"{stop:,} fill it): H2GCN is for smaller or sparser graphs, use another method such as gprgnn."
            )
        found.append(pairs)
    return torch.from_numpy(np.concatenate(found, axis=1)).to(device)


def _runs(near: csr_array) -> list[tuple[int, int]]:
    """Runs of nodes with about `_WALKS` walks of two steps each, or of one node with more."""
    degree = np.diff(near.indptr)
    walks = np.cumsum(near @ degree.astype(np.float64))
    last = np.searchsorted(walks, np.arange(_WALKS, walks[-1] + _WALKS, _WALKS), side="right")
    stops = np.unique(np.append(last, near.shape[0]).clip(1, near.shape[0]))
    return list(zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True))


def _at_distance_two(near: csr_array, start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The pairs `[2, P]` of the nodes `start` to `stop`: two steps lead there, and neither one nor none does."""
    some = near[start:stop]
    own = eye_array(stop - start, near.shape[0], k=start, dtype=np.float32, format="csr")
    # no count of walks exceeds n: what is subtracted leaves only the others above zero
    reached = csr_array(some @ near - (near.shape[0] + 1) * (some + own))
    reached.sort_indices()
    kept = reached.data > 0
    row = np.repeat(np.arange(start, stop), np.diff(reached.indptr))
    return np.stack([row[kept], reached.indices[kept].astype(np.int64)])


def _normalised(pairs: Tensor, n: int) -> Sparse:
    """D^-1/2 A D^-1/2 of the pairs; the row of a node without any is zero."""
    root = torch.bincount(pairs[0], minlength=n).float().rsqrt()[pairs]
    return Sparse.from_coo(pairs[0], pairs[1], root[0] * root[1], (n, n), symmetric=True)
