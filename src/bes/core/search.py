"""Neighbours for the shift score: exact while that is fast, among the rows of near cells above."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from bes.core.neighbors import BLOCK, nearest
from bes.core.rows import Rows, blocks

#: Distances from which cells are used. Measured with 64 columns, all rows asking, in seconds of an EPYC core, exact
#: against cells: 8,000 rows 0.3 and 0.5, 16,000 rows 1.4 and 0.7, 32,000 rows 6 and 1.5, 64,000 rows 27 and 3. Cells
#: find 92 percent of the neighbours, so the exact way is kept while it takes a few seconds: to 32,000 rows.
INDEXED = 1 << 30

#: Cells are 4 sqrt(n); neighbours are looked for in so many of them.
NEAR = 8

#: Rows a cell that the cells' centres are learned from, and rounds of it.
LEARNED, ROUNDS = 32, 5

#: Queries that are searched together.
TOGETHER = 1 << 19


def search(query: Tensor, z: Rows, k: int) -> Tensor:
    """As `neighbors.nearest`, for embeddings `z` `[n, D]` of any size.

    Above `INDEXED` distances, with faiss installed, z is cut into cells by k-means, and a row's neighbours are looked
    for in the cells nearest to its own: most of them are found, and all that are found are near.
    """
    n = z.shape[0]
    if query.numel() * n < INDEXED:
        return nearest(query, z[:], k)
    try:
        import faiss
    except ImportError:
        warnings.warn(
            f"The neighbours of {query.numel()} nodes among {n} are looked for one by one, which takes long: "
            "install faiss-cpu, as bes-graph[scale] does.",
            stacklevel=2,
        )
        return nearest(query, z[:], k)
    return _Cells(faiss, z).search(query, min(k, n - 1))


class _Cells:
    """Rows of z by cell, and for each row the cells nearest to it.

    A search goes cell by cell, with all rows that look into it at once: a matrix product, which costs a fraction of
    what FAISS's own search, row by row, costs in the same cells.
    """

    def __init__(self, faiss: Any, z: Rows) -> None:
        n, dim = z.shape
        count = int(4 * math.sqrt(n))
        means = faiss.Kmeans(dim, count, niter=ROUNDS, max_points_per_centroid=LEARNED, min_points_per_centroid=1)
        some = torch.arange(0, n, max(1, n // (count * LEARNED)), device=z.device)[: count * LEARNED]
        means.train(_plain(z[some]))
        self.centre = torch.from_numpy(means.centroids).to(z.device, z.dtype)
        #: The cells nearest to each row, its own first `[n, NEAR]`.
        self.near = torch.empty(n, min(NEAR, count), dtype=torch.int32, device=z.device)
        for part in blocks(n, dim):
            cells = means.index.search(_plain(z[part]), self.near.shape[1])[1]
            self.near[part] = torch.from_numpy(cells).to(self.near)
        own = self.near[:, 0]
        #: Rows in the order of their cells, those of cell c from start[c] to start[c + 1], and where each row is.
        self.row = own.argsort(stable=True)
        self.start = [0, *torch.bincount(own, minlength=count).cumsum(0).tolist()]
        self.place = torch.empty_like(self.row)
        self.place[self.row] = torch.arange(n, device=z.device)
        self.z = torch.empty(n, dim, dtype=z.dtype, device=z.device)
        for part in blocks(n, dim):
            self.z[self.place[part]] = z[part]

    def search(self, query: Tensor, k: int) -> Tensor:
        """The `k` nearest rows in near cells `[Q, k]`, nearest first; any rows where those cells hold too few."""
        return torch.cat([self._search(part, k) for part in query.split(TOGETHER)])

    def _search(self, query: Tensor, k: int) -> Tensor:
        """First in the own cell; what the other cells have nearer than that is little, and is sorted in at the end."""
        place = self.place[query]
        value = torch.full((query.numel(), k), torch.inf, dtype=self.z.dtype, device=query.device)
        where = (place[:, None] + torch.arange(1, k + 1, device=query.device)) % len(self.row)
        for who, first, distance in self._visits(query, self.near[query, :1]):
            count = min(k, distance.shape[1])
            near, which = distance.topk(count, dim=1, largest=False)
            value[who, :count] = near
            where[who, :count] = torch.where(near.isinf(), where[who, :count], which + first)
        worst = value[:, -1:]
        asks = torch.arange(query.numel(), device=query.device)[:, None].expand(-1, k)
        found = [(asks.flatten(), value.flatten(), where.flatten())]
        for who, first, distance in self._visits(query, self.near[query, 1:]):
            row, column = (distance < worst[who]).nonzero(as_tuple=True)
            found.append((who[row], distance[row, column], column + first))
        ask, near, at = (torch.cat(parts) for parts in zip(*found, strict=True))
        order = near.argsort(stable=True)
        order = order[ask[order].argsort(stable=True)]
        starts = torch.searchsorted(ask[order], torch.arange(query.numel(), device=query.device))
        return self.row[at[order[starts[:, None] + torch.arange(k, device=query.device)]]]

    def _visits(self, query: Tensor, near: Tensor) -> Iterator[tuple[Tensor, int, Tensor]]:
        """Cell by cell: who of `query` looks into it, where its rows begin, and squared distances to them."""
        cell, pair = near.flatten().sort(stable=True)
        ends = torch.bincount(cell, minlength=len(self.centre)).cumsum(0).tolist()
        for c, (begin, stop) in enumerate(pairwise([0, *ends])):
            first, end = self.start[c], self.start[c + 1]
            if stop == begin or end == first:
                continue
            others = self.z[first:end] - self.centre[c]
            squares = others.square().sum(1)
            for part in (pair[begin:stop] // near.shape[1]).split(max(1, BLOCK // len(others))):
                place = self.place[query[part]]
                own = self.z[place] - self.centre[c]
                distance = torch.addmm(squares, own, others.T, alpha=-2).add_(own.square().sum(1)[:, None])
                inside = ((place >= first) & (place < end)).nonzero().flatten()
                distance[inside, place[inside] - first] = torch.inf  # no row is a neighbour of its own
                yield part, first, distance


def _plain(z: Tensor) -> Any:
    return z.float().cpu().contiguous().numpy()
