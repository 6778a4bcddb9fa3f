"""Dropout that depends on the node and not on who holds it, so that any number of ranks drops the same."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bes.core.rows import blocks

#: Odd numbers with well mixed bits, from SplitMix64 (Steele et al. 2014), as signed 64-bit ones.
_GOLDEN, _FIRST, _SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685


def dropped_relu_(x: Tensor, nodes: Tensor, p: float, key: int) -> Tensor:
    """`x`, overwritten by its positive part with entries set to 0 with probability `p`, the others scaled.

    Sixteen bits an entry decide, as in `bes.models.base.dropout`; here they are a hash of the key, the node's number
    in the whole graph and the column. The result is all that is kept for the way back.

    Args:
        x: Rows `[n, d]` that nobody else needs as they are.
        nodes: Whose rows they are, numbers in the whole graph `[n]`.
        key: Another one for each epoch, below 2^63.
    """
    drop = round(p * 2**16)
    if drop == 0:
        return x.relu_()
    found: Tensor = _Dropped.apply(x, nodes, drop, key)  # type: ignore[no-untyped-call]
    return found


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, nodes: Tensor, drop: int, key: int) -> Tensor:
        ctx.scale = 2**16 / (2**16 - drop)
        ctx.mark_dirty(x)
        for part in blocks(*x.shape):
            bits = _bits(nodes[part], x.shape[1], key)
            x[part].relu_().mul_((bits >= drop - 2**15) * ctx.scale)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (out,) = ctx.saved_tensors
        found = torch.empty_like(grad)
        for part in blocks(*grad.shape):  # what is not zero was positive, and was not dropped
            torch.mul(grad[part], (out[part] > 0) * ctx.scale, out=found[part])
        return found, None, None, None


def _bits(nodes: Tensor, width: int, key: int) -> Tensor:
    """Sixteen bits for each entry `[n, width]`, int16."""
    column = torch.arange(-(-width // 4), device=nodes.device) * _GOLDEN
    words = _mixed(_mixed(nodes + key)[:, None] + column)
    return words.view(torch.int16)[:, :width] if len(nodes) else words.new_empty(0, width, dtype=torch.int16)


def _mixed(word: Tensor) -> Tensor:
    """A hash of each 64-bit word, one to one."""
    word = (word ^ _shifted(word, 30)) * _FIRST
    word = (word ^ _shifted(word, 27)) * _SECOND
    return word ^ _shifted(word, 31)


def _shifted(word: Tensor, by: int) -> Tensor:
    """The bits moved right, zeros from the left: torch's own shift repeats the sign."""
    return (word >> by) & ((1 << (64 - by)) - 1)
