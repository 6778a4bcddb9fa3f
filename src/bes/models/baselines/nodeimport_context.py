"""What NodeImport judges nodes by: propagated features, and whether a node's gradient agrees with the meta-set's.

    APPNP: Z <- (1 - alpha) A^ Z + alpha X, k times        SSGC: 1/k sum_{t=1..k} [(1 - alpha) A^^t X + alpha X]

The importance of node i is sum_{j in meta} <P_i, P_j> <S_i - Y_i, S_j - Y_j> = (P_i M) . (S_i - Y_i) with
M = sum_j P_j^T (S_j - Y_j). P is linear in X, so that P M is X M propagated: no pair of nodes is ever looked at, and no
P of all nodes is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Operators, Sparse
from bes.models.baselines.nodeimport_synthesis import Added

Kind = Literal["appnp", "ssgc"]


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
        n, own = ops.n_nodes, 1 / (added.degree + 1)
        value = (own[added.row] / (ops.degree + 1)[added.col]).sqrt()
        matrix = added.matrix(value)
        start = torch.cat([values, added.mix(values)])
        return self._spread(start, lambda z: torch.cat([ops.gcn @ z[:n], matrix @ z[:n] + own[:, None] * z[n:]]))

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
        self.columns = context.of_nodes(graph, meta)

    def __call__(self, residual: Tensor, chosen: Tensor, added: Added | None = None) -> Tensor:
        """Importance `[N + S]` of all nodes and the added ones.

        Args:
            residual: S - Y `[N + S, C]`.
            chosen: Positions in the meta-set that are used.
        """
        meant = self.columns[:, chosen] @ residual[self.meta[chosen]]
        agree = self.context(self.graph.x @ meant, self.graph.operators, added)
        return (agree * residual).sum(1)
