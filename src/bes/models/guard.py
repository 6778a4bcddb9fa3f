"""Whether shaping is to be believed: how many of its epochs were better on validation than the beginning.

The best of many epochs looks better on validation than it is. So does the beginning, whose epochs were chosen on the
same nodes: taking the luck from one side alone would refuse gains that are there. A single lucky epoch is no evidence
for either, nor is a single node; many epochs that are better than the best of the encoders are.
"""

from __future__ import annotations

import math

from torch import Tensor

#: Nodes that must be right beyond those of the beginning: on a part of forty, one is two and a half points.
NODES = 2

#: Sums of weights that differ by less are the same.
ROUNDING = 1e-3


def share_better(hits: Tensor) -> float:
    """The share of epochs in which at least two validation nodes more were right than at the beginning.

    Args:
        hits: What `NodeSplit.hits` gave, `[1 + epochs, n]`, the first row before any epoch. Where classes count alike,
            two nodes of the usual weight, and more than any single one weighs.
    """
    if len(hits) < 2 or not hits.numel():
        return 0.0
    hits = hits.double()
    right, heaviest = hits.sum(1), hits.max().item()
    asked = max(NODES - ROUNDING, heaviest + ROUNDING)
    return (right[1:] >= right[0] + asked).float().mean().item()


def mean_gain(hits: Tensor) -> tuple[float, float]:
    """What an epoch gains over the beginning in the mean of all, and its standard error over the nodes.

    In accuracy, as the split counts it.
    """
    epochs, n = len(hits) - 1, hits.shape[1]
    if epochs < 1 or n < 2:
        return 0.0, 0.0
    gain = hits[1:].float().mean(0) - hits[0].float()
    return gain.mean().item(), gain.std().item() / math.sqrt(n)
