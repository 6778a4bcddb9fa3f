"""The one protocol of all methods: what a method gets, how it is selected, and what it gives back.

A method sees the graph without labels, the classes of the training nodes, and a score on validation that selects
its epoch. It never sees another label, nor, where pairs are predicted, an edge that is held out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import others
from bes.models.baselines.options import Count, Natural, NonNegative, Positive
from bes.training import Callback, Score, TrainLog

#: From a graph to embeddings `[N, D]` of its nodes.
Embed = Callable[[Graph], Tensor]

#: What training and evaluation begin with alike.
Begin = Callable[[], Any]


@dataclass(frozen=True)
class Training:
    """How something is trained: full-batch Adam.

    Args:
        patience: Epochs without a better validation score after which training stops; 0 never stops it.
    """

    epochs: Count = 200
    lr: Positive = 0.01
    weight_decay: NonNegative = 5e-4
    patience: Natural = 0


class Network(nn.Module, ABC):
    """A module from a graph to outputs `[N, n_out]`: logits of nodes, or embeddings that pairs are read from."""

    @abstractmethod
    def forward(self, graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        """`rng` is the stream of the dropout, used in training mode only."""

    def groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Parameters with their weight decay, as torch's optimizers take them."""
        return [{"params": list(self.parameters()), "weight_decay": weight_decay}]

    def in_training(self, graph: Graph, rng: torch.Generator) -> tuple[Callable[..., Tensor], Begin | None]:
        """What `bes.training.train` calls forward, and what it calls shared where there is any."""
        return lambda: self(graph, rng), None


class Staged(Network):
    """A network that begins alike in training and evaluation: with what comes before the first dropout.

    An epoch is scored with the parameters that the next one begins with, so that this is needed once.
    """

    @abstractmethod
    def begin(self, graph: Graph) -> Any:
        """The same in both modes; no randomness, no statistics of batches."""

    @abstractmethod
    def finish(self, begun: Any, graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        """From what `begin` gave to outputs `[N, n_out]`."""

    def forward(self, graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        return self.finish(self.begin(graph), graph, rng)

    def in_training(self, graph: Graph, rng: torch.Generator) -> tuple[Callable[..., Tensor], Begin | None]:
        return lambda begun: self.finish(begun, graph, rng), lambda: self.begin(graph)


@dataclass
class Answer:
    """What a method says.

    Attributes:
        prob: Class probabilities `[N, C]` of every node; None where pairs are predicted.
        pairs: From a held-out part to logits `[P, n_logits]` of its pairs; None where nodes are.
        score: On validation: what selects among epochs, and among settings.
        log: The training that was selected on validation; its `best_epoch` is -1 where there was none.
        notes: What a reader of the figures should know.
        more: What else the record of a run should have, by its key there.
        embedding: What was read, where it was learned without labels; else None.
        base: Class probabilities `[N, C]` of the model that the method stands on, to be scored beside it; else None.
    """

    score: Score
    prob: Tensor | None = None
    pairs: Callable[[str], Tensor] | None = None
    log: TrainLog = field(default_factory=TrainLog)
    notes: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    embedding: Tensor | None = None
    base: Tensor | None = None


@dataclass(frozen=True)
class Streams:
    """Random streams of one thing that is trained: initial weights (CPU), dropout and negatives (its device)."""

    init: torch.Generator
    dropout: torch.Generator
    draw: torch.Generator


class Problem(ABC):
    """A graph with something to predict.

    Attributes:
        graph: Without labels; where pairs are predicted, of the training edges alone.
        train, labels: Nodes whose class is known, sorted, and their classes; both are empty where none is known.
        n_classes: Classes of nodes.
        pairwise: Whether pairs are predicted, not nodes.
        steps: Called after each epoch of what is trained under the protocol.
    """

    pairwise: bool

    def __init__(
        self, graph: Graph, train: Tensor, labels: Tensor, n_classes: int, seed: int, steps: Sequence[Callback]
    ) -> None:
        self.graph = graph
        self.train = train
        self.labels = labels
        self.n_classes = n_classes
        self.seed = seed
        self.steps = steps

    @property
    def device(self) -> torch.device:
        return self.graph.device

    @property
    def one_hot(self) -> Tensor:
        """`[N, C]`: the classes of the training nodes; rows of all other nodes are zero."""
        rows = torch.zeros(self.graph.n_nodes, self.n_classes, device=self.device)
        rows[self.train, self.labels] = 1.0
        return rows

    @property
    def unlabelled(self) -> Tensor:
        """Every node but the training nodes, sorted."""
        return others(self.train, self.graph.n_nodes)

    def generator(self, *names: str | int) -> torch.Generator:
        """A stream on the graph's device."""
        return seeding.generator(self.seed, *names, device=self.device)

    def init(self, *names: str | int) -> torch.Generator:
        """A stream of initial weights, which are drawn on the CPU."""
        return seeding.generator(self.seed, "init", *names)

    @abstractmethod
    def streams(self, *names: str | int) -> Streams:
        """The streams of one network; networks of other names draw from others."""

    @abstractmethod
    def n_out(self, width: int) -> int:
        """How many outputs a network has: one a class of nodes, or `width` where pairs are read from them."""

    @abstractmethod
    def fit(
        self,
        network: Network,
        training: Training,
        streams: Streams,
        *,
        loss: Callable[[Tensor], Tensor] | None = None,
        extra: Callable[[Tensor], Tensor] | None = None,
        first: int = 0,
    ) -> Answer:
        """Train a network end to end and keep the epoch that is best on validation.

        Args:
            loss: From outputs in training mode to the loss, instead of the task's own; for nodes only.
            extra: From outputs in training mode to what is added to the loss.
            first: The first epoch that may be kept.
        """

    @abstractmethod
    def probe(self, embed: Embed, training: Training) -> Answer:
        """Read the task from frozen embeddings: nodes by a linear map, pairs by the run's decoder."""

    def need_labels(self, method: str) -> None:
        """Refuse a method that learns from classes where there are none."""
        if self.train.numel() == 0:
            raise InputError(
                f"The method '{method}' learns from classes of nodes, and this run gives none: use --boundary classes, "
                "or another method."
            )


def summed(loss: Callable[[Tensor], Tensor], extra: Callable[[Tensor], Tensor] | None) -> Callable[[Tensor], Tensor]:
    """A loss with what is added to it."""
    return loss if extra is None else lambda out: loss(out) + extra(out)
