"""What link prediction and edge classification share: a split of node pairs that keeps its answers to itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from bes.errors import InputError
from bes.files import save_npz
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse


@dataclass(frozen=True, eq=False, kw_only=True)
class PairSplit(ABC):
    """Training pairs, and held-out pairs whose classes only `reveal` and `score` know.

    Args:
        graph: The message graph: all that encoders, shapers and decoders see of structure while they
            are trained. It carries no labels, no masks and no held-out edges.
        name: What records call the split.
        n_classes: Classes of a pair; two classes have one logit.
    """

    graph: Graph
    name: str
    n_classes: int = 2

    @property
    def n_logits(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know about the split."""
        return []

    @property
    def test_graph(self) -> Graph:
        """The message graph when test pairs are scored."""
        return self.graph

    def graph_of(self, part: str) -> Graph:
        """The message graph when the pairs of `part` are scored."""
        return self.graph if part == "val" else self.test_graph

    @property
    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """The held-out parts, `val` first."""

    @abstractmethod
    def pairs(self, part: str) -> Tensor:
        """The pairs of a held-out part `[2, P]`, in an order that does not tell their classes."""

    @abstractmethod
    def reveal(self, part: str) -> Tensor:
        """The classes of `pairs(part)` `[P]`: for scoring and reporting, never for fitting."""

    @abstractmethod
    def training_pairs(self, limit: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Pairs `[2, P]` and their classes `[P]` for one training step, from at most `limit` edges."""

    @abstractmethod
    def training_pairs_among(self, nodes: Tensor, limit: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """The same of pairs with both ends among `nodes` `[n]`, as places in `nodes`; there may be none."""

    @abstractmethod
    def quality(self, logits: Tensor, truth: Tensor) -> float:
        """What validation selects by: larger is better."""

    def score(self, logits: Tensor, part: str = "val") -> tuple[float, float]:
        """(quality, negative loss) of logits `[P, n_logits]` of `pairs(part)`."""
        truth = self.reveal(part)
        if not torch.isfinite(logits).all():
            raise InputError(f"Training on graph '{self.graph.name}' diverged: lower encoders.lr, or the method's.")
        return self.quality(logits, truth), -pair_loss(logits, truth).item()

    def with_columns(self, columns: Tensor) -> Self:
        """The same split with `columns` `[N, K]` beside the nodes' features."""
        return replace(self, graph=replace(self.graph, x=beside(self.graph.x, columns)))

    @abstractmethod
    def to(self, device: torch.device | str) -> Self: ...

    @abstractmethod
    def held(self) -> dict[str, Tensor]:
        """The pairs `[2, P]` of every part, as files keep them."""

    def arrays(self) -> dict[str, np.ndarray]:
        """What `save` writes: every pair of the split, and its name."""
        pairs = {key: tensor.cpu().numpy() for key, tensor in self.held().items()}
        return {**pairs, "name": np.array(self.name)}

    def save(self, path: Path) -> None:
        """Every pair of the split and its name as `.npz`."""
        save_npz(path, self.arrays())


def at_most(columns: Tensor, limit: int, rng: torch.Generator) -> Tensor:
    """`columns` `[..., P]`, or a random `limit` of them where there are more."""
    count = columns.shape[-1]
    if count <= limit:
        return columns
    return columns[..., torch.randperm(count, generator=rng, device=rng.device)[:limit].to(columns.device)]


def among(pairs: Tensor, nodes: Tensor, n_nodes: int) -> tuple[Tensor, Tensor]:
    """The pairs `[2, P']` with both ends among `nodes`, as places in `nodes`, and which of `pairs` they are `[P']`."""
    place = torch.full((n_nodes,), -1, device=pairs.device)
    place[nodes] = torch.arange(nodes.numel(), device=pairs.device)
    found = place[pairs]
    inside = (found >= 0).all(0).nonzero().flatten()
    return found[:, inside], inside


def check_fractions(train: float, val: float) -> None:
    """Refuse shares of a random split that leave one of its three parts empty, or that are no numbers."""
    if not (train > 0 and val > 0 and train + val < 1):
        raise InputError(
            f"The split fractions train={train:g} and val={val:g} do not fit: both lie above 0, and together below 1."
        )


def pair_loss(logits: Tensor, truth: Tensor) -> Tensor:
    """Cross-entropy of logits `[P, 1]` (two classes) or `[P, C]` against classes `[P]`."""
    if logits.shape[1] == 1:
        return F.binary_cross_entropy_with_logits(logits[:, 0], truth.to(logits.dtype))
    return F.cross_entropy(logits, truth)


def pair_prob(logits: Tensor) -> Tensor:
    """Probability of each class `[P, C]` from logits `[P, 1]` (two classes) or `[P, C]`."""
    if logits.shape[1] == 1:
        link = logits.sigmoid()
        return torch.cat([1 - link, link], dim=1)
    return logits.softmax(1)


def beside(x: Tensor | Sparse, columns: Tensor) -> Tensor | Sparse:
    """Features with more columns to their right, sparse if they were."""
    if not isinstance(x, Sparse):
        return torch.cat([x, columns.to(x)], dim=1)
    row, col, value = x.coo()
    columns = columns.to(value)
    more_row, more_col = columns.nonzero(as_tuple=True)
    rows, cols = torch.cat([row, more_row]), torch.cat([col, more_col + x.shape[1]])
    values = torch.cat([value, columns[more_row, more_col]])
    order = torch.sort(rows, stable=True).indices
    return Sparse.from_coo(rows[order], cols[order], values[order], (x.shape[0], x.shape[1] + columns.shape[1]))
