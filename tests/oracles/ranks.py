"""Ranks as threads of one process: the same calls as `bes.scale.ranks.Ranks`, without a network."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class ThreadRanks:
    """One rank; what each hands over lies on a common table."""

    device = torch.device("cpu")

    def __init__(self, rank: int, table: list[Any], barrier: Barrier) -> None:
        self.rank, self.size, self.stage = rank, len(table), "start"
        self._table, self._barrier = table, barrier

    def collect(self, thing: Any) -> list[Any]:
        self._table[self.rank] = thing
        self._barrier.wait()
        found = list(self._table)
        self._barrier.wait()  # before anyone lays down the next thing
        return found

    def share(self, thing: Any) -> Any:
        return self.collect(thing)[0]

    def sum(self, tensor: Tensor) -> Tensor:
        return torch.stack(self.collect(tensor.detach().clone())).sum(0).to(tensor)

    def minimum(self, tensor: Tensor) -> Tensor:
        return torch.stack(self.collect(tensor.detach().clone())).amin(0)

    def gather(self, rows: Tensor) -> Tensor:
        return torch.cat(self.collect(rows.clone()))

    def exchange(self, rows: Tensor, send: list[int], receive: list[int], into: Tensor | None = None) -> Tensor:
        sent = self.collect(list(rows.detach().clone().split(send)))
        found = [parts[self.rank] for parts in sent]
        assert [len(part) for part in found] == receive
        return torch.cat(found) if into is None else into.copy_(torch.cat(found))


def on_threads(size: int, work: Callable[[ThreadRanks], T]) -> list[T]:
    """What `work` gives on each of `size` ranks."""
    table: list[Any] = [None] * size
    barrier = Barrier(size, timeout=300)

    def one(rank: int) -> T:
        try:
            return work(ThreadRanks(rank, table, barrier))
        except BaseException:
            barrier.abort()  # or the others would wait for ever
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(one, rank) for rank in range(size)]
        errors = [error for future in futures if (error := future.exception()) is not None]
        for error in sorted(errors, key=lambda error: type(error).__name__ == "BrokenBarrierError"):
            raise error
        return [future.result() for future in futures]
