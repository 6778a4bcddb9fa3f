"""Psi of Eq. 2: from the embeddings of two nodes to the class of the pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.pairs import PairSplit, pair_prob
from bes.graph.sparse import Operators
from bes.models.base import dropout, place
from bes.models.convs import ChebConv, Linear, pick
from bes.training import Callback, TrainLog, pair_objective, train

KINDS = {"mlp": Linear, "dot": None, "cheb": ChebConv}

#: Width of the Chebyshev decoder's output, whose dot products are the logits.
CHEB_OUT = 32

#: Pairs scored together.
BLOCK = 1 << 17

#: Embeddings of all nodes `[N, D]`.
Embeddings = Tensor | np.ndarray[Any, Any]

#: A map of pair embeddings `[P, D]`: the identity, or a shaper fitted on pairs.
Shape = Callable[[Tensor], Tensor]


class PairNet(nn.Module):
    """Logits of node pairs, symmetric in the two nodes.

    `mlp`: two layers on the Hadamard product z_u * z_v. `dot`: the sum of that product, without
    parameters. `cheb`: two Chebyshev convolutions on the message graph, then `dot`.
    """

    def __init__(
        self,
        kind: str,
        width: int,
        n_logits: int,
        *,
        hidden: int,
        dropout: float,
        norm: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        conv = pick(KINDS, kind, "decoder")
        if n_logits > 1 and kind != "mlp":
            raise InputError(f"The decoder '{kind}' tells two classes apart, but the edges have {n_logits}: use mlp.")
        self.kind = kind
        self.width = width
        self.dropout = dropout
        if conv is not None:
            self.conv1 = conv(width, hidden, generator=generator)
            self.norm = nn.BatchNorm1d(hidden) if norm else nn.Identity()
            self.conv2 = conv(hidden, n_logits if kind == "mlp" else CHEB_OUT, generator=generator)

    def nodes(self, z: Tensor, ops: Operators, rng: torch.Generator | None = None) -> Tensor:
        """What pairs are made of: the embeddings `[N, D]`, convolved for `cheb`."""
        return self._two_layers(z, ops, rng) if self.kind == "cheb" else z

    def read(self, product: Tensor, ops: Operators, rng: torch.Generator | None = None) -> Tensor:
        """Logits `[P, n_logits]` of products `[P, D]`."""
        return self._two_layers(product, ops, rng) if self.kind == "mlp" else product.sum(1, keepdim=True)

    def _two_layers(self, x: Tensor, ops: Operators, rng: torch.Generator | None) -> Tensor:
        hidden = self.norm(self.conv1(x, ops)).relu()
        out: Tensor = self.conv2(dropout(hidden, self.dropout, rng) if self.training else hidden, ops)
        return out


def products(h: Tensor, pairs: Tensor) -> Tensor:
    """h_u * h_v `[P, D]` for pairs `[2, P]`."""
    return h.index_select(0, pairs[0]) * h.index_select(0, pairs[1])


def score_pairs(net: PairNet, h: Tensor, pairs: Tensor, ops: Operators, shape: Shape | None = None) -> Tensor:
    """Logits `[P, n_logits]` of pairs of `net.nodes(...)`, in blocks and without gradients."""
    with torch.no_grad():
        found = []
        for block in pairs.split(BLOCK, dim=1):
            product = products(h, block)
            # a part may hold no pair, and a shaper refuses a matrix without rows
            found.append(net.read(shape(product) if shape and len(product) else product, ops))
        return torch.cat(found)


class PairDecoder(BaseEstimator):  # type: ignore[misc]
    """Eq. 2: y^_uv = Psi(z^_u, z^_v) on fixed embeddings.

    Args:
        kind: `"mlp"` on the Hadamard product, `"dot"` (nothing to train), or `"cheb"` then dot.
        hidden: Width of the hidden layer.
        norm: Batch normalisation of the hidden layer, or none.
        batch: Positive pairs a training step; a random part of them where there are more.
        patience: Epochs without a better score after which training stops; 0 never stops it.
        random_state: Seed of initial weights, dropout and negatives.
        device: `"auto"` is the first GPU when there is one, else the CPU.

    Attributes:
        net_: The trained `PairNet`.
        log_: Its `bes.training.TrainLog`; of `dot` an empty one.
    """

    def __init__(
        self,
        kind: str = "mlp",
        *,
        hidden: int = 64,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        dropout: float = 0.5,
        norm: Literal["batch", "none"] = "none",
        batch: int = 1 << 14,
        patience: int = 30,
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
        self.batch = batch
        self.patience = patience
        self.random_state = random_state
        self.device = device

    def fit(
        self, z: Embeddings, split: PairSplit, shape: Shape | None = None, callbacks: Sequence[Callback] = ()
    ) -> PairDecoder:
        """Train on the split's training pairs with embeddings `z` `[N, D]` of its message graph.

        Args:
            shape: Map of the pair embeddings before they are read; not for `cheb`, which makes its own.
        """
        split = split.to(seeding.pick_device(self.device))
        graph, z = self._place(split.graph, z, shape)
        ops, stream = graph.operators, ("pairs", self.kind)
        net = PairNet(
            self.kind,
            z.shape[1],
            split.n_logits,
            hidden=self.hidden,
            dropout=self.dropout,
            norm=pick({"batch": True, "none": False}, self.norm, "norm"),
            generator=seeding.generator(self.random_state, "init", *stream),
        ).to(graph.device)
        rng = seeding.generator(self.random_state, "dropout", *stream, device=graph.device)
        draw = seeding.generator(self.random_state, "negatives", *stream, device=graph.device)

        def embed(h: Tensor, pairs: Tensor) -> Tensor:
            return shape(products(h, pairs)) if shape else products(h, pairs)

        loss, score = pair_objective(
            split, embed, lambda e: net.read(e, ops, rng), self.batch, draw, frozen=self.kind != "cheb"
        )
        self.log_ = TrainLog()
        if any(True for _ in net.parameters()):
            self.log_ = train(
                net,
                lambda: net.nodes(z, ops, rng),
                loss,
                score,
                epochs=self.epochs,
                lr=self.lr,
                weight_decay=self.weight_decay,
                patience=self.patience,
                callbacks=callbacks,
            )
        self.net_ = net.requires_grad_(False).eval()
        return self

    def decision_function(self, graph: Graph, z: Embeddings, pairs: Tensor, shape: Shape | None = None) -> Tensor:
        """Logits `[P, n_logits]` of pairs `[2, P]`, from embeddings `z` `[N, D]` on `graph`."""
        check_is_fitted(self)
        graph, z = self._place(graph, z, shape)
        if z.shape[1] != self.net_.width:
            raise InputError(
                f"The embeddings have {z.shape[1]} columns, but the decoder was fitted on {self.net_.width}: "
                "give embeddings of the same encoders."
            )
        with torch.no_grad():
            h = self.net_.nodes(z, graph.operators)
        return score_pairs(self.net_, h, pairs.to(graph.device), graph.operators, shape)

    def predict_proba(self, graph: Graph, z: Embeddings, pairs: Tensor, shape: Shape | None = None) -> Tensor:
        """Probability of each class `[P, C]`."""
        return pair_prob(self.decision_function(graph, z, pairs, shape))

    def _place(self, graph: Graph, z: Embeddings, shape: Shape | None) -> tuple[Graph, Tensor]:
        if shape is not None and self.kind == "cheb":
            raise InputError("The decoder 'cheb' makes its own pair embeddings, which no shaper knows: use mlp or dot.")
        return place(graph, z, self.device)
