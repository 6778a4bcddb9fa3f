"""What the evaluations of a training show besides its score."""

from __future__ import annotations

import torch
from torch import Tensor

from bes.graph.splits import NodeSplit, Part


class Seen:
    """Looks at the outputs of evaluations: how far nodes moved since the last, and who was right.

    Attributes:
        moved: The mean distance, from the second evaluation on.
        hits: Who was right, a row of the part's nodes an evaluation (`NodeSplit.hits`).
    """

    def __init__(self, split: NodeSplit, part: Part) -> None:
        self.moved: list[float] = []
        self.hits: list[Tensor] = []
        self._split, self._part, self._last = split, part, torch.empty(0)

    def __call__(self, out: tuple[Tensor, Tensor]) -> Tensor:
        """Look at the outputs, and pass the logits on."""
        logits, hidden = out
        if self.hits:
            self.moved.append((hidden - self._last).norm(dim=1).mean().item())
        self.hits.append(self._split.hits(logits, self._part))
        self._last = hidden
        return logits
