"""What a choice on validation is worth: the gain of nodes that had no part in choosing.

The best of many epochs looks better on validation than it is. Here each fold of the validation nodes gets the epoch
that the other folds like best, and is compared with the beginning under that: of this the mean has no optimism.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

#: Folds of the validation nodes.
FOLDS = 5

#: Standard errors that a gain must have more for each labelled node that a node without a label has beside it.
DOUBT = 2.0


def honest_gain(hits: Tensor, rng: torch.Generator) -> tuple[float, float]:
    """Mean gain in accuracy by choosing an epoch, and its standard error.

    Args:
        hits: Whether a validation node was right, bool `[1 + epochs, n]`, the first row before any epoch.
        rng: Stream of the folds.
    """
    n = hits.shape[1]
    if n < FOLDS:
        return 0.0, 0.0
    right = hits.float()
    fold = torch.randperm(n, generator=rng, device=hits.device) % FOLDS
    gain = torch.zeros(n, device=hits.device)
    for held in (fold == k for k in range(FOLDS)):
        best = right[:, ~held].sum(1).argmax()  # the first of equals: in doubt, less shaping
        gain[held] = right[best, held] - right[0, held]
    return gain.mean().item(), gain.std().item() / math.sqrt(n)


def asked(labelled: int, others: int) -> float:
    """Standard errors by which nodes without a label must have gained to be believed.

    The more nodes have a label, the less the others can add, and the likelier it is that a gain was luck: twenty
    labels a class ask for next to nothing, 60% of the nodes for three.
    """
    return DOUBT * labelled / max(1, others)
