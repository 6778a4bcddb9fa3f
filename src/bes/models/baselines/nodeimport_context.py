"""What NodeImport judges nodes by: propagated features, and whether a node's gradient agrees with the meta-set's.

    APPNP: Z <- (1 - alpha) A^ Z + alpha X, k times        SSGC: 1/k sum_{t=1..k} [(1 - alpha) A^^t X + alpha X]

The importance of node i is sum_{j in meta} <P_i, P_j> <S_i - Y_i, S_j - Y_j> = (P_i M) . (S_i - Y_i) with
M = sum_j P_j^T (S_j - Y_j). The <P_i, P_j> of the graph's own nodes with the meta-set are constants, and so is what
each hop of them begins with, from which the nodes that an epoch adds hear: nothing is propagated in an epoch but to
those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Operators, Sparse
from bes.models.baselines.nodeimport_synthesis import Added

Kind = Literal["appnp", "ssgc"]

#: Nodes of a graph, at most, that is known by ids instead of features.
MOST = 5000


@dataclass(frozen=True)
class Context:
    """A propagation without parameters.

    Attributes:
        hops, alpha: How far it goes, and how much of a node's own it keeps.
    """

    kind: Kind
    hops: int
    alpha: float

    def __call__(self, values: Tensor, ops: Operators, added: Added | None = None) -> Tensor:
        """From `[N, D]` to `[N, D]`; with added nodes, whose values are mixed, to `[N + S, D]`."""
        if added is None:
            return self._spread(values, lambda z: ops.gcn @ z)
        *before, last = self.trail(values, ops)
        return torch.cat([last, self.of_added(before, ops, added)])

    def trail(self, values: Tensor, ops: Operators) -> list[Tensor]:
        """What each hop begins with, and the result in the end, `[N, D]` each."""
        before: list[Tensor] = []

        def hop(z: Tensor) -> Tensor:
            before.append(z)
            return ops.gcn @ z

        last = self._spread(values, hop)
        return [*before, last]

    def of_added(self, before: Sequence[Tensor], ops: Operators, added: Added) -> Tensor:
        """The result of the added nodes `[S, D]`, from what each hop of the graph's own nodes begins with."""
        own = 1 / (added.degree + 1)
        matrix = added.matrix((own[added.row] / (ops.degree + 1)[added.col]).sqrt())
        heard = iter((matrix @ torch.cat(tuple(before), dim=1)).split(before[0].shape[1], dim=1))
        return self._spread(added.mix(before[0]), lambda z: next(heard) + own[:, None] * z)

    def _spread(self, start: Tensor, hop: Callable[[Tensor], Tensor]) -> Tensor:
        z, total = start, torch.zeros_like(start)
        for _ in range(self.hops):
            if self.kind == "appnp":
                z = (1 - self.alpha) * hop(z) + self.alpha * start
            else:
                z = hop(z)
                total += z
        return z if self.kind == "appnp" else (1 - self.alpha) / self.hops * total + self.alpha * start

    def of_features(self, graph: Graph) -> Tensor:
        """P of all nodes `[N, F]`, dense."""
        x = graph.x
        if graph.n_nodes > MOST and graph.n_features >= graph.n_nodes:
            raise InputError(
                f"NodeImport compares features, of which graph '{graph.name}' has as many as nodes, which is too much "
                "memory for so many: give it features, or leave the method out."
            )
        return self(x.to_dense() if isinstance(x, Sparse) else x, graph.operators)

    def of_nodes(self, graph: Graph, nodes: Tensor) -> Tensor:
        """P of some nodes as columns `[F, n]`: A^ is symmetric, so their indicators are propagated in place of X."""
        at = torch.zeros(graph.n_nodes, nodes.numel(), device=graph.device)
        at[nodes, torch.arange(nodes.numel(), device=graph.device)] = 1.0
        spread = self(at, graph.operators)
        return graph.x.transposed @ spread if isinstance(graph.x, Sparse) else graph.x.T @ spread


class Importance:
    """Judges nodes by a meta-set.

    Args:
        meta: Nodes of the meta-set, whose class is known.
    """

    def __init__(self, graph: Graph, context: Context, meta: Tensor) -> None:
        self.graph = graph
        self.context = context
        self.meta = meta
        start = graph.x @ context.of_nodes(graph, meta)
        self.trail = torch.stack(context.trail(start, graph.operators))  # [hops + 1, N, meta]

    def __call__(self, residual: Tensor, chosen: Tensor, added: Added | None = None) -> Tensor:
        """Importance `[N + S]` of all nodes and the added ones.

        Args:
            residual: S - Y `[N + S, C]`.
            chosen: Positions in the meta-set that are used.
        """
        used = residual.new_zeros(self.meta.numel(), residual.shape[1])
        used[chosen] = residual[self.meta[chosen]]
        if added is None:
            return ((self.trail[-1] @ used) * residual).sum(1)
        *before, last = self.trail @ used
        new = self.context.of_added(before, self.graph.operators, added)
        return (torch.cat([last, new]) * residual).sum(1)
