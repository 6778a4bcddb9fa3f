"""Psi: from embeddings to classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Operators
from bes.graph.splits import NodeSplit
from bes.models.base import FilterConv, dropout, is_small, place
from bes.models.convs import ChebConv, Linear, SAGEConv, pick
from bes.scale.batches import Parts, Piece
from bes.scale.inference import layer
from bes.scale.steps import node_steps
from bes.training import SELECTED_ON, Callback, node_objective, train

KINDS: dict[str, type[FilterConv]] = {"cheb": ChebConv, "sage": SAGEConv, "mlp": Linear}


class DecoderNet(nn.Module):
    """conv2(dropout(relu(norm(conv1(Z))))), `D -> hidden -> C`; Z comes already propagated by `conv1`."""

    def __init__(
        self, kind: str, sizes: tuple[int, int, int], *, norm: bool, dropout: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        conv = pick(KINDS, kind, "decoder")
        width, hidden, n_classes = sizes
        self.dropout = dropout
        self.conv1 = conv(width, hidden, generator=generator)
        self.norm = nn.BatchNorm1d(hidden) if norm else nn.Identity()
        self.conv2 = conv(hidden, n_classes, generator=generator)

    def forward(self, propagated: Tensor, ops: Operators, rng: torch.Generator | None = None) -> Tensor:
        """Logits `[N, C]`; `rng` is the stream of the dropout, used in training mode only."""
        return self.read(self.conv1.transform(propagated), ops, rng)

    def read(self, first: Tensor, ops: Operators, rng: torch.Generator | None = None) -> Tensor:
        """Logits `[N, C]` of what `conv1` gave."""
        hidden = self.norm(first).relu()
        logits: Tensor = self.conv2(dropout(hidden, self.dropout, rng) if self.training else hidden, ops)
        return logits

    def infer_in(self, parts: Parts, propagated: Tensor) -> Tensor:
        """What `forward` gives in evaluation mode, in blocks of rows."""
        return layer(self.conv2.sweeps(), self.norm(self.conv1.transform(propagated)).relu(), parts)


class Decoder(BaseEstimator):  # type: ignore[misc]
    """Eq. 1: y^ = Psi(z^), two convolutions on fixed embeddings.

    Z is constant while the decoder trains, so its first layer propagates it once for all epochs.

    Args:
        kind: `"cheb"`, `"sage"` or `"mlp"` (which does not see the graph).
        hidden: Width of the hidden layer.
        norm: Batch normalisation of the hidden layer, or none.
        selection: What chooses the epoch: the score on `"validation"` (accuracy, or what the split's `scoring` says),
            or `"test-peek"`, that on the *test* nodes. The latter exists only to reproduce the official code's
            protocol; its results are optimistic and must be marked wherever they appear.
        patience: Epochs without a better score after which training stops; 0 never stops it.
        random_state: Seed of the initial weights and of the dropout.
        device: `"auto"` is the first GPU when there is one, else the CPU.

    Attributes:
        net_: The trained `DecoderNet`.
        log_: Its `bes.training.TrainLog`.
    """

    def __init__(
        self,
        kind: str = "cheb",
        *,
        hidden: int = 64,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        dropout: float = 0.5,
        norm: Literal["batch", "none"] = "none",
        patience: int = 0,
        selection: Literal["validation", "test-peek"] = "validation",
        random_state: int = 0,
        device: str | torch.device = "auto",
    ) -> None:
        self.kind = kind
        self.hidden = hidden
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.norm = norm
        self.selection = selection
        self.patience = patience
        self.random_state = random_state
        self.device = device

    def fit(
        self,
        graph: Graph,
        z: Tensor | np.ndarray[Any, Any],
        split: NodeSplit,
        callbacks: Sequence[Callback] = (),
        parts: Parts | None = None,
    ) -> Decoder:
        """Train on `split.train` with the embeddings `z` `[N, D]`; labels of the graph itself are not read.

        Args:
            parts: The graph in parts: an epoch is then a step for each batch of them, see `EncoderEnsemble.fit`. The
                first layer's propagation is of the whole graph always.
        """
        part = pick(SELECTED_ON, self.selection, "selection")
        norm = pick({"batch": True, "none": False}, self.norm, "norm")
        graph, z = place(graph, z, self.device)
        split = split.to(graph.device)
        stream = ("decoder", self.kind)
        net = DecoderNet(
            self.kind,
            (z.shape[1], self.hidden, split.n_classes),
            norm=norm,
            dropout=self.dropout,
            generator=seeding.generator(self.random_state, "init", *stream),
        ).to(graph.device)
        rng = seeding.generator(self.random_state, "dropout", *stream, device=graph.device)
        propagated = net.conv1.propagate(z, graph.operators)
        loss, score = node_objective(split, part)
        draw = seeding.generator(self.random_state, "parts", *stream)

        def logits(piece: Piece) -> Tensor:
            found: Tensor = net(propagated.index_select(0, piece.nodes), piece.operators, rng)
            return found

        def forward(*first: Tensor) -> Tensor:
            return net.infer_in(parts, propagated) if parts else net.read(first[0], graph.operators, rng)

        self.log_ = train(
            net,
            forward,
            loss,
            score,
            shared=None if parts else lambda: net.conv1.transform(propagated),
            steps=node_steps(parts, split, logits, draw),
            small=not parts and is_small(graph, self.hidden, propagated),
            epochs=self.epochs,
            lr=self.lr,
            weight_decay=self.weight_decay,
            patience=self.patience,
            callbacks=callbacks,
        )
        self.net_ = net.requires_grad_(False).eval()
        return self

    def predict_proba(self, graph: Graph, z: Tensor | np.ndarray[Any, Any], parts: Parts | None = None) -> Tensor:
        """Probability of each class `[N, C]`; with the graph in parts it is inferred in blocks of rows."""
        check_is_fitted(self)
        graph, z = place(graph, z, self.device)
        if z.shape[1] != self.net_.conv1.in_channels:
            raise InputError(
                f"The embeddings have {z.shape[1]} columns, but the decoder was fitted on "
                f"{self.net_.conv1.in_channels}: give embeddings of the same encoders."
            )
        with torch.no_grad():
            propagated = self.net_.conv1.propagate(z, graph.operators)
            logits = self.net_.infer_in(parts, propagated) if parts else self.net_(propagated, graph.operators)
            return logits.softmax(1)

    def predict(self, graph: Graph, z: Tensor | np.ndarray[Any, Any]) -> Tensor:
        """The likeliest class of each node `[N]`."""
        return self.predict_proba(graph, z).argmax(1)
