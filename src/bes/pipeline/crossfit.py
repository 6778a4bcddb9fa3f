"""Embeddings of training nodes by encoders that did not see their labels.

Encoders fit their training nodes, so that near the boundary these do not lie where test nodes do. With `crossfit=K` the
training nodes are dealt into K folds, encoders are trained on all but one in turn, and the rows of the fold come from
those: a shaper that is fitted on them learns from nodes as it will meet them.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bes import seeding
from bes.checkpoint import make_encoders
from bes.config import RunConfig
from bes.graph.splits import NodeSplit
from bes.pipeline.start import Start


def out_of_fold(config: RunConfig, start: Start, seed: int) -> Tensor:
    """The embeddings that a run starts with `[N, D]`, the rows of training nodes out of fold.

    Encoders of a fold start from the same weights as those of `z`; what still differs is turned onto `z`, view by view,
    by the rotation or reflection that brings the rows of all other nodes nearest.
    """
    graph, split, z, width = start.graph, start.split, start.z, config.encoders.channels
    names = tuple(one.name for one in start.encoders.encoders_)
    kept = config.model_copy(update={"encoders": config.encoders.model_copy(update={"names": names, "keep": 0})})
    result = z.clone()
    for fold in folds(split, config.crossfit, seeding.generator(seed, "crossfit", device=z.device)):
        rest = split.train[~torch.isin(split.train, fold)]
        fitted = make_encoders(kept, seed).fit(graph, replace(split, train=rest), parts=start.parts)
        other = fitted.transform(graph, start.parts)
        apart = torch.ones(len(z), dtype=torch.bool, device=z.device)
        apart[fold] = False
        for first in range(0, z.shape[1], width):
            view = slice(first, first + width)
            result[fold, view] = other[fold, view] @ rotation(other[apart, view], z[apart, view])
    return result


def folds(split: NodeSplit, k: int, rng: torch.Generator) -> list[Tensor]:
    """The training nodes in `k` parts, each class dealt evenly; a class with one node alone is in none."""
    order = torch.randperm(split.train.numel(), generator=rng, device=split.train.device)
    label = split.train_labels[order]
    by_class = torch.argsort(label, stable=True)
    label, nodes = label[by_class], split.train[order[by_class]]
    size = torch.bincount(label, minlength=split.n_classes)
    place = torch.arange(len(label), device=label.device) - (size.cumsum(0) - size)[label]
    several = size[label] > 1  # or its class would have no training node
    found = [nodes[several & (place % k == part)] for part in range(k)]
    return [fold for fold in found if fold.numel()]


def rotation(a: Tensor, b: Tensor) -> Tensor:
    """The orthogonal matrix R for which a R is nearest to b (Procrustes)."""
    u, _, v = torch.linalg.svd(a.T.double() @ b.double(), full_matrices=False)
    turned: Tensor = (u @ v).to(a)
    return turned
