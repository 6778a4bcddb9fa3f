"""The way through the house: Graph -> Split -> Encoders -> Z -> BoundaryShaper -> Z^ -> Decoder -> scores."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bes import seeding
from bes.config import RunConfig
from bes.core.options import check_options
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import NodeSplit, make_split
from bes.models.convs import CONVS, pick
from bes.models.decoders import KINDS, Decoder
from bes.models.encoders import EncoderEnsemble
from bes.tasks.node import NodeTask, check_labels

#: Every run has both; they share split, encoders and decoder seed.
ARMS = ("control", "bes")


@dataclass
class ArmResult:
    """One arm of one seed: what goes into its record, and its probabilities `[N, C]`."""

    arm: str
    metrics: dict[str, Any]
    prob: np.ndarray
    seconds: dict[str, float]
    boundary: list[dict[str, int]]
    selected: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)
    peak_mib: float | None = None


@dataclass
class SeedResult:
    """Both arms of one seed, its split, the embeddings before and after `[N, D]`, the shaper's history."""

    seed: int
    split: NodeSplit
    arms: list[ArmResult]
    before: np.ndarray
    after: np.ndarray
    boundary_nodes: np.ndarray
    history: list[dict[str, Any]]


def check(config: RunConfig, graph: Graph, seeds: list[int]) -> None:
    """Refuse, before anything is trained or written, what `run_seed` would refuse on the way."""
    seeding.pick_device(config.device)
    if not config.encoders.names:
        raise InputError(f"The setting encoders.names is empty: name some of {', '.join(CONVS)}.")
    for name in config.encoders.names:
        pick(CONVS, name, "encoder")
    pick(KINDS, config.decoder.kind, "decoder")
    check_options(_shaper(config, 0))
    for seed in seeds:
        check_labels(graph, make_split(graph, config.split, seed), allow_missing=config.allow_missing_classes)


def run_seed(config: RunConfig, graph: Graph, seed: int) -> SeedResult:
    """Control and shaped, paired on one split."""
    device = seeding.pick_device(config.device)
    seconds: dict[str, float] = {}
    graph = prepare(graph, config).to(device)
    split = make_split(graph, config.split, seed)
    check_labels(graph, split, allow_missing=config.allow_missing_classes)
    blind = graph.without_labels()

    with _clock(seconds, "encoders"):
        phi = _encoders(config, seed).fit(blind, split)
        z = phi.transform(blind)
    with _clock(seconds, "shaping"):
        shaper, z_hat, notes = _shape(config, seed, blind, split, z)

    task = NodeTask(split, z)
    arms = []
    for arm, embedding in zip(ARMS, (z, z_hat), strict=True):
        spent = dict(seconds) if arm == "bes" else {**seconds, "shaping": 0.0}
        with _clock(spent, "decoder"):
            decoder = _decoder(config, seed).fit(blind, embedding, split)
            prob = decoder.predict_proba(blind, embedding)
            if not torch.isfinite(prob).all():
                raise InputError(f"The decoder of graph '{graph.name}' diverged in arm '{arm}': lower decoder.lr.")
        with _clock(spent, "evaluate"):
            metrics = task.evaluate(arm, prob)
        selected = {"encoders": [log.best_epoch for log in phi.logs_], "decoder": decoder.log_.best_epoch}
        result = ArmResult(arm, metrics, prob.cpu().numpy(), spent, [], selected, peak_mib=peak_mib())
        if arm == "bes":
            result.boundary, result.notes, result.steps = _sizes(shaper), notes, _steps(shaper)
        arms.append(result)
    nodes = shaper.boundary_[0] if shaper.boundary_ else np.empty(0, dtype=np.int64)
    return SeedResult(seed, split, arms, z.cpu().numpy(), z_hat.cpu().numpy(), nodes, shaper.history_)


def prepare(graph: Graph, config: RunConfig) -> Graph:
    """The graph with its features as the configuration wants them."""
    if config.features == "raw":
        return graph
    if isinstance(graph.x, Sparse):
        row, col, value = graph.x.coo()
        total = torch.zeros(graph.n_nodes, device=graph.device).index_add(0, row, value)
        scaled = value / torch.where(total == 0, 1.0, total)[row]
        return replace(graph, x=Sparse.from_coo(row, col, scaled, (graph.n_nodes, graph.n_features)))
    total = graph.x.sum(1, keepdim=True)
    return replace(graph, x=graph.x / torch.where(total == 0, 1.0, total))


def _encoders(config: RunConfig, seed: int) -> EncoderEnsemble:
    given = config.encoders
    return EncoderEnsemble(
        given.names,
        given.channels,
        epochs=given.epochs,
        lr=given.lr,
        weight_decay=given.weight_decay,
        dropout=given.dropout,
        random_state=seed,
        device=config.device,
    )


def _shaper(config: RunConfig, seed: int) -> BoundaryShaper:
    options = config.shaper.model_dump()
    return BoundaryShaper(**options, n_views=len(config.encoders.names), random_state=seed, device=config.device)


def _shape(
    config: RunConfig, seed: int, graph: Graph, split: NodeSplit, z: Tensor
) -> tuple[BoundaryShaper, Tensor, list[str]]:
    shaper = _shaper(config, seed)
    labels = torch.full((graph.n_nodes,), -1, device=z.device)
    labels[split.train] = split.train_labels
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        z_hat = shaper.fit_transform(z, labels, edge_index=graph.edge_index)
    return shaper, z_hat, [str(warning.message) for warning in caught]


def _decoder(config: RunConfig, seed: int) -> Decoder:
    return Decoder(**config.decoder.model_dump(), selection=config.selection, random_state=seed, device=config.device)


def _sizes(shaper: BoundaryShaper) -> list[dict[str, int]]:
    pairs = zip(shaper.region_sizes_, shaper.boundary_, strict=True)
    return [{"layer": i + 1, "region": region, "set": len(nodes)} for i, (region, nodes) in enumerate(pairs)]


def _steps(shaper: BoundaryShaper) -> dict[str, int]:
    rows = shaper.history_
    return {
        "tried": len(rows),
        "accepted": sum(row["accepted"] for row in rows),
        "halvings": sum(row["halvings"] for row in rows),
    }


@contextmanager
def _clock(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def peak_mib() -> float | None:
    """Peak resident memory of this process so far, in MiB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
