"""The shaper's options as those of a method."""

from __future__ import annotations

from dataclasses import dataclass

from bes.core import options as core
from bes.core.shaper import BoundaryShaper
from bes.models.baselines.options import Count, Natural, NonNegative, Positive
from bes.models.baselines.problem import Problem


@dataclass(frozen=True)
class ShapingOptions:
    """Options of `bes.BoundaryShaper`, by the same names."""

    n_layers: Natural = 2
    n_iter: Natural = 200
    delta: NonNegative = 5.0
    tau: Positive = 1.0
    alpha: Positive = 0.005
    batch_size: Count = 256
    unit: core.Unit = "absolute"

    def shaper(self, problem: Problem, n_views: int = 1) -> BoundaryShaper:
        """A shaper that is not fitted yet."""
        return BoundaryShaper(
            n_layers=self.n_layers,
            n_iter=self.n_iter,
            delta=self.delta,
            tau=self.tau,
            alpha=self.alpha,
            batch_size=self.batch_size,
            unit=self.unit,
            n_views=n_views,
            random_state=problem.seed,
            device=str(problem.device),
        )
