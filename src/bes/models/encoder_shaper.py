"""Shaping of the encoders themselves, with nodes that have no label taking part.

From trained encoders with their own heads, for some epochs:

    loss = CE(labelled) + weight * CE(joined) + gravity * (Theorem 1's loss of the band)

Every few epochs a teacher makes of the predictions, labelled rows at the truth, a label and a margin for each other
node: it smooths them over the graph, or over it and nodes that look alike, or propagates beliefs, or takes them as they
are (`bes.core.soft`), as validation chose when shaping began (see `teacher`). Classes
keep about the sizes that predictions gave them at first: who hears those that were taught teaches them in turn, and
one class would take all. The clearest join, small classes with more weight a node; the next clearest are the band,
which is drawn to the class centres of labelled and joined nodes, in the hidden layer with rows of length one. The share
that joins grows from epoch to epoch, from the clear nodes to the boundary, and validation says how far was well: its
best epoch is kept, the beginning among them.

Nodes whose features are alike are a second view beside the graph (`bes.models.alike`). Where smoothing over both makes
better labels than over the graph alone, it teaches, and in the end predictions are read so too, if validation does not
find them worse for it.

Where the graph's edges are plainly of two kinds, those within a class and those across, they first get weights by how
far each can be trusted (`bes.models.trust`), and the encoders are shaped on the graph that counts them so.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from bes import seeding
from bes.core import options, soft
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit
from bes.models.alike import alike, read
from bes.models.base import is_small
from bes.models.convs import pick
from bes.models.encoders import EncoderEnsemble
from bes.models.fused import Fused, fused_proba
from bes.models.guard import mean_gain, share_better
from bes.models.seen import Seen
from bes.models.soft_pull import SoftPull
from bes.models.trust import EdgeTrust
from bes.training import SELECTED_ON, Callback, Score, Selection, logits_of, node_objective, train

#: The share of edges' kinds that likeness explains from which on edges are plainly of two kinds.
TOLD = 0.2

_CHOICES = {"teacher": soft.Teacher, "pulled": soft.Pulled, "selection": Selection}
_RANGES = {
    options.COUNT: ("epochs", "every"),
    options.NATURAL: ("steps",),
    options.POSITIVE: ("lr", "temperature"),
    options.NON_NEGATIVE: ("weight_decay", "weight", "gravity"),
    options.SHARE: ("first", "last", "band", "balance"),
    options.BELOW_ONE: ("restart",),
}
_OR_NONE = {
    **dict.fromkeys(("guard", "sizes"), options.Range(options.SHARE.holds, f"{options.SHARE.words} or None")),
    "trust": options.Range(lambda v: v <= 1, "a number up to 1 or None"),
}

#: What a record says where the guard kept the encoders as they came.
REFUSED = (
    "Too few epochs of the shaping were better on validation than the encoders as they came: they are kept as they "
    "were."
)


class EncoderShaper(BaseEstimator):  # type: ignore[misc]
    """Shape trained encoders by their labelled nodes and by the clear ones among the others.

    Args:
        epochs, lr, weight_decay: Of the shaping; Adam, full batch.
        first, last: The share of nodes without a label that has joined in the first epoch, and in the last.
        band: The share after those that gravity acts on.
        every: Epochs from one choice of who takes part to the next.
        teacher: `smooth`, `alike`, `beliefs` or `own`; `auto` takes the first of them whose labels for validation nodes
            are, before the first epoch, within a standard error of the best, the better of the first two before the
            others.
        steps, restart: Of `smooth` and `alike`, see `bes.core.soft.smoothed`.
        sizes: How far classes keep, among the labels that are taught, the sizes that they had in the predictions at
            first: 1 wholly, 0 those of the predictions of now; None leaves them to the teacher.
        weight: Of the cross-entropy of joined nodes; with 0 none joins, predictions are never read from look-alikes,
            and with `gravity=0` only epochs are added.
        balance: How joined nodes count: 0 all alike, 1 all classes alike, in between by a power of their class's size.
        gravity: Weight of the gravity loss.
        pulled: What gravity acts on: the `band`, or all `labelled` nodes, with centres of these alone.
        temperature: Tau of that loss.
        guard: The share of epochs that must be better on validation than the encoders as they came, by two nodes or
            more, for the shaped ones to be kept (`bes.models.guard`); None keeps the best epoch, if it alone is better.
        trust: Where the likeness of features and neighbours explains at least this share of which edges between
            labelled nodes join one class (`bes.models.trust`), edges count by how far they can be trusted from here on;
            None always leaves the graph as it is.
        selection: What chooses the epoch, see `bes.Decoder`.
        random_state: Seed of the dropout.
        device: `"auto"` is the first GPU when there is one, else the CPU.

    Attributes:
        encoders_: The shaped ensemble; the one that was given stays as it is.
        teacher_: The teacher that was taken.
        both_views_: Whether predictions are read from the graph and from look-alikes.
        explained_: The share of edges' kinds that could be explained, see `trust`.
        weighted_: Whether that was enough, so that edges counted by it.
        log_: A `bes.training.TrainLog`; its `best_epoch` is -1 where no epoch was better than the beginning.
        better_: The share of epochs that were better on validation than the encoders as they came, by two nodes
            (where classes count alike, see `bes.models.guard`).
        asked_: The share that had to be; None without a guard, or without validation nodes.
        gain_, gain_error_: What an epoch gained on validation in the mean of all of them, and its standard error.
        epoch_: The epoch that is kept: the best one, or -1 where `encoders_` are as they came.
        history_: A dict an epoch: layer (1), iteration, loss, score, displacement (mean distance that nodes moved in
            it, in the first also by weights of edges), share, joined and band (how many nodes), and by_class, how many
            of each class have joined.
        band_: Nodes of the band as it was at the epoch that is kept, the first one where none is.
    """

    def __init__(
        self,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        *,
        first: float = 0.3,
        last: float = 0.9,
        band: float = 0.25,
        every: int = 10,
        teacher: soft.Teacher = "auto",
        steps: int = 10,
        restart: float = 0.1,
        sizes: float | None = 0.75,
        weight: float = 2.0,
        balance: float = 0.5,
        gravity: float = 0.3,
        pulled: soft.Pulled = "band",
        temperature: float = 0.1,
        guard: float | None = 0.2,
        trust: float | None = TOLD,
        selection: Selection = "validation",
        random_state: int = 0,
        device: str | torch.device = "auto",
    ) -> None:
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.first = first
        self.last = last
        self.band = band
        self.every = every
        self.teacher = teacher
        self.steps = steps
        self.restart = restart
        self.sizes = sizes
        self.weight = weight
        self.balance = balance
        self.gravity = gravity
        self.pulled = pulled
        self.temperature = temperature
        self.guard = guard
        self.trust = trust
        self.selection = selection
        self.random_state = random_state
        self.device = device

    def fit(
        self, encoders: EncoderEnsemble, graph: Graph, split: NodeSplit, callbacks: Sequence[Callback] = ()
    ) -> Self:
        """Shape a copy of fitted `encoders` on the graph and split that they were fitted on."""
        check_is_fitted(encoders)
        self._check()
        device = seeding.pick_device(self.device)
        graph, split = graph.to(device).without_labels(), split.to(device)
        if encoders.trust_ is not None or encoders.both_views_:
            raise InputError("These encoders are shaped already: give those that they were shaped from.")
        shaped = copy.deepcopy(encoders)
        shaped.device = str(device)
        network = Fused(shaped.encoders_).to(device).requires_grad_(True)
        rng = seeding.generator(self.random_state, "dropout", "shaping", device=device)
        part = pick(SELECTED_ON, self.selection, "selection")
        supervised, score = node_objective(split, part)
        seen = Seen(split, part)
        with torch.no_grad():
            begun = score(seen(network.eval()(graph)))
        base, graph = graph, self._trusted(shaped, graph, split)
        pull = SoftPull(self, network, graph, split)
        self.teacher_ = pull.take_teacher(self.teacher, score, split.n_effective(part))
        self.log_ = train(
            network,
            lambda hidden: network.read(hidden, graph, rng),
            lambda out: supervised(out[0]) + pull(out),
            lambda out: score(seen(out)),
            shared=network.on(graph),
            epochs=self.epochs,
            lr=self.lr,
            weight_decay=self.weight_decay,
            begun=begun,
            small=is_small(graph, sum(one.conv1.out_channels for one in shaped.encoders_)),
            callbacks=callbacks,
        )
        hits = torch.stack(seen.hits)
        self.better_, (self.gain_, self.gain_error_) = share_better(hits), mean_gain(hits)
        self.history_ = [
            {"layer": 1, "iteration": epoch, "loss": row["loss"], "score": row["score"], "displacement": by}
            | pull.rows[epoch // self.every]
            for epoch, (row, by) in enumerate(zip(self.log_.history, seen.moved, strict=True))
        ]
        self._shaped, self._bands = shaped, [band.cpu().numpy() for band in pull.bands]
        return self.decide(encoders, base, split)

    def decide(self, encoders: EncoderEnsemble, graph: Graph, split: NodeSplit) -> Self:
        """Keep the best epoch or the encoders as they came, by `guard`, and say how predictions are read.

        `fit` ends with it. After `set_params(guard=...)` it decides anew, on the same epochs: give it what `fit` got.
        """
        check_is_fitted(self, "history_")
        self._check()
        device = seeding.pick_device(self.device)
        graph, split = graph.to(device).without_labels(), split.to(device)
        part = pick(SELECTED_ON, self.selection, "selection")
        self.asked_ = self.guard if split.nodes(part).numel() else None
        refused = self.asked_ is not None and self.better_ < self.asked_
        self.epoch_ = -1 if refused else self.log_.best_epoch
        # Where no epoch is kept: the encoders as they came, on the graph as it came.
        self.encoders_ = copy.deepcopy(encoders if self.epoch_ < 0 else self._shaped)
        self.encoders_.device = str(device)
        Fused(self.encoders_.encoders_).to(device).requires_grad_(False).eval()
        self.both_views_ = self._reads_both(graph, node_objective(split, part)[1])
        kept = self._bands[max(0, self.epoch_) // self.every :][:1]
        self.band_ = np.concatenate([np.empty(0, dtype=np.int64), *kept])
        return self

    def _check(self) -> None:
        """Refuse options that are out of their range."""
        options.check_choices(self, _CHOICES)
        options.check_numbers(self, _RANGES)
        for name, wanted in _OR_NONE.items():
            if getattr(self, name) is not None:
                options.check_number(self, name, wanted)

    def _reads_both(self, graph: Graph, score: Callable[[Tensor], Score]) -> bool:
        """Whether to read predictions from both views: as was taught, and no worse on validation than without."""
        encoders = self.encoders_
        encoders.both_views_ = False
        if self.teacher_ != "alike" or not self.weight or alike(graph) is None:
            return False
        own = fused_proba(encoders, graph)
        both = read(own, encoders.place(graph))
        encoders.both_views_ = score(logits_of(both))[0] >= score(logits_of(own))[0]
        return encoders.both_views_

    def _trusted(self, shaped: EncoderEnsemble, graph: Graph, split: NodeSplit) -> Graph:
        """The graph with its edges weighted, where it can be told which of them join one class."""
        self.explained_, self.weighted_ = 0.0, False
        if self.trust is None:
            return graph
        trust = EdgeTrust().fit(graph, split.train, split.train_labels)
        self.explained_ = trust.explained_
        self.weighted_ = trust.explained_ >= self.trust and trust.weight_.size > 0
        if not self.weighted_:
            return graph
        shaped.trust_ = trust
        return trust.transform(graph)

    def facts(self) -> dict[str, Any]:
        """What was found and decided, for a record."""
        check_is_fitted(self, "encoders_")
        return {
            "teacher": self.teacher_,
            "both_views": self.both_views_,
            "trust": {"explained": self.explained_, "weighted": self.weighted_},
            "guard": {
                "better": self.better_,
                "asked": self.asked_,
                "gain": self.gain_,
                "error": self.gain_error_,
                "best_epoch": self.log_.best_epoch,
            },
        }

    def remarks(self) -> list[str]:
        """What a reader of the figures should know."""
        check_is_fitted(self, "encoders_")
        return [REFUSED] if self.epoch_ < 0 else []

    def predict_proba(self, graph: Graph) -> Tensor:
        """Probability of each class `[N, C]`."""
        check_is_fitted(self, "encoders_")
        return fused_proba(self.encoders_, graph)

    def transform(self, graph: Graph) -> Tensor:
        """The shaped hidden layers `[N, D]`."""
        check_is_fitted(self, "encoders_")
        return self.encoders_.transform(graph)
