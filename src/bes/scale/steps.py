"""The losses of an epoch in parts: one step a batch, on the batch's own training nodes or pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.pairs import PairSplit, pair_loss
from bes.graph.splits import NodeSplit
from bes.scale.batches import Parts, Piece

#: The losses of an epoch, as `bes.training.train` takes them.
Steps = Callable[[], Iterator[Tensor]]


def node_steps(
    parts: Parts | None, split: NodeSplit, logits: Callable[[Piece], Tensor], rng: torch.Generator
) -> Steps | None:
    """Cross-entropy on the training nodes of each batch; a batch without any takes no step.

    Args:
        parts: None for no steps of its own: the whole graph at once.
        logits: Of a piece's nodes `[n, C]`.
        rng: Stream by which parts are drawn.
    """
    if parts is None:
        return None
    label = torch.full((parts.n_nodes,), -1, device=split.train.device)
    label[split.train] = split.train_labels

    def epoch() -> Iterator[Tensor]:
        for piece in parts.steps(rng):
            own = label[piece.own]
            known = (own >= 0).nonzero().flatten()
            if known.numel():
                yield F.cross_entropy(logits(piece).index_select(0, known), own[known])

    return epoch


def pair_steps(
    parts: Parts | None,
    split: PairSplit,
    logits: Callable[[Piece, Tensor], Tensor],
    limit: int,
    rng: torch.Generator,
    draw: torch.Generator,
) -> Steps | None:
    """The loss on training pairs of which each batch owns both ends; a batch without any takes no step.

    Args:
        parts: None for no steps of its own: the whole graph at once.
        logits: Of a piece and pairs `[2, P]` of its nodes, `[P, n_logits]`.
        limit: Edges a step, at most.
        rng: Stream by which parts are drawn.
        draw: Stream of the pairs.
    """
    if parts is None:
        return None

    def epoch() -> Iterator[Tensor]:
        some = False
        for piece in parts.steps(rng):
            pairs, truth = split.training_pairs_among(piece.own, limit, draw)
            if pairs.numel():
                some = True
                yield pair_loss(logits(piece, pairs), truth)
        if not some:
            raise InputError(
                "No step of batching=parts has both ends of a training edge: use fewer n_parts, or more parts_per_step."
            )

    return epoch
