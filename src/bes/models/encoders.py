"""Phi: encoders that are trained one by one, frozen, and laid side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators, rows_of
from bes.graph.splits import NodeSplit
from bes.models.base import dropout, is_small
from bes.models.convs import CONVS, pick
from bes.models.trust import EdgeTrust
from bes.scale.batches import Parts, Piece
from bes.scale.inference import layer
from bes.scale.steps import node_steps
from bes.training import SELECTED_ON, Callback, TrainLog, node_objective, train


class Encoder(nn.Module):
    """Two convolutions of one kind, `F -> channels -> C`: conv2(dropout(relu(conv1(X)))).

    Args:
        name: A key of `CONVS`.
        dropout: Share of the hidden units that training drops.
        generator: Stream of the initial weights.
    """

    def __init__(
        self,
        name: str,
        n_features: int,
        channels: int,
        n_classes: int,
        *,
        dropout: float = 0.5,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        conv = pick(CONVS, name, "encoder")
        self.name = name
        self.dropout = dropout
        self.conv1 = conv(n_features, channels, generator=generator)
        self.conv2 = conv(channels, n_classes, generator=generator)

    def embed(self, x: Features, ops: Operators) -> Tensor:
        """relu(conv1(X)): `[N, channels]`."""
        hidden: Tensor = self.conv1(x, ops)
        return hidden.relu_()

    def forward(self, x: Features, ops: Operators, rng: torch.Generator | None = None) -> Tensor:
        """Logits `[N, C]`; `rng` is the stream of the dropout, used in training mode only."""
        return self.read(self.embed(x, ops), ops, rng)

    def read(self, hidden: Tensor, ops: Operators, rng: torch.Generator | None = None) -> Tensor:
        """Logits `[N, C]` of what `embed` gave: the encoder's own head."""
        logits: Tensor = self.conv2(dropout(hidden, self.dropout, rng) if self.training else hidden, ops)
        return logits

    def embed_in(self, parts: Parts, x: Features) -> Tensor:
        """What `embed` gives, in blocks of rows."""
        return layer(self.conv1.sweeps(), x, parts).relu_()

    def infer_in(self, parts: Parts, x: Features) -> Tensor:
        """What `forward` gives in evaluation mode, in blocks of rows."""
        return layer(self.conv2.sweeps(), self.embed_in(parts, x), parts)


class EncoderEnsemble(BaseEstimator):  # type: ignore[misc]
    """Z = [relu(conv1_1(X)), ..., relu(conv1_m(X))] of m frozen encoders.

    Each encoder is trained with a head of its own by cross-entropy on the training nodes; at the epoch of the best
    score on validation (accuracy, or what the split's `scoring` says; on a tie the lower loss) it is frozen, and its
    head stays behind.

    Args:
        encoders: Names of `bes.models.convs.CONVS`; the same name twice gives two different encoders.
        channels: Width of each encoder's embedding.
        dropout: Share of the hidden units that training drops.
        patience: Epochs without a better score after which training stops; 0 never stops it.
        keep: How many of the encoders are kept, the best by the score that chose their epochs; 0 keeps all.
        selection: What chooses the epoch, see `bes.Decoder`.
        random_state: Seed. An encoder's streams depend on it, the encoder's name and, for repeated
            names, which of them it is, so the other encoders of the ensemble do not change it.
        device: `"auto"` is the first GPU when there is one, else the CPU.

    Attributes:
        encoders_: The trained `Encoder` modules that are kept, in the order of `encoders`.
        logs_: A `bes.training.TrainLog` for each.
        trust_: A `bes.models.trust.EdgeTrust` by which the graph's edges count, or None where all count alike.
        both_views_: Whether the ensemble's predictions are read from the graph and from look-alikes
            (`bes.models.alike`).
    """

    trust_: EdgeTrust | None = None
    both_views_: bool = False

    def __init__(
        self,
        encoders: Sequence[str] = ("cheb", "gcn"),
        channels: int = 16,
        *,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        dropout: float = 0.5,
        patience: int = 0,
        keep: int = 0,
        selection: Literal["validation", "test-peek"] = "validation",
        random_state: int = 0,
        device: str | torch.device = "auto",
    ) -> None:
        self.encoders = encoders
        self.channels = channels
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.patience = patience
        self.keep = keep
        self.selection = selection
        self.random_state = random_state
        self.device = device

    @property
    def n_views(self) -> int:
        """Number of equal parts of Z."""
        n = len(self._names())
        return min(self.keep, n) if self.keep else n

    def _names(self) -> list[str]:
        names = [self.encoders] if isinstance(self.encoders, str) else list(self.encoders)
        if not names:
            raise InputError(f"The ensemble has no encoders: name some of {', '.join(CONVS)}.")
        for name in names:
            pick(CONVS, name, "encoder")
        return names

    def fit(
        self, graph: Graph, split: NodeSplit, callbacks: Sequence[Callback] = (), parts: Parts | None = None
    ) -> EncoderEnsemble:
        """Train each encoder on `split.train`; labels of the graph itself are not read.

        Args:
            callbacks: Called after each epoch of each encoder, with that `Encoder` as the model.
            parts: The graph in parts: an epoch is then a step for each batch of them, and scores are inferred in
                blocks. Without it an epoch is one step on the whole graph.
        """
        names = self._names()
        device = seeding.pick_device(self.device)
        graph, split = graph.to(device), split.to(device)
        fitted = [
            self._fit_one(name, names[:i].count(name), graph, split, callbacks, parts) for i, name in enumerate(names)
        ]
        if self.keep:
            best = sorted(range(len(names)), key=lambda i: fitted[i][1].best_score, reverse=True)[: self.keep]
            fitted = [fitted[i] for i in sorted(best)]
        self.encoders_ = [encoder for encoder, _ in fitted]
        self.logs_ = [log for _, log in fitted]
        self.trust_, self.both_views_ = None, False
        return self

    def _fit_one(
        self,
        name: str,
        repeat: int,
        graph: Graph,
        split: NodeSplit,
        callbacks: Sequence[Callback],
        parts: Parts | None,
    ) -> tuple[Encoder, TrainLog]:
        init = seeding.generator(self.random_state, "init", repeat, name)
        rng = seeding.generator(self.random_state, "dropout", repeat, name, device=graph.device)
        encoder = Encoder(
            name, graph.n_features, self.channels, split.n_classes, dropout=self.dropout, generator=init
        ).to(graph.device)
        loss, score = node_objective(split, pick(SELECTED_ON, self.selection, "selection"))
        first = None if parts else encoder.conv1.on(graph.x, graph.operators)

        def forward(*hidden: Tensor) -> Tensor:
            return encoder.infer_in(parts, graph.x) if parts else encoder.read(hidden[0], graph.operators, rng)

        draw = seeding.generator(self.random_state, "parts", repeat, name)

        def logits(piece: Piece) -> Tensor:
            found: Tensor = encoder(rows_of(graph.x, piece.nodes), piece.operators, rng)
            return found

        log = train(
            encoder,
            forward,
            loss,
            score,
            shared=(lambda: first().relu_()) if first else None,
            steps=node_steps(parts, split, logits, draw),
            small=not parts and is_small(graph, self.channels),
            epochs=self.epochs,
            lr=self.lr,
            weight_decay=self.weight_decay,
            patience=self.patience,
            callbacks=callbacks,
        )
        return encoder.requires_grad_(False).eval(), log

    def transform(self, graph: Graph, parts: Parts | None = None) -> Tensor:
        """Z `[N, n_views * channels]` of the fitted graph, or of another one with the same features.

        Args:
            parts: The graph in parts, to infer in blocks of rows; the result is the same.
        """
        graph = self.place(graph)
        with torch.no_grad():
            return torch.cat([self._embed(encoder, graph, parts) for encoder in self.encoders_], dim=1)

    def place(self, graph: Graph) -> Graph:
        """The graph on the encoders' device as they see it, if it has their features."""
        check_is_fitted(self)
        graph = graph.to(seeding.pick_device(self.device))
        expected = self.encoders_[0].conv1.in_channels
        if graph.n_features != expected:
            raise InputError(
                f"Graph '{graph.name}' has {graph.n_features} features, but the encoders were fitted on {expected}: "
                "give a graph with the same features."
            )
        return self.trust_.transform(graph) if self.trust_ else graph

    def _embed(self, encoder: Encoder, graph: Graph, parts: Parts | None) -> Tensor:
        return encoder.embed(graph.x, graph.operators) if parts is None else encoder.embed_in(parts, graph.x)
