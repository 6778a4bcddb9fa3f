"""Edge classification (Eq. 2): its metrics, and the guard of the test part."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from bes.graph.edge_splits import EdgeSplit
from bes.graph.pairs import pair_prob
from bes.metrics import Metrics, classification
from bes.tasks.guard import Guard


class EdgeTask:
    """Scores each arm of a run, once.

    Args:
        split: Which edges are tested.
        at_boundary: The test edges at the boundary, bool `[E]`, the same for all arms; None says nothing of them.
    """

    def __init__(self, split: EdgeSplit, at_boundary: Tensor | None) -> None:
        self.split = split
        self.at_boundary = at_boundary
        self._guard = Guard()

    def evaluate(self, arm: str, logits: Mapping[str, Tensor]) -> dict[str, Metrics]:
        """Metrics of logits `[E, n_logits]` by part: `val`, `test`, `test_boundary`."""
        self._guard.open(arm)
        truth = {part: self.split.reveal(part).cpu().numpy() for part in self.split.parts}
        # float64: in float32 the probabilities of sure edges round to one, and their ranks are lost
        prob = {part: pair_prob(logits[part].detach().double()).cpu().numpy() for part in self.split.parts}
        metrics = {part: classification(truth[part], prob[part]) for part in self.split.parts}
        if self.at_boundary is not None:
            here = self.at_boundary.cpu().numpy()
            metrics["test_boundary"] = classification(truth["test"][here], prob["test"][here])
        return metrics
