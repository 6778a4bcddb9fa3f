"""The seam between shaping and many machines: what exact shaping needs of all processes together.

Each process, a rank, holds some rows of z as its own, and after them, for the scope `neighbors`, a halo: copies of rows
of other ranks that its own rows attend to. All ranks run the same code, and whatever decides what happens next (class
sums, region minima, loss, gradient, displacement, number of boundary nodes) comes out of `sum`, `minimum` or `gather`
and so is the same on all of them. What moves:

- once a layer: class sums, number of nodes, region minima, the labelled rows for the shift score's neighbours, the
  numbers of the boundary nodes, and `refresh` of the halos, since a layer's input does not change while it trains;
- in an iteration: loss and gradient of the batch, whose rows lie on several ranks, and one number, the displacement.

Rows have numbers that hold on all ranks. Boundary nodes are put in the order of these, and so every rank draws the same
batches, which are the batches that one process with all rows would draw.

An error on one rank leaves the others waiting: whoever starts the ranks must end them together, as torchrun does.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class Group(Protocol):
    """All ranks, seen from one of them. Every rank makes the same calls in the same order.

    Attributes:
        rank: Which one this is, from 0.
        size: How many there are.
        own: How many rows of z, the first ones, are this rank's own; None for all of them. Rows after
            them are its halo: they are attended to, and count in no sum.
    """

    rank: int
    size: int
    own: int | None

    def sum(self, x: Tensor) -> Tensor:
        """The sum over ranks of tensors of one shape, with the same bits on all of them; `x` may be overwritten."""
        ...

    def minimum(self, x: Tensor) -> Tensor:
        """The smallest over ranks, entry by entry; `x` may be overwritten."""
        ...

    def gather(self, rows: Tensor) -> Tensor:
        """The rows `[n, ...]` of all ranks in rank order; `n` differs between ranks and may be 0."""
        ...

    def numbers(self, rows: Tensor) -> Tensor:
        """The numbers that own rows `rows` `[n]` have among the rows of all ranks, int64."""
        ...

    def refresh(self, z: Tensor) -> Tensor:
        """`z` `[own + halo, ...]` with the halo's rows as their owners have them; `z` may be overwritten."""
        ...


class Alone:
    """One process: gives back what it gets."""

    rank, size = 0, 1
    own: int | None = None

    def sum(self, x: Tensor) -> Tensor:
        return x

    def minimum(self, x: Tensor) -> Tensor:
        return x

    def gather(self, rows: Tensor) -> Tensor:
        return rows

    def numbers(self, rows: Tensor) -> Tensor:
        return rows

    def refresh(self, z: Tensor) -> Tensor:
        return z


ALONE = Alone()


def total(group: Group, value: float, device: torch.device) -> float:
    """The sum of a number over ranks."""
    if group.size == 1:
        return value
    return group.sum(torch.tensor(value, dtype=torch.float64, device=device)).item()


class Roll:
    """Nodes of all ranks in one order, that of their numbers, from which every rank draws the same batches.

    Args:
        nodes: This rank's part of them, as own rows `[n]`; in one process their order stays.

    Attributes:
        count: How many there are on all ranks.
    """

    def __init__(self, nodes: Tensor, group: Group) -> None:
        self.nodes, self.group = nodes, group
        self.count = nodes.numel()
        if group.size > 1:
            order = group.gather(group.numbers(nodes)).sort().values
            self.count = order.numel()
            self._rows = nodes.new_full((self.count,), -1)
            self._rows[torch.searchsorted(order, group.numbers(nodes))] = nodes

    def pick(self, places: Tensor) -> Tensor:
        """Own rows among the nodes at these places of the order."""
        if self.group.size == 1:
            return self.nodes[places]
        rows = self._rows[places]
        return rows[rows >= 0]


def in_order(group: Group, nodes: Tensor, *columns: Tensor) -> tuple[Tensor, ...]:
    """Columns `[n, ...]` of own rows `nodes` `[n]`, gathered from all ranks and put in the order of numbers."""
    if group.size == 1:
        return columns
    order = group.gather(group.numbers(nodes)).argsort()
    return tuple(group.gather(column)[order] for column in columns)
