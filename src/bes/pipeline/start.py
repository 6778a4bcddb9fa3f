"""What the ways of node classification begin with: Graph -> NodeSplit -> Encoders -> Z."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from bes import seeding
from bes.checkpoint import make_encoders
from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.graph.scaling import scale
from bes.graph.splits import NodeSplit, make_split
from bes.models.encoders import EncoderEnsemble
from bes.pipeline import watching
from bes.pipeline.batching import parts_of
from bes.pipeline.trained import Trained
from bes.progress import Watch
from bes.scale.batches import Parts
from bes.tasks.node import NodeTask, check_labels

#: What is kept from one run for the next: the encoders, and the embeddings.
Embedded = tuple[EncoderEnsemble, Tensor]


@dataclass(frozen=True)
class Start:
    """A split of a graph, with trained encoders.

    Attributes:
        graph: With its features scaled, without labels.
        z: The encoders' embeddings `[N, D]`.
        seconds: That the encoders took.
        parts: The graph in parts, where it is trained on in parts.
        reused: Whether they are from an earlier run.
    """

    graph: Graph
    split: NodeSplit
    encoders: EncoderEnsemble
    z: Tensor
    seconds: float
    reused: bool
    parts: Parts | None = None

    @property
    def task(self) -> NodeTask:
        return NodeTask(self.split, self.z)

    @property
    def more(self) -> dict[str, object]:
        """For the records: whether encoders are from an earlier run, and which were kept where not all are."""
        kept = {"encoders_kept": [one.name for one in self.encoders.encoders_]} if self.encoders.keep else {}
        return {**kept, **({"encoders_reused": True} if self.reused else {})}

    @property
    def selected(self) -> list[int]:
        """The epochs that validation chose, an encoder each."""
        return [log.best_epoch for log in self.encoders.logs_]


def begin(config: RunConfig, graph: Graph, seed: int, watchers: Sequence[Watch], trained: Trained[Embedded]) -> Start:
    """Split, and train the encoders, or take them from an earlier run."""
    graph = scale(graph, config.features).to(seeding.pick_device(config.device))
    split = make_split(graph, config.split, seed, config.scoring)
    check_labels(graph, split, allow_missing=config.allow_missing_classes)
    blind = graph.without_labels()
    parts = parts_of(config, blind)

    def encode() -> tuple[Embedded, float]:
        start = time.perf_counter()
        steps = watching.encoders(watchers, config.encoders.names, config.encoders.epochs)
        phi = make_encoders(config, seed).fit(blind, split, steps, parts)
        return (phi, phi.transform(blind, parts)), time.perf_counter() - start

    (phi, z), spent, reused = trained.get(config, seed, encode)
    return Start(blind, split, phi, z, spent, reused, parts)
