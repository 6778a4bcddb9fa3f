"""The contrastive loss of Theorem 1 over gravity similarities."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from bes.core import similarity

Denominator = Literal["with_positive", "negatives_only"]


def contrast(positive: Tensor, negative: Tensor, tau: float, denominator: Denominator) -> Tensor:
    """-log exp(s+/tau) / sum exp(s-/tau), per positive similarity.

    Args:
        positive: s+ of each pair, `[B]` or `[B, n]`.
        negative: s- of its node, `[B, M]` or `[B, 1, M]`; -inf entries take no part.
        denominator: `with_positive` adds the positive to the sum (InfoNCE, never below zero);
            `negatives_only` is the formula as printed.

    Everything stays in the log domain, so distances of 1e4 neither overflow nor give log 0.
    """
    margin = torch.logsumexp(negative / tau, dim=-1) - positive / tau
    # log(exp(s+) + sum exp(s-)) - s+ is softplus of the margin, and so keeps its small values
    return torch.nn.functional.softplus(margin) if denominator == "with_positive" else margin


def center_loss(
    z: Tensor,
    y: Tensor,
    means: Tensor,
    excluded: Tensor,
    radius: Tensor | None,
    tau: float = 1.0,
    denominator: Denominator = "with_positive",
) -> Tensor:
    """Mean gravity loss of nodes `z` `[B, D]` of classes `y` against fixed centres (Eq. 9 and 10).

    Args:
        means: Class centres `[C, D]`, constants.
        excluded: Centres that do not repel each node `[B, C]`, see `similarity.excluded`.
        radius: Hinge of each class `[C]` (`region`), or None for the node's nearest rival (`rival`).
    """
    _, negative, _, positive = _center_terms(z, y, means, excluded, radius)
    return contrast(positive, negative, tau, denominator).mean()


def _center_terms(
    z: Tensor, y: Tensor, means: Tensor, excluded: Tensor, radius: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Squared distances, negative similarities `[B, C]`, hinge and positive similarity `[B]`."""
    squared = similarity.center_distances(z, means)
    negative = similarity.center_negative(squared, excluded)
    hinge = similarity.rival_radius(negative) if radius is None else radius[y]
    return squared, negative, hinge, similarity.center_positive(squared, y, hinge)


def center_pull(
    z: Tensor,
    y: Tensor,
    means: Tensor,
    excluded: Tensor,
    radius: Tensor | None,
    tau: float = 1.0,
    denominator: Denominator = "with_positive",
) -> tuple[Tensor, Tensor]:
    """`center_loss` and its gradient by `z` `[B, D]` in closed form: a sum of pulls along z_b - mu_j.

    It is what autograd gives, without the cost of recording some thirty small operations a step.
    """
    squared, negative, hinge, positive = _center_terms(z, y, means, excluded, radius)
    loss = contrast(positive, negative, tau, denominator)
    push = torch.softmax(negative / tau, dim=1) * (-2 / tau)
    reach = (-positive).sqrt() * (2 / tau)
    own = y[:, None]
    push.scatter_add_(1, own, reach[:, None] / similarity.root(squared.gather(1, own)))
    if radius is None:
        rival = torch.where(hinge > similarity.FLOOR, reach / hinge, 0.0)  # on the rival's centre it has no direction
        push.scatter_add_(1, negative.argmax(1, keepdim=True), -rival[:, None])
    slope = -torch.expm1(-loss) if denominator == "with_positive" else torch.ones_like(loss)
    push = push * (slope / len(y))[:, None]
    return loss.mean(), push.sum(1, keepdim=True) * z - push @ means  # sum over j of push_j (z - mu_j)


def pairwise_loss(
    z: Tensor,
    y: Tensor,
    node: Tensor,
    others: Tensor,
    y_others: Tensor,
    tau: float = 1.0,
    denominator: Denominator = "with_positive",
) -> Tensor:
    """Mean gravity loss over all positive pairs of the nodes `z` `[B, D]` (Eq. 6 and 7).

    Args:
        node: Row of `others` that each node is itself `[B]`; a node is no pair of its own.
        others: Embeddings of all labelled nodes `[n, D]`, constants, with classes `y_others`.

    A node without another member of its class takes no part.
    """
    gravity = similarity.pairwise(z, others)
    same = y[:, None] == y_others
    negative = gravity.masked_fill(same, -torch.inf)
    by_pair = contrast(gravity, negative[:, None, :], tau, denominator)
    positive = same.scatter(1, node[:, None], False)
    count = positive.sum(1)
    by_node = (by_pair * positive).sum(1) / count.clamp(min=1)
    return by_node.sum() / (count > 0).sum().clamp(min=1)
