"""Dropout of node features that may be sparse: only what is stored is drawn for, zeros stay zeros."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from bes.graph.sparse import Features, Sparse
from bes.models.base import dropout

_TRANSPOSED: WeakKeyDictionary[Sparse, Tensor] = WeakKeyDictionary()


def drop_features(x: Features, p: float, generator: torch.Generator | None) -> Features:
    """`x` `[N, F]` with entries set to 0 with probability `p`, the others scaled to keep the mean."""
    if not isinstance(x, Sparse):
        return dropout(x, p, generator)
    if p == 0:
        return x
    value = dropout(x.csr.values(), p, generator)
    dropped = _like(x, value)
    dropped.__dict__["transposed"] = _like(x.transposed, value[_order(x)])  # the pattern is sorted once, not each step
    return dropped


def _order(x: Sparse) -> Tensor:
    """For each entry of `x.transposed` its position in `x`."""
    if x not in _TRANSPOSED:
        _TRANSPOSED[x] = torch.argsort(x.csr.col_indices(), stable=True)
    return _TRANSPOSED[x]


def _like(x: Sparse, value: Tensor) -> Sparse:
    """The pattern of `x` with other values."""
    crow, col = x.csr.crow_indices(), x.csr.col_indices()
    return Sparse(torch.sparse_csr_tensor(crow, col, value, size=x.shape, check_invariants=False))
