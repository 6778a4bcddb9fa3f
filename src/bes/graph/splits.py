"""Who is trained on, who selects and who is tested: splits that keep the other labels to themselves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from bes import seeding
from bes.errors import InputError
from bes.files import save_npz
from bes.graph.arrays import load_arrays
from bes.graph.graph import Graph

Part = Literal["train", "val", "test"]

#: What a part counts when it selects: its nodes alike, or its classes alike, however many nodes each has.
Scoring = Literal["accuracy", "balanced_accuracy"]
Labels = TypeVar("Labels", Tensor, "np.ndarray[tuple[int], np.dtype[np.integer]]")


@dataclass(frozen=True, eq=False)
class NodeSplit:
    """Training, validation and test nodes (sorted indices), and the labels behind them.

    Labels outside train never leave by a plain attribute: `mask_labels` and `train_labels` give the
    training ones, `score` compares outputs with a part, and `reveal` hands out a part's labels to
    whoever asks for exactly that.

    Attributes:
        scoring: What `score` counts, and so what epochs, settings and teachers are chosen by.
    """

    train: Tensor
    val: Tensor
    test: Tensor
    name: str
    n_classes: int
    _labels: Tensor = field(repr=False)
    scoring: Scoring = "accuracy"

    def nodes(self, part: Part) -> Tensor:
        return {"train": self.train, "val": self.val, "test": self.test}[part]

    def mask_labels(self, y: Labels) -> Labels:
        """`y` `[N]` with -1 outside train, as the same kind of array."""
        if len(y) != len(self._labels):
            raise InputError(f"The labels given have length {len(y)}, but the split has {len(self._labels)} nodes.")
        if isinstance(y, Tensor):
            masked = torch.full_like(y, -1)
            masked[self.train.to(y.device)] = y[self.train.to(y.device)]
            return masked
        out = np.full_like(y, -1)
        out[self.train.cpu().numpy()] = y[self.train.cpu().numpy()]
        return out

    @property
    def train_labels(self) -> Tensor:
        """Classes of the training nodes, in the order of `train`."""
        return self._labels[self.train]

    def reveal(self, part: Part) -> Tensor:
        """Classes of the nodes of `part`: for scoring and reporting, never for fitting."""
        return self._labels[self.nodes(part)]

    def score(self, logits: Tensor, part: Part = "val") -> tuple[float, float]:
        """(accuracy, negative cross-entropy) of `logits` `[N, C]` on `part`, nodes counting as `scoring` says."""
        node = self.nodes(part)
        if node.numel() == 0:
            return 0.0, 0.0
        label, right = self._labels[node], self._right(logits, part)
        if self.scoring == "accuracy":
            return right.float().mean().item(), -F.cross_entropy(logits[node], label).item()
        size = self._sizes(part)  # whole numbers until the division: what ties is a tie
        found = torch.bincount(label[right], minlength=self.n_classes).double() / size
        loss = F.cross_entropy(logits[node].double(), label, 1 / size.clamp_min(1))
        return found[size > 0].mean().item(), -loss.item()

    def hits(self, logits: Tensor, part: Part = "val") -> Tensor:
        """Which nodes of `part` are right by `logits` `[N, C]`, `[n]`: the mean is the accuracy that `scoring` names.

        Bool, or where classes count alike what each right node is worth.
        """
        right = self._right(logits, part)
        if self.scoring == "accuracy":
            return right
        size = self._sizes(part)
        return right * (right.numel() / ((size > 0).sum() * size.clamp_min(1)))[self._labels[self.nodes(part)]]

    def n_effective(self, part: Part = "val") -> float:
        """Nodes of `part`, or where classes count alike how many equal ones would tell their accuracy as surely."""
        if self.scoring == "accuracy":
            return float(self.nodes(part).numel())
        size = self._sizes(part)
        present = size[size > 0]
        return (present.numel() ** 2 / (1 / present).sum()).item() if present.numel() else 0.0

    def _right(self, logits: Tensor, part: Part) -> Tensor:
        node = self.nodes(part)
        return logits[node].argmax(1) == self._labels[node]

    def _sizes(self, part: Part) -> Tensor:
        """Nodes of each class in `part` `[C]`."""
        return torch.bincount(self._labels[self.nodes(part)], minlength=self.n_classes).double()

    def missing_classes(self) -> list[int]:
        """Classes that some labelled node has and no training node has."""
        seen = torch.bincount(self.train_labels, minlength=self.n_classes) > 0
        exists = torch.bincount(self._labels[self._labels >= 0], minlength=self.n_classes) > 0
        return (exists & ~seen).nonzero().flatten().tolist()

    def to(self, device: torch.device | str) -> NodeSplit:
        train, val, test = self.train.to(device), self.val.to(device), self.test.to(device)
        return replace(self, train=train, val=val, test=test, _labels=self._labels.to(device))

    def arrays(self) -> dict[str, np.ndarray]:
        """What `save` writes: the three index arrays and the name; labels stay with the graph."""
        parts = {"train": self.train, "val": self.val, "test": self.test}
        return {**{part: nodes.cpu().numpy() for part, nodes in parts.items()}, "name": np.array(self.name)}

    def save(self, path: Path) -> None:
        """The three index arrays and the name as `.npz`."""
        save_npz(path, self.arrays())

    @classmethod
    def load(cls, path: Path, graph: Graph, scoring: Scoring = "accuracy") -> NodeSplit:
        """A split that `save` wrote, over the labels of `graph`; how it scores is not kept."""
        arrays = load_arrays(path)
        parts = []
        for key in ("train", "val", "test"):
            nodes = arrays.get(key)
            if nodes is None or nodes.dtype.kind not in "iu" or nodes.ndim != 1:
                raise InputError(f"The split file {path} has no integer array '{key}': use one that a run has saved.")
            if nodes.size and not 0 <= nodes.min() <= nodes.max() < graph.n_nodes:
                raise InputError(f"The split file {path} names nodes outside graph '{graph.name}': use its own split.")
            parts.append(torch.from_numpy(nodes.astype(np.int64)))
        return _split(graph, parts[0], parts[1], parts[2], str(arrays.get("name", "saved")), scoring)


def others(nodes: Tensor, n: int) -> Tensor:
    """Every node of `n` but `nodes`, sorted."""
    mask = torch.ones(n, dtype=torch.bool, device=nodes.device)
    mask[nodes] = False
    return mask.nonzero().flatten()


def split_nodes(
    graph: Graph,
    train: float = 0.6,
    val: float = 0.2,
    seed: int = 0,
    *,
    stratify: bool = True,
    scoring: Scoring = "accuracy",
) -> NodeSplit:
    """A random split of the labelled nodes; the rest is test.

    Args:
        stratify: Keep the class proportions, and at least one training node for each class.
            Otherwise nodes are drawn regardless of class, and a rare class may miss train.
        scoring: What validation selects by: `accuracy`, or `balanced_accuracy`, the mean over classes of the share that
            is right, for classes of very different sizes.
    """
    if not (0 < train < 1 and 0 <= val < 1 and train + val <= 1):
        raise InputError(
            f"The split fractions train={train} and val={val} do not fit: train lies between 0 and 1, val is not "
            "negative, and together they are at most 1."
        )
    y = graph.y.cpu()
    order = _shuffled(graph, seed)
    parts = cut_by_class(order, y if stratify else torch.zeros_like(y), train, val)
    return _split(graph, parts[0], parts[1], parts[2], "random" if stratify else "random:plain", scoring)


def cut_by_class(order: Tensor, y: Tensor, train: float, val: float) -> list[Tensor]:
    """The rows `order` in three parts, each class of `y` cut by the same shares, at least one of it for training."""
    cuts = []
    for c in y[order].unique().tolist():
        group = order[y[order] == c]
        n = group.numel()
        first = max(1, round(train * n))
        second = min(n, first + round(val * n))
        cuts.append((group[:first], group[first:second], group[second:]))
    return [torch.cat(part) for part in zip(*cuts, strict=True)]


def make_split(graph: Graph, spec: str = "random", seed: int = 0, scoring: Scoring = "accuracy") -> NodeSplit:
    """The split that `spec` names; `scoring` as in `split_nodes`.

    `random` (60/20/20 by class) · `random:plain` (regardless of class) · `low:K` (K labels a class,
    500 validation, rest test) · `public` (the Planetoid one) · `geom:K` (the K-th of ten; `geom`
    takes the seed's) · `mask` (the file's own; the seed chooses where it has several).
    """
    kind, _, argument = spec.partition(":")
    number = int(argument) if argument.isdecimal() else None
    if spec in ("random", "random:plain"):
        return split_nodes(graph, seed=seed, stratify=spec == "random", scoring=scoring)
    if kind == "low" and number:
        return _few_labels(graph, number, seed, scoring)
    if spec == "public" or (kind in ("geom", "mask") and (number is not None or spec == kind)):
        return _from_masks(graph, kind, number, seed, scoring)
    raise InputError(f"The split '{spec}' is not known: use random, random:plain, low:K, public, geom:K or mask.")


def _shuffled(graph: Graph, seed: int) -> Tensor:
    """The labelled nodes in the seed's order."""
    labelled = (graph.y.cpu() >= 0).nonzero().flatten()
    if labelled.numel() == 0:
        raise InputError(
            f"Graph '{graph.name}' has no labelled node to split: label some nodes, or name the column of "
            "their classes by --label."
        )
    return labelled[torch.randperm(labelled.numel(), generator=seeding.generator(seed, "split"))]


def _split(
    graph: Graph, train: Tensor, val: Tensor, test: Tensor, name: str, scoring: Scoring = "accuracy"
) -> NodeSplit:
    if scoring not in get_args(Scoring):
        raise InputError(f"scoring='{scoring}' is not known: use {' or '.join(get_args(Scoring))}.")
    if train.numel() == 0:
        raise InputError(f"Graph '{graph.name}' has no training label under split '{name}': label some nodes first.")
    every = torch.cat([train, val, test])
    if every.unique().numel() < every.numel():
        raise InputError(f"Split '{name}' of graph '{graph.name}' puts a node into two parts: make them disjoint.")
    train, val, test = (part.sort().values.to(graph.device) for part in (train, val, test))
    return NodeSplit(train, val, test, name, graph.n_classes, graph.y, scoring)


def _few_labels(graph: Graph, per_class: int, seed: int, scoring: Scoring) -> NodeSplit:
    y = graph.y.cpu()
    order = _shuffled(graph, seed)
    train = torch.cat([order[y[order] == c][:per_class] for c in y[order].unique().tolist()])
    rest = order[~torch.isin(order, train)]
    n_val = min(500, rest.numel() // 2)  # small graphs: half of the rest, so that a test part remains
    return _split(graph, train, rest[:n_val], rest[n_val:], f"low:{per_class}", scoring)


def _from_masks(graph: Graph, kind: str, column: int | None, seed: int, scoring: Scoring) -> NodeSplit:
    """The masks that `kind` names; of several columns the one asked for, else the seed's."""
    prefix = "geom_" if kind == "geom" else ""
    masks = [graph.masks.get(f"{prefix}{part}_mask") for part in ("train", "val", "test")]
    found = [mask.cpu() for mask in masks if mask is not None]
    width = max((mask.shape[1] for mask in found if mask.dim() == 2), default=0)
    if len(found) < 3 or (kind == "public" and width):
        raise InputError(f"Graph '{graph.name}' has no masks for split '{kind}': use {_usable(graph)}.")
    last = max(width, 1) - 1
    if column is not None and column > last:
        raise InputError(f"Graph '{graph.name}' has no split '{kind}:{column}': use {kind}:0 to {kind}:{last}.")
    chosen = (seed if column is None else column) % (last + 1)
    known = graph.y.cpu() >= 0
    parts = [((mask[:, chosen] if mask.dim() == 2 else mask) & known).nonzero().flatten() for mask in found]
    return _split(graph, parts[0], parts[1], parts[2], f"{kind}:{chosen}" if width else kind, scoring)


def _usable(graph: Graph) -> str:
    """The splits that `graph` does have, for a message."""
    if graph.names is not None and "test_mask" not in graph.masks:
        return "random, or name the column with the words train, val and test by --split-column"
    own = [kind for kind, key in (("mask", "test_mask"), ("geom:K", "geom_test_mask")) if key in graph.masks]
    return " or ".join([*own, "random"])
