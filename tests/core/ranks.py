"""Ranks as threads of one process: a `Group` for tests, with parts of any size and halos."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Board:
    """Where ranks lay down what they have, and read what all have."""

    def __init__(self, size: int) -> None:
        self.barrier, self.slots = threading.Barrier(size, timeout=60), [None] * size

    def all(self, rank: int, value: Any) -> list[Any]:
        self.slots[rank] = value
        self.barrier.wait()
        seen = list(self.slots)
        self.barrier.wait()
        return seen


class Thread:
    """One rank: `rows` are the numbers of its own rows, `halo` those of the rows after them."""

    def __init__(self, board: Board, rank: int, rows: np.ndarray, halo: np.ndarray) -> None:
        self.board, self.rank, self.size, self.own = board, rank, len(board.slots), len(rows)
        self.rows, self.halo = torch.from_numpy(rows), torch.from_numpy(halo)

    def sum(self, x: Tensor) -> Tensor:
        return torch.stack(self.board.all(self.rank, x)).sum(0)

    def minimum(self, x: Tensor) -> Tensor:
        return torch.stack(self.board.all(self.rank, x)).amin(0)

    def gather(self, rows: Tensor) -> Tensor:
        return torch.cat(self.board.all(self.rank, rows))

    def numbers(self, rows: Tensor) -> Tensor:
        return self.rows[rows]

    def refresh(self, z: Tensor) -> Tensor:
        parts = self.board.all(self.rank, (self.rows, z[: self.own]))
        whole = z.new_zeros(int(max(rows.max() for rows, _ in parts)) + 1, *z.shape[1:])
        for rows, own in parts:
            whole[rows] = own
        return torch.cat([z[: self.own], whole[self.halo]])


def on_ranks(parts: list[np.ndarray], halos: list[np.ndarray], work: Callable[[Thread], Any]) -> list[Any]:
    """What `work` returns on each rank."""
    board = Board(len(parts))
    ranks = [Thread(board, i, *pair) for i, pair in enumerate(zip(parts, halos, strict=True))]
    found: list[Any] = [None] * len(ranks)

    def run(rank: Thread) -> None:
        try:
            found[rank.rank] = work(rank)
        except BaseException as error:
            found[rank.rank] = error
            board.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [one for one in found if isinstance(one, BaseException)]
    first = [one for one in errors if not isinstance(one, threading.BrokenBarrierError)]
    if errors:
        raise (first or errors)[0]
    return found
