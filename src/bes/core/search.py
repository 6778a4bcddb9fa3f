"""Neighbours for the shift score: exact while that is fast, among the rows of near cells above."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor

from bes.core.neighbors import BLOCK, lowest, nearest
from bes.core.rows import Rows, blocks
from bes.threads import alone

T = TypeVar("T")

#: Distances from which cells are used. Measured with 64 columns, all rows asking, in seconds on two cores, exact
#: against cells: 8,000 rows 0.3 and 0.5, 16,000 rows 1.0 and 0.8, 32,000 rows 3.0 and 1.3, 64,000 rows 16 and 1.9.
#: Cells find 95 percent of the neighbours there, so the exact way is kept while it takes a few seconds: to 32,000 rows.
INDEXED = 1 << 30

#: Cells are 4 sqrt(n); neighbours are looked for in so many of them.
NEAR = 8

#: Rows a cell that the cells' centres are learned from, and rounds of it.
LEARNED, ROUNDS = 32, 5

#: Queries that are searched together.
TOGETHER = 1 << 18

#: Distances of a visit to a cell, at most: 256 K floats, 1 MiB, which stay near the processor; and visits that wait.
VISIT, AHEAD = 1 << 18, 1 << 10


def search(query: Tensor, z: Rows, k: int) -> Tensor:
    """As `neighbors.nearest`, for embeddings `z` `[n, D]` of any size.

    Above `INDEXED` distances z is cut into cells by k-means, and a row's neighbours are looked for in the cells nearest
    to it: most of them are found, and all that are found are near.
    """
    n = z.shape[0]
    if query.numel() * n < INDEXED:
        return nearest(query, z[:], k)
    return _Cells(z).search(query, min(k, n - 1))


class _Cells:
    """Rows of z by cell, and for each row the cells nearest to it.

    A search goes cell by cell, with all rows that look into it at once: a matrix product, which costs a fraction of
    what a search row by row costs in the same cells.
    """

    def __init__(self, z: Rows) -> None:
        n, dim = z.shape
        count = int(4 * math.sqrt(n))
        some = torch.arange(0, n, max(1, n // (count * LEARNED)), device=z.device)[: count * LEARNED]
        with _many_hands(z.device) as hands:
            self.centre = _learn(z[some], count, hands)
            count = len(self.centre)
            #: The cells nearest to each row, its own first `[n, NEAR]`.
            self.near = torch.empty(n, min(NEAR, count), dtype=torch.int32, device=z.device)
            for part in blocks(n, dim):
                self.near[part] = _nearest_centres(z[part], self.centre, self.near.shape[1], hands).to(self.near)
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
        with _many_hands(query.device) as hands:
            return torch.cat([self._search(part, k, hands) for part in query.split(TOGETHER)])

    def _search(self, query: Tensor, k: int, hands: _Hands) -> Tensor:
        """The nearest of each near cell by itself, and of these the nearest."""
        near, place = self.near[query], self.place[query]
        value = torch.full((near.numel(), k), torch.inf, dtype=self.z.dtype, device=query.device)
        where = torch.zeros(near.numel(), k, dtype=torch.long, device=query.device)

        def visit(cell: int, pair: Tensor) -> None:
            first, end = self.start[cell], self.start[cell + 1]
            at = place[pair // near.shape[1]]
            # from the cell's centre, near which float32 has the digits
            others, own = self.z[first:end] - self.centre[cell], self.z[at] - self.centre[cell]
            distance = torch.addmm(others.square().sum(1), own, others.T, alpha=-2)
            inside = ((at >= first) & (at < end)).nonzero().flatten()
            distance[inside, at[inside] - first] = torch.inf  # no row is a neighbour of its own
            count = min(k, end - first)
            least, which = distance.topk(count, dim=1, largest=False, sorted=False)
            value[pair, :count] = least.add_(own.square().sum(1)[:, None])
            where[pair, :count] = which.add_(first)

        for _ in hands.map(visit, self._visits(near)):
            pass
        least, which = value.view(len(query), -1).topk(k, dim=1, largest=False)
        others = (place[:, None] + torch.arange(1, k + 1, device=query.device)) % len(self.row)
        return self.row[torch.where(least.isinf(), others, where.view(len(query), -1).gather(1, which))]

    def _visits(self, near: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Cell by cell: which entries of `near` `[Q, m]`, cells by query, are that cell, some of them at a time."""
        cell, pair = near.flatten().sort(stable=True)
        ends = torch.bincount(cell, minlength=len(self.centre)).cumsum(0).tolist()
        for c, (begin, stop) in enumerate(pairwise([0, *ends])):
            size = self.start[c + 1] - self.start[c]
            if stop > begin and size:
                for some in pair[begin:stop].split(max(1, VISIT // size)):
                    yield c, some


def _learn(z: Tensor, count: int, hands: _Hands) -> Tensor:
    """At most `count` different centres of cells `[m, D]`, by Lloyd's rounds from rows that are evenly spread."""
    centre = z[torch.linspace(0, len(z) - 1, count, dtype=torch.float64, device=z.device).long()]
    for _ in range(ROUNDS):
        own = _nearest_centres(z, centre, 1, hands).flatten()
        size = torch.bincount(own, minlength=count)[:, None]
        total = torch.zeros_like(centre).index_add(0, own, z)
        centre = torch.where(size > 0, total / size.clamp(min=1), centre)
    different: Tensor = centre.unique(dim=0)
    return different


def _nearest_centres(z: Tensor, centre: Tensor, m: int, hands: _Hands) -> Tensor:
    """The `m` nearest centres of each row `[n, m]`, nearest first."""
    middle = centre.mean(0)  # near the origin float32 has the digits
    centred = centre - middle
    squares, columns = centred.square().sum(1), centred.T.contiguous()

    def work(part: Tensor) -> Tensor:
        distance = torch.addmm(squares, part - middle, columns, alpha=-2)
        return distance.argmin(1, keepdim=True) if m == 1 else lowest(distance, m)[1]

    return torch.cat(list(hands.map(work, zip(z.split(max(1, BLOCK // len(centre)))))))


class _Hands:
    """Threads that work on cells, each by itself: a cell is too small for more than one, and there are thousands."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def map(self, work: Callable[..., T], given: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """`work` of each, in order, about a thousand of them on the way at most."""
        waiting: deque[Future[T]] = deque()
        for one in given:
            waiting.append(self._pool.submit(work, *one))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _many_hands(device: torch.device) -> Iterator[_Hands]:
    """On a CPU as many as torch has threads, and torch has one while they work; elsewhere one."""
    count = torch.get_num_threads() if device.type == "cpu" else 1
    with alone(device, small=True), ThreadPoolExecutor(count) as pool:
        yield _Hands(pool)
