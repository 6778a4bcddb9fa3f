"""Node classification: Graph -> NodeSplit -> Encoders -> Z -> BoundaryShaper -> Z^ -> Decoder -> scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bes import seeding
from bes.checkpoint import NodeModel, make_decoder, make_encoders
from bes.config import LinkConfig, RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import make_split
from bes.models.convs import pick
from bes.models.decoders import KINDS
from bes.pipeline import watching
from bes.pipeline.results import (
    ArmResult,
    SeedResult,
    clock,
    fit_quietly,
    make_shaper,
    peak_mib,
    prepare,
    shaped_rows,
)
from bes.progress import Watch
from bes.tasks.node import NodeTask, check_labels


def check_nodes(config: RunConfig, graph: Graph, seeds: list[int]) -> None:
    """Refuse what `run_nodes` would refuse on the way."""
    pick(KINDS, config.decoder.kind, "decoder")
    if config.rivals:
        raise InputError(
            f"The arm '{config.rivals[0]}' is not known for nodes: leave rivals empty, or use --task link."
        )
    if config.links != LinkConfig():
        raise InputError("The settings under links, such as boundary, mean nothing for nodes: use --task link or edge.")
    for seed in seeds:
        check_labels(graph, make_split(graph, config.split, seed), allow_missing=config.allow_missing_classes)


def run_nodes(config: RunConfig, graph: Graph, seed: int, watchers: Sequence[Watch] = ()) -> SeedResult:
    """Control and shaped, paired on one split."""
    device = seeding.pick_device(config.device)
    seconds: dict[str, float] = {}
    graph = prepare(graph, config).to(device)
    split = make_split(graph, config.split, seed)
    check_labels(graph, split, allow_missing=config.allow_missing_classes)
    blind = graph.without_labels()

    with clock(seconds, "encoders"):
        steps = watching.encoders(watchers, config.encoders.names, config.encoders.epochs)
        phi = make_encoders(config, seed).fit(blind, split, steps)
        z = phi.transform(blind)
    with clock(seconds, "shaping"):
        shaper = make_shaper(config, seed)
        labels = torch.full((graph.n_nodes,), -1, device=z.device)
        labels[split.train] = split.train_labels
        steps = watching.stage(watchers, "shaping of bes", config.shaper.n_layers * config.shaper.n_iter)
        notes = fit_quietly(shaper, z, labels, graph.edge_index, steps)
        z_hat, rows = shaped_rows(shaper, z, graph.edge_index)

    task = NodeTask(split, z)
    arms, decoders = [], {}
    for arm, embedding in (("control", z), ("bes", z_hat)):
        spent = dict(seconds) if arm == "bes" else {**seconds, "shaping": 0.0}
        with clock(spent, "decoder"):
            steps = watching.stage(watchers, f"decoder of {arm}", config.decoder.epochs)
            decoder = decoders[arm] = make_decoder(config, seed).fit(blind, embedding, split, steps)
            prob = decoder.predict_proba(blind, embedding)
            if not torch.isfinite(prob).all():
                raise InputError(f"The decoder of graph '{graph.name}' diverged in arm '{arm}': lower decoder.lr.")
        with clock(spent, "evaluate"):
            metrics = task.evaluate(arm, prob)
        predictions = {"node": np.arange(graph.n_nodes), "prob": prob.cpu().numpy()}
        selected = {"encoders": [log.best_epoch for log in phi.logs_], "decoder": decoder.log_.best_epoch}
        arms.append(ArmResult(arm, metrics, predictions, spent, selected=selected, peak_mib=peak_mib()))
    arms[-1].shaped_by(shaper, notes)
    model = NodeModel(config, seed, phi, shaper, decoders).to("cpu")
    return SeedResult(seed, split.arrays(), arms, rows, shaper.history_, model)
