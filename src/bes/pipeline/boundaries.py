"""What the boundary is when pairs are predicted: between node classes, between clusters, or among the pairs.

`classes`: nodes are shaped as for node classification, by the classes of the training nodes. Links mostly join
alike nodes, so a node between two classes is one whose links are hard to tell. Every network of such a run
gets the same labels, as feature columns.

`clusters`: the same without labels. k-means in embedding space names the classes, of all nodes, and shaping
sharpens the border between communities.

`pairs`: the pair embeddings z_u * z_v themselves are shaped, with the classes of the training pairs (link or no
link, or the class of the edge). Boundary pairs are the hard ones: those among pairs of another class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bes import seeding
from bes.config import RunConfig
from bes.core.shaper import BoundaryShaper
from bes.graph.pairs import PairSplit
from bes.models.kmeans import kmeans
from bes.models.pairs import Shape, products
from bes.models.shaping import fit_quietly
from bes.pipeline.results import make_shaper, shaped_rows
from bes.progress import Step
from bes.tasks.mixed import mixed
from bes.tasks.node import BOUNDARY_NEIGHBORS


@dataclass(frozen=True)
class Material:
    """What a mode shapes: embeddings `[R, D]`, a class each, -1 where unknown; rows are nodes, or `pairs` `[2, R]`."""

    mode: str
    z: Tensor
    labels: Tensor
    pairs: Tensor | None = None


@dataclass(frozen=True)
class Shaped:
    """The outcome: node embeddings for training and for test, and the map of pair embeddings if that was shaped."""

    shaper: BoundaryShaper | None
    z: Tensor
    z_test: Tensor
    shape: Shape | None
    notes: list[str]
    rows: dict[str, np.ndarray]


def material(mode: str, config: RunConfig, seed: int, split: PairSplit, z: Tensor, labels: Tensor | None) -> Material:
    """The rows that `mode` shapes, from embeddings `z` `[N, D]` of the message graph.

    Args:
        labels: Classes of the training nodes `[N]`, -1 elsewhere; for `classes`.
    """
    if mode == "classes":
        assert labels is not None
        return Material(mode, z, labels)
    if mode == "clusters":
        return Material(mode, z, kmeans(z, min(config.links.n_clusters, z.shape[0]), seed=seed))
    rng = seeding.generator(seed, "negatives", "shaping", device=z.device)
    limit = config.links.shaping_pairs // (2 if config.task == "link" else 1)  # links bring as many negatives
    pairs, classes = split.training_pairs(limit, rng)
    return Material(mode, products(z, pairs), classes, pairs)


def shape(
    found: Material,
    config: RunConfig,
    seed: int,
    split: PairSplit,
    z: Tensor,
    z_test: Tensor,
    callbacks: Sequence[Step] = (),
) -> Shaped:
    """Fit a shaper on the rows and apply it to whatever will be decoded."""
    shaper = make_shaper(config, seed)
    if found.mode == "pairs":
        notes = fit_quietly(shaper, found.z, found.labels, None, callbacks)
        _, rows = shaped_rows(shaper, found.z, None)
        moved, moved_test, by = z, z_test, shaper.transform
    else:
        edges = split.graph.edge_index
        notes = fit_quietly(shaper, z, found.labels, edges, callbacks)
        moved, rows = shaped_rows(shaper, z, edges)
        moved_test = moved if z_test is z else shaper.transform(z_test, split.test_graph.edge_index)
        by = None
    rows["label"] = found.labels.cpu().numpy()
    if found.pairs is not None:
        rows["pair"] = found.pairs.T.cpu().numpy()
    return Shaped(shaper, moved, moved_test, by, notes, rows)


def at_boundary(found: Material, z: Tensor, pairs: Tensor) -> Tensor:
    """Which of `pairs` `[2, P]` lie at the boundary of the unshaped embeddings `z`, bool `[P]`.

    A pair counts when the nearest labelled rows disagree: those of the pair itself under `pairs`, of either
    end otherwise. The pair's own class takes no part, and all arms are scored on the same pairs.
    """
    known = (found.labels >= 0).nonzero().flatten()
    if found.mode == "pairs":
        return mixed(products(z, pairs), found.z[known], found.labels[known], BOUNDARY_NEIGHBORS)
    ends, place = torch.unique(pairs, return_inverse=True)
    return mixed(z[ends], z[known], found.labels[known], BOUNDARY_NEIGHBORS)[place].any(0)
