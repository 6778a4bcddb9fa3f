"""The arms of a pair task: what each says of the held-out pairs, scored once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.pairs import PairSplit, pair_prob
from bes.metrics import Metrics
from bes.models.heuristics import HEURISTICS
from bes.models.pair_encoders import PairEncoders
from bes.models.pairs import PairDecoder
from bes.pipeline.results import ArmResult, clock, peak_mib
from bes.tasks.edge import EdgeTask
from bes.tasks.link import LinkTask

PairTask = LinkTask | EdgeTask

#: From a part of the split to what an arm says of its pairs, `[P, n_logits]`.
Predict = Callable[[str], Tensor]


def heuristic_arm(name: str, task: PairTask, split: PairSplit) -> ArmResult:
    """A score from the features or the neighbours of both ends, without training."""
    heuristic, seconds = HEURISTICS[name], {"encoders": 0.0, "shaping": 0.0, "decoder": 0.0}

    def predict(part: str) -> Tensor:
        return heuristic(split.graph_of(part), split.pairs(part))[:, None]

    return score_arm(name, task, predict, seconds, probable=False)


def score_arm(
    arm: str, task: PairTask, predict: Predict, seconds: dict[str, float], *, probable: bool = True
) -> ArmResult:
    """Predict every part, open the test part, and keep both."""
    split: PairSplit = task.split
    with clock(seconds, "evaluate"):
        logits = {part: predict(part) for part in split.parts}
        if not all(bool(torch.isfinite(found).all()) for found in logits.values()):
            raise InputError(f"Arm '{arm}' of graph '{split.graph.name}' diverged: lower encoders.lr, or its lr.")
        metrics = task.evaluate(arm, logits)
    prob = {part: pair_prob(found) if probable else _decided(found, metrics) for part, found in logits.items()}
    return ArmResult(arm, metrics, _arrays(split, logits, prob), seconds, peak_mib=peak_mib())


def _decided(scores: Tensor, metrics: dict[str, Metrics]) -> Tensor:
    """A heuristic has no probabilities: 0 or 1 by the threshold."""
    link = (scores > float(metrics["val"]["threshold"] or 0.0)).to(torch.float32)
    return torch.cat([1 - link, link], dim=1)


def _arrays(split: PairSplit, logits: dict[str, Tensor], prob: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """Every held-out pair with its part, its class and what the arm says of it."""
    parts = split.parts
    return {
        "pair": torch.cat([split.pairs(part) for part in parts], dim=1).T.cpu().numpy(),
        "part": np.repeat(np.array(parts), [split.pairs(part).shape[1] for part in parts]),
        "label": torch.cat([split.reveal(part) for part in parts]).cpu().numpy(),
        "score": torch.cat([logits[part] for part in parts]).cpu().numpy(),
        "prob": torch.cat([prob[part] for part in parts]).cpu().numpy(),
    }


def make_encoders(config: RunConfig, seed: int) -> PairEncoders:
    """The encoders of a configuration."""
    options = config.encoders.model_dump(exclude={"names", "keep"})
    return PairEncoders(
        config.encoders.names,
        **options,
        decoder=config.decoder.kind,
        hidden=config.decoder.hidden,
        batch=config.links.batch,
        random_state=seed,
        device=config.device,
    )


def make_decoder(config: RunConfig, seed: int) -> PairDecoder:
    """The decoder of a configuration."""
    options = config.decoder.model_dump()
    return PairDecoder(**options, batch=config.links.batch, random_state=seed, device=config.device)
