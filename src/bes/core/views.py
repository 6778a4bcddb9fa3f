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
    if head.query is None:
        return base[None], Tape(head, None, base)
    keys, values = _project([_score(head), value.T], gaps)
    weight = _weights(keys, tokens)
    return _mix(base, weight, values), Tape(head, weight, values)


def difference(old: Head, new: Head, tokens: Tensor, gaps: Tensor) -> Tensor:
    """What `new` adds more than `old` `[V, d, N]`, in one pass over the nodes.

    With value maps P and P', weights w and w', it is (P' - P)^T (mixture by w') + P^T (what w' - w moves):
    no two large outputs are subtracted, so that the smallest step can be measured.
    """
    value = old.value @ old.out
    change = (new.value @ new.out - value).T
    if old.query is None:
        return (change @ tokens[-1])[None]
    maps = _project([_score(old), _score(new), value.T], gaps)
    weight, values = _weights(maps[:2], tokens), maps[2]
    mixture = _mix(tokens[-1], weight[1], gaps)
    return _mix(change @ mixture, weight[1] - weight[0], values)


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


def _score(head: Head) -> Tensor:
    """W_Q W_K^T / sqrt(D_a)."""
    assert head.query is not None
    assert head.key is not None
    return head.query @ head.key.T / math.sqrt(head.query.shape[1])


def _project(maps: list[Tensor], gaps: Tensor) -> Tensor:
    """Each map `[d, d]` of all gaps, `[len(maps), d, V - 1, N]`."""
    return (torch.cat(maps) @ gaps.flatten(1)).view(len(maps), *gaps.shape)


def _weights(keys: Tensor, tokens: Tensor) -> Tensor:
    """Weights `[..., V, V - 1, N]` that each view gives to all but the last, from `keys` `[..., d, V - 1, N]`."""
    logit = (tokens[:, :, None] * keys.unsqueeze(-4)).sum(-3)
    if logit.shape[-2] == 1:
        return logit.sigmoid()
    last = torch.zeros_like(logit[..., :1, :])
    return torch.cat([logit, last], dim=-2).softmax(dim=-2)[..., :-1, :]


def _mix(base: Tensor, weight: Tensor, values: Tensor) -> Tensor:
    """base + the weighted sum of values, `[V, d, N]`."""
    for view in range(values.shape[1]):
        base = torch.addcmul(base, weight[:, view, None], values[:, view])
    return base
