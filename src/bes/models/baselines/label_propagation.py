"""Label propagation: the classes of the training nodes spread over the edges; features are not read.

Y <- clamp(alpha S Y + (1 - alpha) Y0, 0, 1), `steps` times from Y = Y0, the one-hot classes of the training nodes and
zero elsewhere; S = D^-1/2 A D^-1/2, or A D^-1.

Settled: S has no loops, and training rows are not reset after a step; both as in PyG's `LabelPropagation`. A node
that no training node reaches has a row of zeros; it gets the shares of the training classes. Nothing is trained:
epochs, lr, weight_decay and patience are not used.

Expected: ogbn-arxiv 68.3 (official README; alpha 0.9, S = A D^-1). The BES paper does not have it.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- label-propagation, tuned: Cora 85.98 ± 0.22 (10), CiteSeer 70.69 ± 0.37 (10), PubMed 83.32 ± 0.08 (10), Chameleon
  (filtered) 39.83 ± 0.67 (10), Squirrel (filtered) 32.66 ± 0.38 (10), Cornell 39.46 ± 1.57 (10), Texas 54.00 ± 1.50
  (10), Wisconsin 40.20 ± 2.01 (10), Actor 24.49 ± 0.29 (10), Amazon Photo 91.55 ± 0.17 (10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from bes.graph.sparse import Operators
from bes.models.baselines.method import Method
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.options import Count, Share
from bes.models.baselines.problem import Answer, Problem

#: From operators and rows `[N, C]` to S times these rows, by the name of S: D^-1/2 A D^-1/2, or A D^-1.
NORMS: dict[str, Callable[[Operators, Tensor], Tensor]] = {
    "DAD": lambda ops, rows: -(ops.cheb @ rows),
    "AD": lambda ops, rows: ops.mean.transposed @ rows,
}


@dataclass(frozen=True)
class LabelPropagation(Method):
    """Classes that spread over the edges; for nodes only.

    Args:
        alpha: Weight of the neighbours against the node's own start.
        steps: How often the rows are spread.
        norm: S: `DAD` is D^-1/2 A D^-1/2, `AD` is A D^-1.
    """

    pairs: ClassVar[bool] = False

    alpha: Share = 0.9
    steps: Count = 50
    norm: Literal["DAD", "AD"] = "DAD"

    def fit(self, problem: Problem) -> Answer:
        assert isinstance(problem, NodeProblem)
        start = problem.one_hot
        found = spread(start, problem.graph.operators, self.alpha, self.steps, norm=self.norm)
        return problem.answer(shares(found, start.sum(0)))


def spread(
    start: Tensor, ops: Operators, alpha: float, steps: int, *, low: float = 0.0, norm: Literal["DAD", "AD"] = "DAD"
) -> Tensor:
    """`start` `[N, C]` after `steps` of Y <- clamp(alpha S Y + (1 - alpha) start, low, 1)."""
    kept, rows = (1 - alpha) * start, start
    for _ in range(steps):
        rows = torch.add(kept, NORMS[norm](ops, rows), alpha=alpha).clamp_(low, 1.0)
    return rows


def shares(rows: Tensor, otherwise: Tensor) -> Tensor:
    """Rows `[N, C]` of numbers from 0 that sum to one; a row of zeros becomes `otherwise` `[C]`."""
    rows = torch.where(rows.sum(1, keepdim=True) > 0, rows, otherwise)
    return rows / rows.sum(1, keepdim=True)
