"""Node classification: Graph -> NodeSplit -> Encoders -> Z -> BoundaryShaper -> Z^ -> Decoder -> scores."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bes.checkpoint import NodeModel, make_decoder
from bes.config import LinkConfig, RunConfig
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import make_split
from bes.models.convs import CONVS, pick
from bes.models.decoders import KINDS, Decoder
from bes.models.shaping import fit_quietly
from bes.pipeline import watching
from bes.pipeline.crossfit import out_of_fold
from bes.pipeline.methods import Studies, method_arms, resolved, with_networks
from bes.pipeline.results import (
    ArmResult,
    SeedResult,
    check_rivals,
    clock,
    make_shaper,
    score_nodes,
    shaped_rows,
)
from bes.pipeline.start import Embedded, begin
from bes.pipeline.trained import Trained, control_key, shaping_key
from bes.progress import Watch
from bes.tasks.node import check_labels


def check_nodes(config: RunConfig, graph: Graph, seeds: list[int]) -> None:
    """Refuse what `run_nodes` would refuse on the way."""
    if config.crossfit == 1:
        raise InputError("crossfit=1 leaves no training node to an encoder: use 2 folds or more, or 0 for none.")
    if config.crossfit and config.shaping != "layers":
        raise InputError("The setting crossfit is for shaping=layers: leave one of them out.")
    if config.shaping == "layers":
        pick(KINDS, config.decoder.kind, "decoder")
    check_rivals(config, CONVS)
    if config.links != LinkConfig():
        raise InputError("The settings under links, such as boundary, mean nothing for nodes: use --task link or edge.")
    for seed in seeds:
        check_labels(graph, make_split(graph, config.split, seed), allow_missing=config.allow_missing_classes)


def run_nodes(
    config: RunConfig,
    graph: Graph,
    seed: int,
    watchers: Sequence[Watch] = (),
    trained: Trained[Embedded] | None = None,
    studies: Studies | None = None,
) -> SeedResult:
    """Control, shaped, rivals and methods, paired on one split."""
    trained = trained or Trained(keep=False)
    start = begin(config, graph, seed, watchers, trained)
    blind, split, phi, z = start.graph, start.split, start.encoders, start.z
    seconds = {"encoders": start.seconds}

    def shape() -> tuple[BoundaryShaper, list[str], Tensor, dict[str, np.ndarray], float]:
        began = time.perf_counter()
        shaper = make_shaper(config, seed)
        labels = torch.full((blind.n_nodes,), -1, device=z.device)
        labels[split.train] = split.train_labels
        steps = watching.stage(watchers, "shaping of bes", config.shaper.n_layers * config.shaper.n_iter)
        seen = out_of_fold(config, start, seed) if config.crossfit else z
        notes = fit_quietly(shaper, seen, labels, blind.edge_index, steps)
        return shaper, notes, *shaped_rows(shaper, z, blind.edge_index), time.perf_counter() - began

    shaper, notes, z_hat, rows, seconds["shaping"] = trained.made(shaping_key(config), shape)

    task = start.task

    def decode(arm: str, embedding: Tensor, taken: dict[str, float]) -> tuple[ArmResult, Decoder]:
        with clock(taken, "decoder"):
            steps = watching.stage(watchers, f"decoder of {arm}", config.decoder.epochs)
            decoder = make_decoder(config, seed).fit(blind, embedding, split, steps, start.parts)
            prob = decoder.predict_proba(blind, embedding, start.parts)
        result = score_nodes(arm, task, prob, taken, f"The decoder of graph '{graph.name}'", "decoder.lr")
        result.selected = {"encoders": start.selected, "decoder": decoder.log_.best_epoch}
        return result, decoder

    plain, plain_decoder = trained.made(control_key(config), lambda: decode("control", z, {**seconds, "shaping": 0.0}))
    shaped, shaped_decoder = decode("bes", z_hat, dict(seconds))
    shaped.shaped_by(shaper, notes)
    for result in (plain, shaped):
        result.more |= start.more
    arms = [plain, shaped, *method_arms(with_networks(resolved(config)), graph, seed, task, watchers, studies)]
    decoders = {"control": plain_decoder, "bes": shaped_decoder}
    model = NodeModel(config, seed, copy.deepcopy(phi), shaper, decoders).to("cpu")  # the next run has phi as it is
    return SeedResult(seed, split.arrays(), arms, rows, shaper.history_, model)
