"""What a layer is trained for: the gravity loss of boundary nodes, and its gradient by their embeddings."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from bes.core import gravity, similarity
from bes.core.group import ALONE, Group, in_order
from bes.core.rows import Rows


class Objective(Protocol):
    """The loss of a batch of boundary nodes at their shaped embeddings `[B, D]`."""

    def loss(self, shaped: Tensor, batch: Tensor) -> Tensor: ...

    def count(self, batch: Tensor) -> int:
        """How many nodes the loss of `batch` is the mean of."""
        ...

    def pull(self, shaped: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        """The loss and its gradient by `shaped`."""
        ...


class CenterObjective:
    """Eq. 9 and 10: gravity to class centres that stay where they were.

    Args:
        labels: Classes of all nodes `[N]`.
        means: Class centres `[C, D]`.
        present: Classes that have a centre `[C]`.
        radius: Hinge of each class `[C]`, or None for the nearest rival.
    """

    def __init__(
        self,
        labels: Tensor,
        means: Tensor,
        present: Tensor,
        radius: Tensor | None,
        tau: float,
        denominator: gravity.Denominator,
    ) -> None:
        self.labels, self.present, self.radius = labels, present, radius
        self.origin = means[present].mean(0)  # gravity knows distances only, and is most exact here
        self.means = means - self.origin
        self.tau, self.denominator = tau, denominator
        self._batch: Tensor | None = None

    def count(self, batch: Tensor) -> int:
        return batch.numel()

    def loss(self, shaped: Tensor, batch: Tensor) -> Tensor:
        y, excluded = self._classes(batch)
        return gravity.center_loss(
            shaped - self.origin, y, self.means, excluded, self.radius, self.tau, self.denominator
        )

    def pull(self, shaped: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        y, excluded = self._classes(batch)
        return gravity.center_pull(
            shaped - self.origin, y, self.means, excluded, self.radius, self.tau, self.denominator
        )

    def _classes(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """Looked up once a batch: a full batch is the same one in every iteration."""
        if batch is not self._batch:
            self._batch, self._y = batch, self.labels[batch]
            self._excluded = similarity.excluded(self._y, self.present)
        return self._y, self._excluded


class PairwiseObjective:
    """Eq. 6 and 7: gravity to every labelled node, which stays where it was.

    Args:
        labels: Classes of own nodes `[N]`, -1 where unknown.
        z: Their embeddings before the layer `[N, D]`.
        group: Labelled nodes of all its ranks pull and push.
    """

    def __init__(
        self, labels: Tensor, z: Rows, tau: float, denominator: gravity.Denominator, group: Group = ALONE
    ) -> None:
        known = (labels >= 0).nonzero().flatten()
        self.labels, self.group = labels, group
        self.known, self.others, self.y_others = in_order(group, known, group.numbers(known), z[known], labels[known])
        self.tau, self.denominator = tau, denominator

    def count(self, batch: Tensor) -> int:
        members = torch.bincount(self.y_others)
        return int((members[self.labels[batch]] > 1).sum())

    def loss(self, shaped: Tensor, batch: Tensor) -> Tensor:
        place = torch.searchsorted(self.known, self.group.numbers(batch))
        y = self.labels[batch]
        return gravity.pairwise_loss(shaped, y, place, self.others, self.y_others, self.tau, self.denominator)

    def pull(self, shaped: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            leaf = shaped.detach().requires_grad_()
            value = self.loss(leaf, batch)
        return value.detach(), torch.autograd.grad(value, leaf)[0]
