"""Motifs of three nodes: how they are found in a graph, and how likely they are by features of their nodes.

p_uv = sigma(2 - |z_u - z_v|^2). For a triple (u, v, w): P(triangle) = p_uv p_vw p_uw, P(wedge) = p_uv p_vw (1 - p_uw),
and what remains, P(none) = 1 - p_uv p_vw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from bes.graph.negatives import contains
from bes.graph.sparse import Operators
from bes.models.baselines.motifrgc_distances import square_distances

#: The distance at which a pair is an edge as likely as not, squared.
RADIUS = 2.0

#: Nodes up to which a table of all pairs may be made, and one with a bit a pair.
TABLE, BITS = 5_000, 20_000

#: From pairs to the logits of their being edges.
Logit = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Motifs:
    """Triples around a centre that is adjacent to both ends.

    Attributes:
        first, second: Positions of the edges (v, u) and (v, w) among the graph's `[K]`.
        u, v, w: Nodes `[K]`, v the centre.
        closed: Whether u and w are adjacent too: a triangle, not a wedge.
    """

    first: Tensor
    second: Tensor
    u: Tensor
    v: Tensor
    w: Tensor
    closed: Tensor


class Triples:
    """The triples of a graph by number, so that they are drawn without being listed.

    Centre v has deg (deg - 1) of them, (u, v, w) and (w, v, u) both.
    """

    def __init__(self, ops: Operators) -> None:
        self.edges, self.n_nodes = ops.edge_index, ops.n_nodes
        self._degree = torch.bincount(self.edges[0], minlength=ops.n_nodes)
        self._start = self._degree.cumsum(0) - self._degree
        self._ends = (self._degree * (self._degree - 1)).cumsum(0)
        self._keys = (self.edges[0] * ops.n_nodes + self.edges[1]).sort().values
        self._table: Tensor | None = None
        if ops.n_nodes <= BITS:
            self._table = torch.zeros(ops.n_nodes**2 // 8 + 1, dtype=torch.uint8, device=self.edges.device)
            bit = torch.bitwise_left_shift(torch.ones_like(self._keys), self._keys & 7)
            self._table.index_add_(0, self._keys >> 3, bit.to(torch.uint8))

    def __len__(self) -> int:
        return int(self._ends[-1])

    def at(self, numbers: Tensor) -> Motifs:
        """The triples of some numbers `[K]` in 0..len - 1."""
        v = torch.searchsorted(self._ends, numbers, right=True)
        others = self._degree[v] - 1
        rest = numbers - self._ends[v] + self._degree[v] * others
        i = torch.div(rest, others, rounding_mode="floor")
        j = rest - i * others
        first, second = self._start[v] + i, self._start[v] + j + (j >= i)
        u, w = self.edges[1, first], self.edges[1, second]
        return Motifs(first, second, u, v, w, self.adjacent(u, w))

    @cached_property
    def every(self) -> Motifs:
        """Each triple once, in one of its two orders."""
        numbers = torch.arange(len(self), device=self.edges.device)
        found = self.at(numbers)
        return self.at(numbers[found.first < found.second])

    def draw(self, limit: int, rng: torch.Generator) -> Motifs:
        """Each triple once, or `limit` random ones where there are more."""
        if len(self) // 2 <= limit:
            return self.every
        return self.at(torch.randint(len(self), (limit,), generator=rng, device=self.edges.device))

    def adjacent(self, u: Tensor, v: Tensor) -> Tensor:
        """Whether pairs are edges, bool `[K]`."""
        key = u * self.n_nodes + v
        if self._table is None:
            return contains(self._keys, key)
        byte = self._table.index_select(0, key >> 3)
        return (byte >> (key & 7).to(torch.uint8)) & 1 == 1


def motif_loss(z: Tensor, triples: Triples, limit: int, rng: torch.Generator) -> Tensor:
    """-log P(what it is), the mean over triples and as many others whose (u, v) is a random pair that is no edge.

    Args:
        z: Features of the nodes `[N, D]`.
        limit: Triples, at most.
        rng: Stream of the triples that are drawn and of the random pairs.
    """
    found = triples.draw(limit, rng)
    logit = scorer(z, 3 * len(found.u))
    logs = torch.cat([log_likely(logit, triples, found), log_none(logit, *_others(found, triples, rng))])
    return -logs.sum() / max(1, len(logs))


def scorer(z: Tensor, n_pairs: int) -> Logit:
    """From pairs u, v of one shape to the logits of p_uv; a table of all pairs where that is the lesser work."""
    n, width = z.shape
    if n > TABLE or n * n > n_pairs * width:

        def by_rows(u: Tensor, v: Tensor) -> Tensor:
            return RADIUS - square_distances(z, u.flatten(), v.flatten()).view(u.shape)

        return by_rows
    length = z.square().sum(1)
    table = RADIUS - (length[:, None] + length - 2 * z @ z.t()).clamp_min(0)

    def by_table(u: Tensor, v: Tensor) -> Tensor:
        return table.view(-1).index_select(0, (u * n + v).flatten()).view(u.shape)

    return by_table


def log_likely(logit: Logit, triples: Triples, found: Motifs) -> Tensor:
    """log P(triangle) of triangles and log P(wedge) of wedges `[K]`."""
    used = torch.stack([found.first, found.second])
    few = used.numel() < triples.edges.shape[1]
    sides = F.logsigmoid(logit(*triples.edges[:, used]) if few else logit(*triples.edges)[used])
    base = logit(found.u, found.w)
    return sides.sum(0) + F.logsigmoid(torch.where(found.closed, base, -base))


def log_none(logit: Logit, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
    """log P(none) = log(1 - p_uv p_vw) `[K]`; p is at most sigma(2), so that it is finite."""
    both = F.logsigmoid(logit(torch.stack([u, v]), torch.stack([v, w])))
    return torch.log(-torch.expm1(both.sum(0)))


def _others(found: Motifs, triples: Triples, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """A random (u, v) to each w; those that turn out adjacent, or one node twice, are left out."""
    w = found.w
    u, v = torch.randint(triples.n_nodes, (2, len(w)), generator=rng, device=w.device)
    good = (u != v) & (u != w) & (v != w) & ~triples.adjacent(u, v)
    return u[good], v[good], w[good]
