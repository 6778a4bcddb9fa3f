"""Classes of nodes under the protocol of all methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, Part
from bes.models.base import glorot_linear
from bes.models.baselines.problem import Answer, Embed, Network, Problem, Staged, Streams, Training, summed
from bes.training import SELECTED_ON, Callback, Score, Selection, TrainLog, logits_of, node_objective, train


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
        """(accuracy as the split counts it, negative cross-entropy) of logits `[N, C]` on the part that selects."""
        return node_objective(self.split, self._part)[1](logits)

    def answer(self, prob: Tensor, log: TrainLog | None = None) -> Answer:
        """Probabilities `[N, C]` as they are, scored; the log is of the training that they came from."""
        return Answer(self.score(logits_of(prob)), prob, log=log or TrainLog())

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
        own, score = node_objective(self.split, self._part)
        network = network.to(self.device)
        forward, shared = network.in_training(self.graph, streams.dropout)
        log = train(
            network,
            forward,
            summed(loss or own, extra),
            score,
            shared=shared,
            epochs=training.epochs,
            lr=training.lr,
            weight_decay=training.weight_decay,
            patience=training.patience,
            groups=network.groups(training.weight_decay),
            first=first,
            callbacks=self.steps,
        )
        network.eval()
        with torch.no_grad():
            prob = network(self.graph).softmax(1)
        return Answer(log.best_score, prob, log=log)

    def probe(self, embed: Embed, training: Training) -> Answer:
        z = embed(self.graph).detach()
        streams = self.streams("probe")
        answer = self.fit(Probe(z, self.n_classes, streams.init), training, streams)
        answer.embedding = z
        return answer


class Probe(Staged):
    """z W + b on fixed embeddings `z` `[N, D]`."""

    def __init__(self, z: Tensor, n_classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.z = z
        self.linear = glorot_linear(z.shape[1], n_classes, generator)

    def begin(self, graph: Graph) -> Tensor:  # noqa: ARG002
        logits: Tensor = self.linear(self.z)
        return logits

    def finish(self, begun: Tensor, graph: Graph, rng: torch.Generator | None = None) -> Tensor:  # noqa: ARG002
        return begun
