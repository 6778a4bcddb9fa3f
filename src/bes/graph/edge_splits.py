"""EdgeSplit: edges are known to all, their classes are what is predicted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.pairs import PairSplit, among, at_most, check_fractions
from bes.graph.splits import cut_by_class


@dataclass(frozen=True, eq=False, kw_only=True)
class EdgeSplit(PairSplit):
    """Labelled edges in three parts, each undirected edge in one; classes outside train stay in here.

    Args:
        edges: The labelled edges `[2, E]`, smaller node first.
        train, val, test: Indices into `edges`.
        derived: Whether the classes say "same class" and "different class" of the nodes, so that node
            classes would give them away.
    """

    edges: Tensor
    train: Tensor
    val: Tensor
    test: Tensor
    derived: bool = False
    _labels: Tensor = field(repr=False)

    @property
    def parts(self) -> tuple[str, ...]:
        return ("val", "test")

    def _of(self, part: str) -> Tensor:
        return {"val": self.val, "test": self.test}[part]

    def pairs(self, part: str) -> Tensor:
        return self.edges[:, self._of(part)]

    def reveal(self, part: str) -> Tensor:
        return self._labels[self._of(part)]

    def training_pairs(self, limit: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """The training edges and their classes; a random `limit` of them where there are more."""
        chosen = at_most(self.train, limit, rng)
        return self.edges[:, chosen], self._labels[chosen]

    def training_pairs_among(self, nodes: Tensor, limit: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        found, inside = among(self.edges[:, self.train], nodes, self.graph.n_nodes)
        chosen = at_most(torch.arange(inside.numel(), device=inside.device), limit, rng)
        return found[:, chosen], self._labels[self.train[inside[chosen]]]

    def quality(self, logits: Tensor, truth: Tensor) -> float:
        """Accuracy."""
        guess = (logits[:, 0] > 0).long() if self.n_logits == 1 else logits.argmax(1)
        return (guess == truth).float().mean().item()

    def to(self, device: torch.device | str) -> EdgeSplit:
        if torch.device(device) == self.graph.device:
            return self
        moved = {key: getattr(self, key).to(device) for key in ("edges", "train", "val", "test", "_labels")}
        return replace(self, graph=self.graph.to(device), **moved)

    def held(self) -> dict[str, Tensor]:
        return {part: self.edges[:, getattr(self, part)] for part in ("train", "val", "test")}


def split_edges(graph: Graph, train: float = 0.6, val: float = 0.2, seed: int = 0) -> EdgeSplit:
    """A random split of the labelled edges by class, at least one training edge a class; the rest is test.

    A graph whose edges carry no labels gets "same class" (1) and "different class" (0) between nodes with
    known classes.
    """
    check_fractions(train, val)
    row, col = graph.edge_index.cpu()
    once = row < col
    edges = torch.stack([row[once], col[once]])
    labels, derived = _classes(graph, edges, once)
    edges, labels = edges[:, labels >= 0], labels[labels >= 0]
    order = torch.randperm(labels.numel(), generator=seeding.generator(seed, "edges"))
    classes = labels.unique().numel()
    if classes < 2:
        raise InputError(
            f"The edges of graph '{graph.name}' have {classes} known classes: edge classification needs two or more."
        )
    found = [part.sort().values.to(graph.device) for part in cut_by_class(order, labels, train, val)]
    parts = dict(zip(("train", "val", "test"), found, strict=True))
    if parts["val"].numel() == 0 or parts["test"].numel() == 0:
        raise InputError(f"Graph '{graph.name}' has {labels.numel()} labelled edges, too few to validate and to test.")
    return EdgeSplit(
        graph=graph.without_labels(),
        name="random",
        n_classes=int(labels.max()) + 1,
        edges=edges.to(graph.device),
        derived=derived,
        _labels=labels.to(graph.device),
        **parts,
    )


def _classes(graph: Graph, edges: Tensor, once: Tensor) -> tuple[Tensor, bool]:
    """The class of each of `edges` `[E]`, -1 where unknown, and whether it comes from the nodes' classes."""
    if graph.edge_label is not None:
        return graph.edge_label.cpu()[once], False
    ends = graph.y.cpu()[edges]
    if not (ends >= 0).all(0).any():
        raise InputError(
            f"Graph '{graph.name}' has neither edge labels nor edges between labelled nodes: "
            "name the column of their classes by --edge-label, save 'edge_label' with the edges, or label the nodes."
        )
    same = (ends[0] == ends[1]).long()
    return torch.where((ends >= 0).all(0), same, -1), True
