"""Link prediction: its metrics, its threshold, and the guard of the test part."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from bes.graph.links import LinkSplit
from bes.metrics import Metrics, best_threshold, links
from bes.tasks.guard import Guard


class LinkTask:
    """Scores each arm of a run, once.

    Args:
        split: Which pairs are tested.
        at_boundary: The test pairs at the boundary, bool `[P]`, the same for all arms; None says nothing of them.
    """

    def __init__(self, split: LinkSplit, at_boundary: Tensor | None) -> None:
        self.split = split
        self.at_boundary = at_boundary
        self._guard = Guard()

    def evaluate(self, arm: str, scores: Mapping[str, Tensor]) -> dict[str, Metrics]:
        """Metrics of scores `[P]` or `[P, 1]` by part of the split: larger means link.

        `val` also says the `threshold` that makes its accuracy largest; accuracy and F1 of all parts
        are taken at it. `test_two_hop` and `test_degree` hold the test edges against hard negatives
        (two hops apart, matched by degree), `test_hard` against both.
        """
        self._guard.open(arm)
        sides = {part: self._sides(part, scores[part]) for part in self.split.parts}
        threshold = best_threshold(*sides["val"])
        link, near, far = sides["test"][0], sides["two_hop"][1], sides["degree"][1]
        here = self.at_boundary
        sets = {
            "val": sides["val"],
            "test": sides["test"],
            **({} if here is None else {"test_boundary": self._sides("test", scores["test"], here)}),
            "test_two_hop": (link, near),
            "test_degree": (link, far),
            "test_hard": (link, torch.cat([near, far])),
        }
        metrics = {part: links(*both, threshold) for part, both in sets.items()}
        metrics["val"]["threshold"] = threshold
        return metrics

    def _sides(self, part: str, scores: Tensor, where: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores of links and of other pairs."""
        truth, scores = self.split.reveal(part), scores.reshape(-1)
        if where is not None:
            truth, scores = truth[where], scores[where]
        return scores[truth == 1], scores[truth == 0]
