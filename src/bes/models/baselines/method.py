"""What every method is: a frozen set of options with a `fit`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import ConfigDict

from bes.graph.scaling import Scaling
from bes.models.baselines.options import Count, NonNegative, Positive
from bes.models.baselines.problem import Answer, Embed, Network, Problem, Training


@dataclass(frozen=True)
class Method(Training, ABC):
    """A way to predict, with its options; `fit` may be called any number of times.

    Args:
        features: How the node features are scaled; None leaves it to the run.
    """

    features: Scaling | None = None

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(allow_inf_nan=False)

    #: Whether it can predict pairs too.
    pairs: ClassVar[bool] = True

    @property
    def learns_classes(self) -> bool:
        """Whether it needs classes of nodes where pairs are predicted."""
        return False

    @abstractmethod
    def fit(self, problem: Problem) -> Answer:
        """Train on what the problem gives and answer it."""


@dataclass(frozen=True)
class Supervised(Method):
    """A network that is trained end to end for the task."""

    @property
    def stream(self) -> str:
        """The name of its random streams."""
        return type(self).__name__

    @abstractmethod
    def network(self, problem: Problem, generator: torch.Generator) -> Network:
        """The network with its initial weights."""

    def fit(self, problem: Problem) -> Answer:
        streams = problem.streams(self.stream)
        return problem.fit(self.network(problem, streams.init), self, streams)


@dataclass(frozen=True)
class SelfSupervised(Method):
    """Embeddings that are learned without labels, frozen, and read by a linear map (pairs: by the run's decoder).

    Args:
        epochs, lr, weight_decay: Of the pretraining; it has no validation and runs to its end.
        probe_epochs, probe_lr, probe_weight_decay: Of the linear map for nodes.
    """

    probe_epochs: Count = 600
    probe_lr: Positive = 0.01
    probe_weight_decay: NonNegative = 1e-5

    @abstractmethod
    def embed(self, problem: Problem) -> Embed:
        """Pretrain on the problem's graph."""

    def fit(self, problem: Problem) -> Answer:
        return problem.probe(self.embed(problem), self.probing)

    @property
    def probing(self) -> Training:
        """How the linear map is trained."""
        return Training(self.probe_epochs, self.probe_lr, self.probe_weight_decay, 0)
