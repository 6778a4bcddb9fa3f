"""Attention over a node's own views, forwards and backwards, with nodes last in memory.

A softmax does not change when the last view's score is taken off all scores, and its weights sum to
one: so only the gaps to the last view need weights. W_Q W_K^T and W_V W_out are multiplied first,
because they are small and the nodes are many. The gradient is written out, because recording some
forty small operations would cost more than all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Head(NamedTuple):
    """The weights of one attention head; queries and keys are None where there is one view only."""

    query: Tensor | None
    key: Tensor | None
    value: Tensor
    out: Tensor


class Tape(NamedTuple):
    """What the way back needs of the way there: weights `[V, V - 1, N]` and values `[d, V - 1, N]`."""

    head: Head
    weight: Tensor | None
    values: Tensor


def attend(head: Head, tokens: Tensor, gaps: Tensor) -> tuple[Tensor, Tape]:
    """What one head adds to each view `[V, d, N]`.

    Args:
        tokens: Views `[V, d, N]`.
        gaps: All views but the last, minus the last, `[d, V - 1, N]`.
    """
    value = head.value @ head.out
    base = value.T @ tokens[-1]
    if head.query is None or head.key is None:
        return base[None], Tape(head, None, base)
    d, others, n = gaps.shape
    score = head.query @ head.key.T / math.sqrt(head.query.shape[1])
    joint = torch.cat([score, value.T]) @ gaps.view(d, -1)
    keys, values = joint.view(2, d, others, n)
    logit = (tokens[:, :, None] * keys).sum(1)
    if others == 1:
        weight = logit.sigmoid()
    else:
        weight = torch.cat([logit, torch.zeros_like(logit[:, :1])], dim=1).softmax(dim=1)[:, :-1]
    moved = base
    for view in range(others):
        moved = torch.addcmul(moved, weight[:, view, None], values[:, view])
    return moved, Tape(head, weight, values)


def pull_back(tape: Tape, tokens: Tensor, gaps: Tensor, pull: Tensor) -> tuple[Tensor, ...]:
    """Gradients by ([W_Q, W_K,] W_V, W_out) from the gradient by the output `[V, d, N]`."""
    head = tape.head
    by_value = tokens[-1] @ pull.sum(0).T
    first: tuple[Tensor, ...] = ()
    if tape.weight is not None and head.query is not None and head.key is not None:
        weight, flat = tape.weight, gaps.flatten(1)
        by_values = (weight[:, None] * pull[:, :, None]).sum(0)
        by_value = by_value + flat @ by_values.flatten(1).T
        by_weight = (pull[:, :, None] * tape.values).sum(1)
        by_logit = weight * (by_weight - (weight * by_weight).sum(1, keepdim=True))
        by_keys = (by_logit[:, None] * tokens[:, :, None]).sum(0)
        by_score = by_keys.flatten(1) @ flat.T / math.sqrt(head.query.shape[1])
        first = (by_score @ head.key, by_score.T @ head.query)
    return (*first, by_value @ head.out.T, head.value.T @ by_value)
