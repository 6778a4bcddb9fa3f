"""Node classification: its split, its metrics, and the guard of the test part."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit
from bes.metrics import Metrics, classification
from bes.models.decoders import Decoder
from bes.tasks.guard import Guard
from bes.tasks.mixed import mixed

#: Neighbours that decide whether a test node counts as a boundary node.
BOUNDARY_NEIGHBORS = 5


class NodeTask:
    """Scores each arm of a run, once.

    Args:
        split: Who is tested.
        z: The unshaped embeddings `[N, D]`: they decide which test nodes lie at the boundary, so
            that all arms are scored on the same ones. Without them nothing is said of the boundary.
    """

    def __init__(self, split: NodeSplit, z: Tensor | None) -> None:
        self.split = split
        self.test_boundary: np.ndarray | None = None
        if z is not None:
            found = mixed(z[split.test], z[split.train], split.train_labels, BOUNDARY_NEIGHBORS)
            self.test_boundary = found.cpu().numpy()
        self._guard = Guard()

    def evaluate(self, arm: str, prob: Tensor) -> dict[str, Metrics]:
        """Metrics of class probabilities `[N, C]` by part: val, test, and test_boundary where it is known.

        `test_boundary` are the test nodes whose five nearest training nodes in the unshaped
        embedding do not all have one class: told without looking at the node's own label.
        """
        self._guard.open(arm)
        return score(self.split, prob, self.test_boundary)


def score(split: NodeSplit, prob: Tensor, test_boundary: np.ndarray | None = None) -> dict[str, Metrics]:
    """Metrics of class probabilities `[N, C]` on validation and test."""
    result = {}
    for part in ("val", "test"):
        truth = split.reveal(part).cpu().numpy()
        result[part] = classification(truth, prob[split.nodes(part)].cpu().numpy())
    if test_boundary is not None:
        result["test_boundary"] = classification(
            split.reveal("test").cpu().numpy()[test_boundary], prob[split.test].cpu().numpy()[test_boundary]
        )
    return result


def evaluate(decoder: Decoder, graph: Graph, z: Any, split: NodeSplit) -> dict[str, Metrics]:
    """Validation and test metrics of a fitted decoder on embeddings `z` `[N, D]`.

    It opens the test part: call it once, when everything is chosen.
    """
    return score(split, decoder.predict_proba(graph, z))


def check_labels(graph: Graph, split: NodeSplit, *, allow_missing: bool) -> None:
    """Refuse what cannot be learned from: fewer than two training classes, or a class without any."""
    if torch.unique(split.train_labels).numel() < 2:
        raise InputError(
            f"The training part of graph '{graph.name}' under split '{split.name}' holds one class only: "
            "classification needs two or more."
        )
    missing = split.missing_classes()
    if missing and not allow_missing:
        names = ", ".join(graph.class_names[c] for c in missing)
        raise InputError(
            f"Class {names} of graph '{graph.name}' has no training node under split '{split.name}': "
            "use --split random, or --set allow_missing_classes=true to go on without it."
        )
    if split.val.numel() == 0:
        raise InputError(
            f"Split '{split.name}' of graph '{graph.name}' has no validation node to select on: "
            "label more nodes, or use another split."
        )
