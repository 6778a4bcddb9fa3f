"""Who is trained on, who selects and who is tested: splits that keep the other labels to themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph

Part = Literal["train", "val", "test"]
Labels = TypeVar("Labels", Tensor, "np.ndarray[tuple[int], np.dtype[np.integer]]")


@dataclass(frozen=True, eq=False)
class NodeSplit:
    """Training, validation and test nodes (sorted indices), and the labels behind them.

    Labels outside train never leave by a plain attribute: `mask_labels` and `train_labels` give the
    training ones, `score` compares outputs with a part, and `reveal` hands out a part's labels to
    whoever asks for exactly that.
    """

    train: Tensor
    val: Tensor
    test: Tensor
    name: str
    n_classes: int
    _labels: Tensor = field(repr=False)

    def nodes(self, part: Part) -> Tensor:
        return {"train": self.train, "val": self.val, "test": self.test}[part]

    def mask_labels(self, y: Labels) -> Labels:
        """`y` with -1 outside train, as the same kind of array."""
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
        """(accuracy, negative cross-entropy) of `logits` `[N, C]` on `part`."""
        node = self.nodes(part)
        if node.numel() == 0:
            return 0.0, 0.0
        truth, out = self._labels[node], logits[node]
        accuracy = (out.argmax(1) == truth).float().mean()
        return accuracy.item(), -F.cross_entropy(out, truth).item()

    def missing_classes(self) -> list[int]:
        """Classes that some labelled node has and no training node has."""
        seen = torch.bincount(self.train_labels, minlength=self.n_classes) > 0
        exists = torch.bincount(self._labels[self._labels >= 0], minlength=self.n_classes) > 0
        return (exists & ~seen).nonzero().flatten().tolist()

    def to(self, device: torch.device | str) -> NodeSplit:
        parts = (part.to(device) for part in (self.train, self.val, self.test))
        return NodeSplit(*parts, self.name, self.n_classes, self._labels.to(device))

    def save(self, path: Path) -> None:
        """The three index arrays as `.npz`; labels stay with the graph."""
        arrays = {part: self.nodes(part).cpu().numpy() for part in ("train", "val", "test")}
        np.savez_compressed(path, **arrays)


def split_nodes(
    graph: Graph, train: float = 0.6, val: float = 0.2, seed: int = 0, *, stratify: bool = True
) -> NodeSplit:
    """A random split of the labelled nodes; the rest is test.

    Args:
        stratify: Keep the class proportions, and at least one training node for each class.
            Otherwise nodes are drawn regardless of class, and a rare class may miss train.
    """
    if not (0 < train < 1 and 0 <= val < 1 and train + val <= 1):
        raise InputError(f"The split fractions train={train} and val={val} must be positive and sum to at most 1.")
    rng = seeding.generator(seed, "split")
    y = graph.y.cpu()
    labelled = (y >= 0).nonzero().flatten()
    order = labelled[torch.randperm(labelled.numel(), generator=rng)]
    groups = [order[y[order] == c] for c in y[labelled].unique().tolist()] if stratify else [order]
    parts: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
    for group in groups:
        n = group.numel()
        first = max(1, round(train * n))
        second = min(n, first + round(val * n))
        for part, nodes in zip(parts, (group[:first], group[first:second], group[second:]), strict=True):
            part.append(nodes)
    name = "random" if stratify else "random:plain"
    return _split(graph, *(torch.cat(part) for part in parts), name)


def make_split(graph: Graph, spec: str = "random", seed: int = 0) -> NodeSplit:
    """The split that `spec` names.

    `random` (60/20/20 by class) · `random:plain` (regardless of class) · `low:K` (K labels a class,
    500 validation, rest test) · `public` (the Planetoid one) · `geom:K` (the K-th of ten; `geom`
    takes the seed's) · `mask` (the file's own; the seed chooses where it has several).
    """
    kind, _, argument = spec.partition(":")
    if spec in ("random", "random:plain"):
        return split_nodes(graph, seed=seed, stratify=spec == "random")
    if kind == "low" and argument.isdigit() and int(argument) > 0:
        return _few_labels(graph, int(argument), seed)
    if spec == "public":
        return _from_masks(graph, "", spec, None)
    if kind in ("geom", "mask") and (argument.isdigit() or not argument):
        prefix = "geom_" if kind == "geom" else ""
        return _from_masks(graph, prefix, spec, int(argument) if argument else seed, wrap=not argument)
    raise InputError(f"The split '{spec}' is not known: use random, random:plain, low:K, public, geom:K or mask.")


def _split(graph: Graph, train: Tensor, val: Tensor, test: Tensor, name: str) -> NodeSplit:
    if train.numel() == 0:
        raise InputError(f"Graph '{graph.name}' has no training label under split '{name}': label some nodes first.")
    device = graph.device
    parts = (part.sort().values.to(device) for part in (train, val, test))
    return NodeSplit(*parts, name, graph.n_classes, graph.y)


def _few_labels(graph: Graph, per_class: int, seed: int) -> NodeSplit:
    y = graph.y.cpu()
    labelled = (y >= 0).nonzero().flatten()
    order = labelled[torch.randperm(labelled.numel(), generator=seeding.generator(seed, "split"))]
    train = torch.cat([order[y[order] == c][:per_class] for c in y[labelled].unique().tolist()])
    rest = order[~torch.isin(order, train)]
    n_val = min(500, rest.numel() // 2)  # small graphs: half of the rest, so that a test part remains
    return _split(graph, train, rest[:n_val], rest[n_val:], f"low:{per_class}")


def _from_masks(graph: Graph, prefix: str, spec: str, column: int | None, *, wrap: bool = False) -> NodeSplit:
    keys = [f"{prefix}{part}_mask" for part in ("train", "val", "test")]
    if any(key not in graph.masks for key in keys):
        raise InputError(f"Graph '{graph.name}' has no masks for split '{spec}': use --split random.")
    parts = []
    for key in keys:
        mask = graph.masks[key].bool().cpu()
        if mask.dim() == 2:
            if column is None:
                raise InputError(f"Graph '{graph.name}' has several splits and no public one: use mask or mask:K.")
            if column >= mask.shape[1] and not wrap:
                raise InputError(
                    f"Split '{spec}' asks for column {column}, but graph '{graph.name}' has "
                    f"{mask.shape[1]}: use 0 to {mask.shape[1] - 1}."
                )
            mask = mask[:, column % mask.shape[1]]
        parts.append((mask & (graph.y.cpu() >= 0)).nonzero().flatten())
    return _split(graph, *parts, spec)
