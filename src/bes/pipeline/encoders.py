"""Node classification by the encoders' own heads: Graph -> NodeSplit -> Encoders -> EncoderShaper -> scores."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence

import numpy as np

from bes.checkpoint import NodeModel
from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.models.encoder_shaper import EncoderShaper
from bes.models.encoders import EncoderEnsemble
from bes.models.fused import fused_proba
from bes.pipeline import watching
from bes.pipeline.methods import Studies, method_arms, resolved, with_networks
from bes.pipeline.results import ArmResult, SeedResult, clock, kept_rows, score_nodes
from bes.pipeline.start import Embedded, begin
from bes.pipeline.trained import Trained, epochs_key
from bes.progress import Watch


def run_encoders(
    config: RunConfig,
    graph: Graph,
    seed: int,
    watchers: Sequence[Watch] = (),
    trained: Trained[Embedded] | None = None,
    studies: Studies | None = None,
) -> SeedResult:
    """Control, shaped, rivals and methods, paired on one split: `bes` starts from the encoders that `control` is."""
    trained = trained or Trained(keep=False)
    start = begin(config, graph, seed, watchers, trained)
    blind, task = start.graph, start.task

    def score(arm: str, encoders: EncoderEnsemble, seconds: dict[str, float]) -> ArmResult:
        with clock(seconds, "decoder"):
            prob = fused_proba(encoders, blind)
        what = f"The encoders of graph '{blind.name}'"
        result = score_nodes(arm, task, prob, seconds, what, "encoders.lr or encoder_shaper.lr")
        result.selected = {"encoders": start.selected}
        result.more |= start.more
        return result

    def shape() -> tuple[EncoderShaper, float]:
        began = time.perf_counter()
        steps = watching.stage(watchers, "shaping of bes", config.encoder_shaper.epochs)
        shaper = make_encoder_shaper(config, seed).fit(start.encoders, blind, start.split, steps)
        return shaper, time.perf_counter() - began

    seconds = {"encoders": start.seconds, "shaping": 0.0}
    plain = score("control", start.encoders, dict(seconds))
    shaper, seconds["shaping"] = trained.made(epochs_key(config), shape)
    if shaper.guard != config.encoder_shaper.guard:
        shaper.set_params(guard=config.encoder_shaper.guard).decide(start.encoders, blind, start.split)
    shaped = score("bes", shaper.encoders_, seconds)
    describe(shaped, shaper)
    arms = [plain, shaped, *method_arms(with_networks(resolved(config)), graph, seed, task, watchers, studies)]
    model = NodeModel(config, seed, copy.deepcopy(start.encoders), shaped=shaper.encoders_).to("cpu")
    unscored = np.full(blind.n_nodes, np.nan)  # the band is found by margins, not by shift scores
    rows = kept_rows([start.z, shaper.transform(blind)], [shaper.band_], [unscored])
    return SeedResult(seed, start.split.arrays(), arms, rows, shaper.history_, model)


def make_encoder_shaper(config: RunConfig, seed: int) -> EncoderShaper:
    """The shaper of a configuration."""
    options = config.encoder_shaper.model_dump()
    return EncoderShaper(**options, selection=config.selection, random_state=seed, device=config.device)


def describe(result: ArmResult, shaper: EncoderShaper) -> None:
    """Add what the shaper saw and did."""
    kept = shaper.epoch_
    row = shaper.history_[max(0, kept)]
    result.boundary = [{"layer": 1, "region": row["joined"] + row["band"], "set": row["band"]}]
    result.steps = {"tried": len(shaper.history_), "accepted": kept + 1, "halvings": 0}
    result.selected["shaping"] = kept
    result.more |= shaper.facts()
    result.notes += shaper.remarks()
