"""Which nodes lie at a boundary that can be told without their own label, for scores by part."""

from __future__ import annotations

import torch
from torch import Tensor

from bes.core.neighbors import smallest, squared_distances

#: Distances held at a time: 8 M floats, 32 MiB. What is said of all labelled nodes at once is said anew in each block.
BLOCK = 1 << 23

#: Labelled rows that are looked among, at most: of more, every n-th, so that the cost grows with the rows alone.
LABELLED = 1 << 15


def mixed(rows: Tensor, labelled: Tensor, y: Tensor, k: int) -> Tensor:
    """Rows whose k nearest labelled rows disagree among themselves, `[R]` bool.

    A boundary that can be told without a row's own label: what the records call `test_boundary` is the test rows for
    which it holds. With more than `LABELLED` labelled rows, an even sample of them is looked among.

    Args:
        rows: Embeddings `[R, D]`.
        labelled: Embeddings of the labelled nodes `[n, D]`.
        y: Their classes `[n]`.
    """
    if labelled.shape[0] > LABELLED:
        some = torch.arange(LABELLED, device=rows.device) * labelled.shape[0] // LABELLED
        labelled, y = labelled[some], y[some]
    found = torch.zeros(rows.shape[0], dtype=torch.bool, device=rows.device)
    step, k = max(1, BLOCK // labelled.shape[0]), min(k, labelled.shape[0])
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        near = smallest(squared_distances(rows[part], labelled), k)
        found[part] = (y[near] != y[near[:, :1]]).any(1)
    return found
