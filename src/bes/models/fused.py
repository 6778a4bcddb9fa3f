"""Encoders side by side as one network, read by their own heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from bes.graph.graph import Graph
from bes.models.alike import read
from bes.models.encoders import Encoder, EncoderEnsemble


class Fused(nn.Module):
    """Encoders side by side: the mean of their logits, and their hidden layers as one."""

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)

    def forward(self, graph: Graph, rng: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Logits `[N, C]` and hidden layers `[N, D]`; `rng` is the stream of the dropout in training mode."""
        return self.read(self.embed(graph), graph, rng)

    def embed(self, graph: Graph) -> Tensor:
        """The hidden layers `[N, D]`, before any dropout."""
        return torch.cat([one.embed(graph.x, graph.operators) for one in self._each()], dim=1)

    def on(self, graph: Graph) -> Callable[[], Tensor]:
        """`embed` on a graph that stays as it is while the weights change."""
        layers = [one.conv1.on(graph.x, graph.operators) for one in self._each()]
        return lambda: torch.cat([layer().relu_() for layer in layers], dim=1)

    def read(self, hidden: Tensor, graph: Graph, rng: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """What `forward` gives, from the hidden layers."""
        parts = hidden.split([one.conv1.out_channels for one in self._each()], dim=1)
        logits = [one.read(part, graph.operators, rng) for one, part in zip(self._each(), parts, strict=True)]
        return torch.stack(logits).mean(0), hidden

    def _each(self) -> list[Encoder]:
        return [one for one in self.encoders if isinstance(one, Encoder)]


def fused_proba(encoders: EncoderEnsemble, graph: Graph) -> Tensor:
    """Probability of each class `[N, C]` by the mean of the encoders' own logits, from both views if they say so."""
    graph = encoders.place(graph)
    with torch.no_grad():
        logits, _ = Fused(encoders.encoders_).eval().forward(graph)
        prob = logits.softmax(1)
        return read(prob, graph) if encoders.both_views_ else prob
