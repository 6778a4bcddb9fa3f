"""Graphs as large as published ones, for speed and memory only: their accuracy says nothing of the real ones.

`arxiv-like` and `collab-like` have the counts of ogbn-arxiv and ogbl-collab, heavy-tailed degrees, communities (so that
a partitioner finds something to keep together) and, where there are classes, their share of edges within a class. What
the nodes mean is made up.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bes import seeding
from bes.graph.graph import Graph
from bes.graph.synthetic import distinct_edges


@dataclass(frozen=True)
class Likeness:
    """What a generated graph has in common with a published one.

    Args:
        groups: Classes, or kinds of nodes where the graph has none; each is `shrink` times as large as the one before.
        homophily: Share of the edges within a group.
        tail: Node of rank r draws edges in proportion to r^-tail: 0 is even, and the largest degree grows with it.
        labelled: Whether the groups are classes.
        community: Nodes of a community, about, and `local` the share of a group's own edges that stay within one.
    """

    nodes: int
    edges: int
    features: int
    groups: int
    homophily: float
    tail: float
    labelled: bool
    shrink: float = 0.87
    community: int = 400
    local: float = 0.7


#: By name; the tails give largest degrees of about those that are published, 13,000 and 700.
LIKE: dict[str, Likeness] = {
    "arxiv-like": Likeness(169_343, 1_166_243, 128, 40, 0.65, 0.75, labelled=True),
    "collab-like": Likeness(235_868, 1_285_465, 128, 40, 0.9, 0.45, labelled=False),
}


def generate(name: str, like: Likeness | None = None, seed: int = 0) -> Graph:
    """The graph `name` of `LIKE`, or one of another size; the same for the same seed.

    Nodes are in order of their groups and communities while edges are drawn, so that each is a range of
    positions, and a partner in proportion to its weight is one look into the running sum of weights.
    """
    like = like or LIKE[name]
    rng = seeding.generator(seed, "like", name)
    group = _groups(like)
    weight = (torch.randperm(like.nodes, generator=rng) + 1.0).double() ** -like.tail
    reach = torch.cat([weight.new_zeros(1), weight.cumsum(0)])
    home = _ranges(group)
    near = _ranges(group * like.nodes + torch.arange(like.nodes) // like.community)

    def draw(first: Tensor, last: Tensor) -> Tensor:
        """Of each range of positions, one in proportion to its weight."""
        low, high = reach[first], reach[last]
        at = low + torch.rand(low.shape, generator=rng, dtype=torch.float64) * (high - low)
        return torch.minimum(torch.searchsorted(reach, at, right=True) - 1, last - 1)

    def anywhere(count: int) -> Tensor:
        return draw(torch.zeros(count, dtype=torch.long), torch.full((count,), like.nodes))

    def within(count: int) -> tuple[Tensor, Tensor]:
        row = anywhere(count)
        local = torch.rand(count, generator=rng) < like.local
        return row, draw(*(torch.where(local, close[row], wide[row]) for close, wide in zip(near, home, strict=True)))

    def across(count: int) -> tuple[Tensor, Tensor]:
        row, col = anywhere(count), anywhere(count)
        return row, torch.where(group[row] == group[col], row, col)  # a loop, which is left out

    inner = round(like.homophily * like.edges)
    size = torch.bincount(group)
    pairs = int((size * (size - 1)).sum()) // 2
    edges = torch.cat(
        [
            distinct_edges(within, inner, pairs, like.nodes, rng),
            distinct_edges(across, like.edges - inner, like.nodes * (like.nodes - 1) // 2 - pairs, like.nodes, rng),
        ],
        dim=1,
    )
    centres = torch.randn(like.groups, like.features, generator=rng) / (2 * like.features) ** 0.5  # about 1 apart
    x = centres[group].add_(torch.randn(like.nodes, like.features, generator=rng))
    place = torch.randperm(like.nodes, generator=rng)  # so that a node's number says nothing of its group
    order = place.argsort()
    y = group[order] if like.labelled else torch.full((like.nodes,), -1)
    return Graph(x[order], place[edges], y, name)


def _groups(like: Likeness) -> Tensor:
    """The group of each position `[N]`, sorted, larger groups first and none empty."""
    share = like.shrink ** torch.arange(like.groups, dtype=torch.float64)
    edge = (share.cumsum(0) / share.sum() * (like.nodes - like.groups)).round().long()
    size = edge.diff(prepend=edge.new_zeros(1)) + 1
    return torch.repeat_interleave(torch.arange(like.groups), size)


def _ranges(key: Tensor) -> tuple[Tensor, Tensor]:
    """First position and the one after the last of the run of equal keys that each position is in."""
    _, run, count = torch.unique_consecutive(key, return_inverse=True, return_counts=True)
    last = count.cumsum(0)
    return (last - count)[run], last[run]
