"""Nodes whose features are alike: a second view of who belongs together.

Edges say who is linked, features who looks alike, and the two err at different nodes. A node without links, or with
links across classes, still has others that look like it, and what both views say is more often right than what either
says alone. Every node hears each view by itself, so that many links do not drown what few look-alikes say:

    P <- (1 - w) A P + w B P,    A of the graph, B of look-alikes, both (D + I)^-1/2 (A + I) (D + I)^-1/2.
"""

from __future__ import annotations

from weakref import ref

import torch
from torch import Tensor
from torch.nn import functional as F

from bes import seeding
from bes.core import soft
from bes.core.search import search
from bes.graph.edges import undirected
from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators, Sparse

#: Look-alikes of a node, and how far they are heard (w), the graph having the rest.
NEAREST, HEARD = 10, 0.4

#: The cosine that a look-alike has at least: who has nothing in common is no nearer than anybody.
LEAST = 1e-3

#: Directions in which features are compared, those that hold most of them, and rounds in which they are found.
WIDTH, ROUNDS = 256, 4

#: Steps by which predictions are read from both views, and how far each goes back to the predictions.
STEPS, RESTART = 10, 0.3

#: What was found for features, by their id, while they live: graphs without labels or with weighted edges share them.
_FOUND: dict[int, tuple[ref[Features], Operators | None]] = {}


def both_views(graph: Graph) -> soft.Operator:
    """What a node hears of its neighbours and of its look-alikes; of the graph alone where there are none."""
    found, own = alike(graph), graph.operators.gcn
    return own if found is None else soft.Mixed(own, found.gcn, HEARD)


def read(prob: Tensor, graph: Graph) -> Tensor:
    """Predictions `[N, C]`, smoothed over both views."""
    nobody = torch.empty(0, dtype=torch.long, device=prob.device)
    return soft.smoothed(prob, both_views(graph), nobody, prob[:0], STEPS, RESTART)


def alike(graph: Graph) -> Operators | None:
    """The graph in which each node is linked with the `NEAREST` others by the angle between their features, made once.

    Fewer where fewer have something in common with it; a row of zeros looks like nobody. None where no two nodes have a
    feature in common, as where there are none.
    """
    key = id(graph.x)
    if key not in _FOUND:
        found = _linked(compressed(graph.x)) if _shared(graph.x) else None
        _FOUND[key] = ref(graph.x, lambda _: _FOUND.pop(key)), found
    return _FOUND[key][1]


def _shared(x: Features) -> bool:
    """Whether some feature is that of two nodes."""
    if isinstance(x, Sparse):
        _, column, value = x.coo()
        return bool((torch.bincount(column[value != 0]) > 1).any())
    return bool((x.count_nonzero(0) > 1).any())


def _linked(z: Tensor) -> Operators:
    n, some = len(z), z.any(1).nonzero().flatten()
    rows = F.normalize(z[some], dim=1)
    near = search(torch.arange(some.numel(), device=z.device), rows, NEAREST)
    cosine = torch.stack([(rows * rows[column]).sum(1) for column in near.T], dim=1)
    linked = cosine.flatten() > LEAST
    pairs = torch.stack([some.repeat_interleave(near.shape[1]), some[near].flatten()])
    return Operators(undirected(pairs[:, linked], n), n)


def compressed(x: Features) -> Tensor:
    """Features `[N, F]` in the `WIDTH` directions that hold most of them, by subspace iteration; all where F is less.

    Angles between rows are what matters, so any basis of these directions will do.
    """
    if x.shape[1] <= WIDTH:
        return x.to_dense() if isinstance(x, Sparse) else x
    back = x.transposed if isinstance(x, Sparse) else x.T
    basis = torch.randn(x.shape[1], WIDTH, generator=seeding.generator(0, "alike")).to(x.device)  # on any the same
    for _ in range(ROUNDS):
        basis = torch.linalg.qr(back @ (x @ basis)).Q
    return x @ basis
