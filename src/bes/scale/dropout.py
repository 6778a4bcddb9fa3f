"""Dropout that depends on the node and not on who holds it, so that any number of ranks drops the same."""

from __future__ import annotations

import torch
from torch import Tensor

#: Odd numbers with well mixed bits, from SplitMix64 (Steele et al. 2014), as signed 64-bit ones.
_GOLDEN, _FIRST, _SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685


def node_dropout(x: Tensor, nodes: Tensor, p: float, key: int) -> Tensor:
    """`x` with entries set to 0 with probability `p`, the others scaled to keep the mean.

    Sixteen bits an entry decide, as in `bes.models.base.dropout`; here they are a hash of the key, the node's number
    in the whole graph and the column.

    Args:
        x: Rows `[n, d]`.
        nodes: Whose rows they are, numbers in the whole graph `[n]`.
        key: Another one for each epoch, below 2^63.
    """
    drop = round(p * 2**16)
    if drop == 0:
        return x
    n, d = x.shape
    column = torch.arange(-(-d // 4), device=x.device) * _GOLDEN
    words = _mixed(_mixed(nodes + key)[:, None] + column)
    bits = words.view(torch.int16)[:, :d] if n else words.new_empty(0, d, dtype=torch.int16)
    return x * ((bits >= drop - 2**15) * (2**16 / (2**16 - drop)))


def _mixed(word: Tensor) -> Tensor:
    """A hash of each 64-bit word, one to one."""
    word = (word ^ _shifted(word, 30)) * _FIRST
    word = (word ^ _shifted(word, 27)) * _SECOND
    return word ^ _shifted(word, 31)


def _shifted(word: Tensor, by: int) -> Tensor:
    """The bits moved right, zeros from the left: torch's own shift repeats the sign."""
    return (word >> by) & ((1 << (64 - by)) - 1)
