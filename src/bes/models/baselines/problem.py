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
from bes.graph.pairs import PairSplit
from bes.graph.splits import NodeSplit, Part
from bes.models.baselines.options import Count, Natural, NonNegative, Positive
from bes.models.pairs import PairDecoder, PairNet, products, score_pairs
from bes.training import SELECTED_ON, Callback, Score, Selection, TrainLog, node_objective, pair_objective, train

#: From a graph to embeddings `[N, D]` of its nodes.
Embed = Callable[[Graph], Tensor]


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


@dataclass
class Answer:
    """What a method says.

    Attributes:
        prob: Class probabilities `[N, C]` of every node; None where pairs are predicted.
        pairs: From a held-out part to logits `[P, n_logits]` of its pairs; None where nodes are.
        score: On validation: what selects among epochs, and among settings.
        log: The training that was selected on validation; its `best_epoch` is -1 where there was none.
        notes: What a reader of the figures should know.
    """

    score: Score
    prob: Tensor | None = None
    pairs: Callable[[str], Tensor] | None = None
    log: TrainLog = field(default_factory=TrainLog)
    notes: list[str] = field(default_factory=list)


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
        mask = torch.ones(self.graph.n_nodes, dtype=torch.bool, device=self.device)
        mask[self.train] = False
        return mask.nonzero().flatten()

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
    ) -> Answer:
        """Train a network end to end and keep the epoch that is best on validation.

        Args:
            loss: From outputs in training mode to the loss, instead of the task's own; for nodes only.
            extra: From outputs in training mode to what is added to the loss.
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


class NodeProblem(Problem):
    """Classes of nodes.

    Attributes:
        split: For estimators of this library, which read nothing of it but training labels and the score.

    Args:
        graph: Its labels are not read.
        part: The part whose score selects: `val`, or `test` where the official protocol is reproduced.
    """

    pairwise = False

    def __init__(
        self, graph: Graph, split: NodeSplit, seed: int, part: Part = "val", steps: Sequence[Callback] = ()
    ) -> None:
        super().__init__(graph.without_labels(), split.train, split.train_labels, split.n_classes, seed, steps)
        self.split = split
        self._part: Part = part

    def streams(self, *names: str | int) -> Streams:
        return Streams(self.init(0, *names), self.generator("dropout", 0, *names), self.generator("batch", 0, *names))

    def n_out(self, width: int) -> int:  # noqa: ARG002
        return self.n_classes

    @property
    def selection(self) -> Selection:
        """What chooses an epoch, as estimators call it."""
        return "validation" if self._part == SELECTED_ON["validation"] else "test-peek"

    def score(self, logits: Tensor) -> Score:
        """(accuracy, negative cross-entropy) of logits `[N, C]` on the part that selects."""
        return node_objective(self.split, self._part)[1](logits)

    def answer(self, prob: Tensor, log: TrainLog | None = None) -> Answer:
        """Probabilities `[N, C]` as they are; the log's score, where there is one, is theirs."""
        return Answer(self.score(prob.clamp_min(1e-12).log()), prob, log=log or TrainLog())

    def fit(
        self,
        network: Network,
        training: Training,
        streams: Streams,
        *,
        loss: Callable[[Tensor], Tensor] | None = None,
        extra: Callable[[Tensor], Tensor] | None = None,
    ) -> Answer:
        own, score = node_objective(self.split, self._part)
        network = network.to(self.device)
        log = train(
            network,
            lambda: network(self.graph, streams.dropout),
            _summed(loss or own, extra),
            score,
            epochs=training.epochs,
            lr=training.lr,
            weight_decay=training.weight_decay,
            patience=training.patience,
            groups=network.groups(training.weight_decay),
            callbacks=self.steps,
        )
        network.eval()
        with torch.no_grad():
            prob = network(self.graph).softmax(1)
        return Answer(log.best_score, prob, log=log)

    def probe(self, embed: Embed, training: Training) -> Answer:
        z = embed(self.graph).detach()
        streams = self.streams("probe")
        return self.fit(Probe(z, self.n_classes, streams.init), training, streams)


class PairProblem(Problem):
    """Links, or classes of edges.

    Args:
        split: Its message graph is all that is seen of the edges.
        decoder: What reads pairs: made anew for each embedding, with the run's settings. Networks that are trained end
            to end get one of the same kind and width.
        labels: Classes of nodes `[N]`, -1 where unknown; None where no class is known.
    """

    pairwise = True

    def __init__(
        self,
        split: PairSplit,
        decoder: Callable[[], PairDecoder],
        labels: Tensor | None,
        n_classes: int,
        seed: int,
        steps: Sequence[Callback] = (),
    ) -> None:
        known = torch.empty(0, dtype=torch.long, device=split.graph.device)
        if labels is not None:
            known = (labels >= 0).nonzero().flatten()
        super().__init__(split.graph, known, known if labels is None else labels[known], n_classes, seed, steps)
        self.split = split
        self.decoder = decoder

    def streams(self, *names: str | int) -> Streams:
        names = (0, *names, self.decoder().kind)
        return Streams(self.init(*names), self.generator("dropout", *names), self.generator("negatives", *names))

    def n_out(self, width: int) -> int:
        return width

    def fit(
        self,
        network: Network,
        training: Training,
        streams: Streams,
        *,
        loss: Callable[[Tensor], Tensor] | None = None,
        extra: Callable[[Tensor], Tensor] | None = None,
    ) -> Answer:
        if loss is not None:
            raise InputError("A loss on nodes cannot train a network for pairs: give it as extra.")
        split, ops, made = self.split, self.graph.operators, self.decoder()
        network = network.to(self.device)
        with torch.no_grad():
            width = network.eval()(self.graph).shape[1]
        head = PairNet(
            made.kind,
            width,
            split.n_logits,
            hidden=made.hidden,
            dropout=made.dropout,
            norm=False,
            generator=streams.init,
        ).to(self.device)
        rng = streams.dropout
        own, score = pair_objective(split, products, lambda e: head.read(e, ops, rng), made.batch, streams.draw)
        groups = [*network.groups(training.weight_decay), {"params": list(head.parameters())}]
        log = train(
            nn.ModuleList([network, head]),
            lambda: head.nodes(network(self.graph, rng), ops, rng),
            _summed(own, extra),
            score,
            epochs=training.epochs,
            lr=training.lr,
            weight_decay=training.weight_decay,
            patience=training.patience,
            groups=groups,
            callbacks=self.steps,
        )
        network.eval()
        head.eval()

        def pairs(part: str) -> Tensor:
            graph = split.graph_of(part)
            with torch.no_grad():
                h = head.nodes(network(graph), graph.operators)
            return score_pairs(head, h, split.pairs(part), graph.operators)

        return Answer(log.best_score, pairs=pairs, log=log)

    def probe(self, embed: Embed, training: Training) -> Answer:  # noqa: ARG002 (the run's decoder has its own)
        z = embed(self.graph).detach()
        split, decoder = self.split, self.decoder()
        decoder.fit(z, split, callbacks=self.steps)

        def pairs(part: str) -> Tensor:
            graph = split.graph_of(part)
            here = z if graph is self.graph else embed(graph).detach()
            return decoder.decision_function(graph, here, split.pairs(part))

        score = decoder.log_.best_score if decoder.log_.history else split.score(pairs("val"))
        return Answer(score, pairs=pairs, log=decoder.log_)


class Probe(Network):
    """z W + b on fixed embeddings `z` `[N, D]`."""

    def __init__(self, z: Tensor, n_classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.z = z
        self.linear = nn.utils.skip_init(nn.Linear, z.shape[1], n_classes)
        nn.init.xavier_uniform_(self.linear.weight, generator=generator)
        nn.init.zeros_(self.linear.bias)

    def forward(self, graph: Graph, rng: torch.Generator | None = None) -> Tensor:  # noqa: ARG002
        logits: Tensor = self.linear(self.z)
        return logits


def _summed(loss: Callable[[Tensor], Tensor], extra: Callable[[Tensor], Tensor] | None) -> Callable[[Tensor], Tensor]:
    return loss if extra is None else lambda out: loss(out) + extra(out)
