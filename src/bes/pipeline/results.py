"""What the ways through the house share: their results, the clock, the features and the shaper of a configuration."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bes.checkpoint import NodeModel
from bes.config import RunConfig
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.models.convs import pick
from bes.tasks.node import NodeTask


@dataclass
class ArmResult:
    """One arm of one seed: what goes into its record, and the arrays of its predictions file."""

    arm: str
    metrics: dict[str, Any]
    predictions: dict[str, np.ndarray]
    seconds: dict[str, float]
    boundary: list[dict[str, int]] = field(default_factory=list)
    selected: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)
    peak_mib: float | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def shaped_by(self, shaper: BoundaryShaper, notes: list[str]) -> None:
        """Add what the shaper saw and did."""
        sizes = zip(shaper.region_sizes_, shaper.boundary_, strict=True)
        self.boundary = [{"layer": i + 1, "region": region, "set": len(rows)} for i, (region, rows) in enumerate(sizes)]
        self.notes = notes
        rows = shaper.history_
        self.steps = {
            "tried": len(rows),
            "accepted": sum(row["accepted"] for row in rows),
            "halvings": sum(row["halvings"] for row in rows),
        }


@dataclass
class SeedResult:
    """All arms of one seed, its split, what was shaped before and after `[R, D]`, the shaper's history.

    Attributes:
        split: The arrays of the split's file, and its `name`; not the split itself, which holds the graph.
        rows: `before` and `after` `[R, D]`, `between` `[layers - 1, R, D]` (after each layer but the last), the first
            layer's `boundary` (indices of rows), `boundaries` (bool) and `shift_scores` (NaN where there is none), both
            `[layers looked at, R]`; for pairs also the `label` that the shaper was given for each row and, where rows
            are pairs, which `pair` each is.
        model: What was trained, on the CPU; pair tasks keep none.
    """

    seed: int
    split: dict[str, np.ndarray]
    arms: list[ArmResult]
    rows: dict[str, np.ndarray]
    history: list[dict[str, Any]]
    model: NodeModel | None = None


def check_rivals(config: RunConfig, known: Mapping[str, object]) -> None:
    """Refuse arms that are not `known`, or named twice."""
    for i, name in enumerate(config.rivals):
        pick(known, name, "arm")
        if name in config.rivals[:i]:
            raise InputError(f"The arm '{name}' is named twice among the rivals: name it once.")


def make_shaper(config: RunConfig, seed: int) -> BoundaryShaper:
    """The shaper of a configuration, a view an encoder."""
    options = config.shaper.model_dump()
    return BoundaryShaper(**options, n_views=config.encoders.n_kept, random_state=seed, device=config.device)


def shaped_rows(shaper: BoundaryShaper, z: Tensor, edge_index: Tensor | None) -> tuple[Tensor, dict[str, np.ndarray]]:
    """The shaped embeddings, and what a run keeps of them (see `SeedResult`)."""
    stages = shaper.stages(z, edge_index)
    return stages[-1], kept_rows(stages, shaper.boundary_, shaper.shift_scores_)


def kept_rows(
    stages: Sequence[Tensor], boundaries: Sequence[np.ndarray], scores: Sequence[np.ndarray]
) -> dict[str, np.ndarray]:
    """What a run keeps of embeddings (see `SeedResult`): from the first to the last, with what each look found."""
    z, looked, n = stages[0], len(boundaries), stages[0].shape[0]
    between = torch.stack(list(stages[1:-1])) if len(stages) > 2 else z.new_empty(0, *z.shape)
    at = np.zeros((looked, n), dtype=bool)
    for layer, nodes in enumerate(boundaries):
        at[layer, nodes] = True
    return {
        "before": z.cpu().numpy(),
        "after": stages[-1].cpu().numpy(),
        "between": between.cpu().numpy(),
        "boundary": boundaries[0] if looked else np.empty(0, dtype=np.int64),
        "boundaries": at,
        "shift_scores": np.array(scores, dtype=np.float32).reshape(looked, n),
    }


def score_nodes(arm: str, task: NodeTask, prob: Tensor, seconds: dict[str, float], what: str, lower: str) -> ArmResult:
    """Open the test part for probabilities `[N, C]`, once they are sound.

    Args:
        what, lower: For the sentence that says what diverged, and what to lower.
    """
    if not torch.isfinite(prob).all():
        raise InputError(f"{what} diverged in arm '{arm}': lower {lower}.")
    with clock(seconds, "evaluate"):
        metrics = task.evaluate(arm, prob)
    predictions = {"node": np.arange(prob.shape[0]), "prob": prob.cpu().numpy()}
    return ArmResult(arm, metrics, predictions, seconds, peak_mib=peak_mib())


@contextmanager
def clock(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    start = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start


def peak_mib() -> float | None:
    """Peak resident memory of this process so far, in MiB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
