"""Phi for pairs: encoders trained end to end on the links or edges, then frozen."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.pairs import PairSplit
from bes.graph.sparse import rows_of
from bes.models.encoders import Encoder, EncoderEnsemble
from bes.models.pairs import PairNet, products, score_pairs
from bes.scale.batches import Parts, Piece
from bes.scale.steps import pair_steps
from bes.training import Callback, TrainLog, pair_objective, train


class PairEncoders(EncoderEnsemble):
    """Z = [conv2_1(relu(conv1_1(X))), ...] of frozen encoders, each trained with a decoder of its own.

    The head that reads pairs stays behind, so that the embedding is the encoder's whole output and not
    its hidden layer as for node classification. Nothing but the split's message graph is read.

    Args:
        encoders: Names of `bes.models.convs.CONVS`.
        channels: Width of each encoder's hidden layer and embedding.
        decoder: Kind of the decoder through which each is trained: `mlp`, `dot` or `cheb`.
        hidden: Width of that decoder's hidden layer.
        batch: Positive pairs a training step.
        patience: Epochs without a better score after which training stops; 0 never stops it.

    Attributes:
        encoders_, heads_, logs_: The trained encoders, their decoders and their training.
    """

    def __init__(
        self,
        encoders: Sequence[str] = ("gcn", "sage"),
        channels: int = 64,
        *,
        decoder: str = "mlp",
        hidden: int = 64,
        epochs: int = 300,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        dropout: float = 0.5,
        batch: int = 1 << 14,
        patience: int = 50,
        random_state: int = 0,
        device: str | torch.device = "auto",
    ) -> None:
        super().__init__(
            encoders,
            channels,
            epochs=epochs,
            lr=lr,
            weight_decay=weight_decay,
            dropout=dropout,
            patience=patience,
            random_state=random_state,
            device=device,
        )
        self.decoder = decoder
        self.hidden = hidden
        self.batch = batch

    def fit(  # type: ignore[override]
        self, split: PairSplit, callbacks: Sequence[Callback] = (), parts: Parts | None = None
    ) -> PairEncoders:
        """Train each encoder on the split's training pairs and message graph.

        Args:
            parts: The message graph in parts: a step takes training pairs within its parts, see `EncoderEnsemble.fit`.
        """
        names = self._names()
        if parts is not None and self.decoder == "cheb":
            raise InputError("The decoder 'cheb' of pairs convolves the whole graph: use mlp or dot, or batching=full.")
        split = split.to(seeding.pick_device(self.device))
        fitted = [self._fit_pair(name, names[:i].count(name), split, callbacks, parts) for i, name in enumerate(names)]
        self.encoders_ = [encoder for encoder, _, _ in fitted]
        self.heads_ = [head for _, head, _ in fitted]
        self.logs_ = [log for _, _, log in fitted]
        return self

    def _fit_pair(
        self, name: str, repeat: int, split: PairSplit, callbacks: Sequence[Callback], parts: Parts | None
    ) -> tuple[Encoder, PairNet, TrainLog]:
        stream, device = (repeat, name, self.decoder), split.graph.device
        init = seeding.generator(self.random_state, "init", *stream)
        rng = seeding.generator(self.random_state, "dropout", *stream, device=device)
        draw = seeding.generator(self.random_state, "negatives", *stream, device=device)
        x, ops, width = split.graph.x, split.graph.operators, self.channels
        encoder = Encoder(name, split.graph.n_features, width, width, dropout=self.dropout, generator=init)
        head = PairNet(
            self.decoder,
            width,
            split.n_logits,
            hidden=self.hidden,
            dropout=self.dropout,
            norm=False,
            generator=init,
        )
        model = nn.ModuleList([encoder, head]).to(device)
        loss, score = pair_objective(split, products, lambda e: head.read(e, ops, rng), self.batch, draw)
        order = seeding.generator(self.random_state, "parts", *stream)

        def nodes() -> Tensor:
            z = encoder(x, ops, rng) if parts is None else encoder.infer_in(parts, x)
            return head.nodes(z, ops, rng)

        def logits(piece: Piece, pairs: Tensor) -> Tensor:
            z = encoder(rows_of(x, piece.nodes), piece.operators, rng)
            return head.read(products(z, pairs), piece.operators, rng)

        log = train(
            model,
            nodes,
            loss,
            score,
            steps=pair_steps(parts, split, logits, self.batch, order, draw),
            epochs=self.epochs,
            lr=self.lr,
            weight_decay=self.weight_decay,
            patience=self.patience,
            callbacks=callbacks,
        )
        model.requires_grad_(False).eval()
        return encoder, head, log

    def _embed(self, encoder: Encoder, graph: Graph, parts: Parts | None) -> Tensor:
        out: Tensor = encoder(graph.x, graph.operators) if parts is None else encoder.infer_in(parts, graph.x)
        return out

    def decision_function(self, index: int, graph: Graph, pairs: Tensor) -> Tensor:
        """Logits `[P, n_logits]` of encoder `index` with its own decoder: that network by itself."""
        graph = self.place(graph)
        with torch.no_grad():
            z = self._embed(self.encoders_[index], graph, None)
            h = self.heads_[index].nodes(z, graph.operators)
        return score_pairs(self.heads_[index], h, pairs.to(graph.device), graph.operators)
