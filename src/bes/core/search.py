"""Neighbours for the shift score: exact while that is fast, by an index of FAISS above."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from torch import Tensor

from bes.core.neighbors import nearest
from bes.core.rows import Rows, blocks

#: Distances from which the index is used.
INDEXED = 1 << 30

#: Cells that a search looks into, of 4 sqrt(n).
PROBES = 8

#: Rows a cell that the cells' centres are learned from, and rounds of it.
LEARNED, ROUNDS = 50, 6


def search(query: Tensor, z: Rows, k: int) -> Tensor:
    """As `neighbors.nearest`, for embeddings `z` `[n, D]` of any size.

    Above `INDEXED` distances, with faiss installed, neighbours are looked for in the `PROBES` cells nearest to a row:
    most of them are found, and all that are found are near.
    """
    n = z.shape[0]
    if query.numel() * n < INDEXED:
        return nearest(query, z[:], k)
    faiss = _faiss()
    if faiss is None:
        warnings.warn(
            f"The neighbours of {query.numel()} nodes among {n} are looked for one by one, which takes long: "
            "install faiss-cpu, as bes-graph[scale] does.",
            stacklevel=2,
        )
        return nearest(query, z[:], k)
    return _indexed(faiss, query, z, min(k, n - 1))


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        return None
    return faiss


def _indexed(faiss: Any, query: Tensor, z: Rows, k: int) -> Tensor:
    """The `k` nearest rows that the index finds, `[Q, k]`, nearest first."""
    n, dim = z.shape
    cells = max(1, int(4 * math.sqrt(n)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(dim), dim, cells)
    index.cp.niter, index.cp.max_points_per_centroid, index.nprobe = ROUNDS, LEARNED, PROBES
    some = torch.arange(0, n, max(1, n // (cells * LEARNED)), device=z.device)[: cells * LEARNED]
    index.train(_plain(z[some]))
    for part in blocks(n, dim):
        index.add(_plain(z[part]))
    found = torch.empty(query.numel(), k, dtype=torch.long, device=z.device)
    for part in blocks(query.numel(), dim):
        rows = query[part]
        near = torch.from_numpy(index.search(_plain(z[rows]), k + 1)[1]).to(z.device)
        found[part] = _without(near, rows)
    return found


def _plain(z: Tensor) -> Any:
    return z.float().cpu().contiguous().numpy()


def _without(near: Tensor, rows: Tensor) -> Tensor:
    """All columns but the row itself, or but the last where it is not among them."""
    itself = near == rows[:, None]
    itself[:, -1] |= ~itself.any(1)
    return near[~itself].reshape(len(rows), -1)
