"""Labels for nodes that have none: predictions smoothed over the graph, and who takes part by how clear they are.

The paper shapes labelled nodes. With few labels the boundary runs among nodes without one, and their labels are
guesses: the clearest join the labelled nodes, the next clearest are the band at the boundary, the rest stays out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from bes.core.gaussians import ClassSums

#: What makes labels of predictions: `smoothed` over the graph or over it and nodes that look `alike`, `propagated`
#: (beliefs), or they themselves; `auto` takes one of these.
Teacher = Literal["auto", "smooth", "alike", "beliefs", "own"]

#: What gravity acts on: nodes near the boundary, or, as a control, all labelled nodes by centres of their own.
Pulled = Literal["band", "labelled"]


class Operator(Protocol):
    """A propagation matrix `[N, N]`."""

    def __matmul__(self, dense: Tensor, /) -> Tensor: ...


class Smoothing:
    """(D + I)^-1/2 (A + I) (D + I)^-1/2 of edges `[2, E]` in both directions, as an operator that holds no matrix."""

    def __init__(self, edges: Tensor, n: int) -> None:
        loop = torch.arange(n, device=edges.device)
        edges = edges[:, edges[0] != edges[1]]
        self.row, self.col = torch.cat([edges, loop.expand(2, -1)], dim=1)
        root = torch.bincount(self.row, minlength=n).rsqrt()
        self.weight = (root[self.row] * root[self.col])[:, None]

    def __matmul__(self, dense: Tensor) -> Tensor:
        return torch.zeros_like(dense).index_add(0, self.row, self.weight.to(dense) * dense[self.col])


class Mixed:
    """(1 - share) A + share B, as an operator."""

    def __init__(self, first: Operator, second: Operator, share: float) -> None:
        self.first, self.second, self.share = first, second, share

    def __matmul__(self, dense: Tensor) -> Tensor:
        return torch.lerp(self.first @ dense, self.second @ dense, self.share)


def posterior(z: Tensor, sums: ClassSums) -> Tensor:
    """P(class | z) `[N, C]` of Gaussians with one covariance and equal priors; 0 for a class without members."""
    means, present = sums.means, sums.present
    root = torch.linalg.cholesky(sums.covariance("pooled")[0])
    centred = torch.linalg.solve_triangular(root, torch.cat([z.double(), means]).t(), upper=False).t()
    white, centres = centred[: len(z)], centred[len(z) :]
    logits = white @ centres.t() - centres.square().sum(1) / 2
    prob: Tensor = logits.masked_fill(~present, -torch.inf).softmax(1).to(z)
    return prob


def smoothed(
    prob: Tensor, operator: Operator, known: Tensor, truth: Tensor, steps: int, restart: float = 0.0
) -> Tensor:
    """P <- (1 - r) A P + r P_0, `steps` times, rows of known nodes at the truth throughout; rows then sum to one.

    Args:
        prob: P_0 `[N, C]`.
        known: Nodes whose class is known `[n]`.
        truth: Their classes as rows of zeros and a one `[n, C]`.
        restart: r in [0, 1): with it many steps stay near where they began.
    """
    start = prob = prob.index_copy(0, known, truth)
    for _ in range(steps):
        prob = operator @ prob
        if restart:
            prob = torch.lerp(prob, start, restart)
        prob = prob.index_copy(0, known, truth)
    return prob / prob.sum(1, keepdim=True).clamp_min(torch.finfo(prob.dtype).tiny)


def resized(prob: Tensor, sizes: Tensor, nodes: Tensor, rounds: int = 5) -> Tensor:
    """`prob` with classes of other sizes: in each round columns are scaled to them, and then rows to sum to one.

    Args:
        prob: `[N, C]`.
        sizes: The mean of each column `[C]` that is wanted over the rows `nodes`.
    """
    tiny = torch.finfo(prob.dtype).tiny
    for _ in range(rounds):
        prob = prob * (sizes / prob.index_select(0, nodes).mean(0).clamp_min(tiny))
        prob = prob / prob.sum(1, keepdim=True).clamp_min(tiny)
    return prob


def propagated(
    prob: Tensor, adjacency: Operator, degree: Tensor, known: Tensor, truth: Tensor, rounds: int = 5
) -> Tensor:
    """Belief propagation: neighbours speak for classes that theirs is linked with more often than by chance.

    log Q_i <- log P_i + d_i^-1/2 sum over neighbours j of log (Q_j H), each round half of the way, rows of known nodes
    at the truth. H_ab is the share of edges between classes a and b over what their sizes alone would give, by the Q
    of the start. It serves where smoothing does harm: edges that cross classes at random, or on purpose.

    Args:
        prob: P `[N, C]`.
        adjacency: A, both directions of each edge, no loops.
        degree: d `[N]`.
        known, truth: As in `smoothed`.
    """
    tiny = 1e-6
    own = prob.clamp_min(tiny).log()
    belief = prob.index_copy(0, known, truth)
    linked = belief.t() @ (adjacency @ belief) + 1  # so that no pair of classes is impossible
    affinity = linked * linked.sum() / (linked.sum(0) * linked.sum(1, keepdim=True))
    calm = degree.clamp_min(1).rsqrt()[:, None]  # what neighbours say is not independent
    for _ in range(rounds):
        heard = adjacency @ (belief @ affinity).clamp_min(tiny).log()
        belief = torch.lerp(belief, (own + calm * heard).softmax(1), 0.5).index_copy(0, known, truth)
    return belief


@dataclass(frozen=True)
class Part:
    """Who takes part, with the labels that they get.

    Attributes:
        joined, joined_labels: Nodes so clear that they count as labelled `[J]`.
        band, band_labels: The next clearest: near the boundary, but not beyond hope `[B]`.
    """

    joined: Tensor
    joined_labels: Tensor
    band: Tensor
    band_labels: Tensor


def take_part(prob: Tensor, nodes: Tensor, share: float, band: float = 0.0) -> Part:
    """The `share` of `nodes` whose best class leads the second by most, and the next `band` of them.

    Args:
        prob: `[N, C]`; one class alone leads by nothing.
        share, band: In [0, 1]; where they exceed 1 together, the band ends with the last node.
    """
    rows = prob.index_select(0, nodes)
    best = rows.topk(min(2, rows.shape[1]), dim=1)
    margin = best.values[:, 0] - best.values[:, -1]
    first, last = int(share * nodes.numel()), int(min(1.0, share + band) * nodes.numel())
    order = margin.topk(last).indices
    labels = best.indices[order, 0]
    return Part(nodes[order[:first]], labels[:first], nodes[order[first:]], labels[first:])


def balance(labels: Tensor, n_classes: int, power: float = 1.0) -> Tensor:
    """A weight a class `[C]`, its size to the power of -`power`: 0 counts all nodes alike, 1 all classes."""
    size = torch.bincount(labels, minlength=n_classes)
    return (labels.numel() / size.clamp_min(1)) ** power
