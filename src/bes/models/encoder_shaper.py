"""Shaping of the encoders themselves, with nodes that have no label taking part.

From trained encoders with their own heads, for some epochs:

    loss = CE(labelled) + weight * CE(joined) + gravity * (Theorem 1's loss of the band)

Every few epochs a teacher makes of the predictions, labelled rows at the truth, a label and a margin for each other
node: it smooths them over the graph, or propagates beliefs, or takes them as they are (`bes.core.soft`), whichever
validation liked best when shaping began. The clearest join, small classes with more weight a node; the next clearest
are the band, which is drawn to the class centres of labelled and joined nodes, in the hidden layer with rows of length
one. The share that joins grows from epoch to epoch, from the clear nodes to the boundary, and validation says how far
was well: its best epoch is kept, the beginning among them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, get_args

import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional as F

from bes import seeding
from bes.core import gravity, similarity, soft
from bes.core.gaussians import ClassSums
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit
from bes.models.convs import pick
from bes.models.encoders import Encoder, EncoderEnsemble
from bes.training import SELECTED_ON, Callback, Score, Selection, node_objective, train

#: What makes labels of predictions; `auto` takes one of the others.
Teacher = Literal["auto", "smooth", "beliefs", "own"]
TEACHERS = get_args(Teacher)[1:]


class Fused(nn.Module):
    """Encoders side by side: the mean of their logits, and their hidden layers as one."""

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)

    def forward(self, graph: Graph, rng: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Logits `[N, C]` and hidden layers `[N, D]`; `rng` is the stream of the dropout in training mode."""
        ops, logits, hidden = graph.operators, [], []
        for encoder in self.encoders:
            assert isinstance(encoder, Encoder)
            hidden.append(encoder.embed(graph.x, ops))
            logits.append(encoder.read(hidden[-1], ops, rng))
        return torch.stack(logits).mean(0), torch.cat(hidden, dim=1)


class EncoderShaper(BaseEstimator):  # type: ignore[misc]
    """Shape trained encoders by their labelled nodes and by the clear ones among the others.

    Args:
        epochs, lr, weight_decay: Of the shaping; Adam, full batch.
        first, last: The share of nodes without a label that has joined in the first epoch, and in the last.
        band: The share after those that gravity acts on.
        every: Epochs from one choice of who takes part to the next.
        teacher: `smooth`, `beliefs` or `own`; `auto` takes the one whose labels for validation nodes are best at first.
        steps, restart: Of `smooth`, see `bes.core.soft.smoothed`.
        weight: Of the cross-entropy of joined nodes; with 0 none joins, and with `gravity=0` only epochs are added.
        balance: How joined nodes count: 0 all alike, 1 all classes alike, in between by a power of their class's size.
        gravity: Weight of the gravity loss of the band.
        temperature: Tau of that loss.
        selection: What chooses the epoch, see `bes.Decoder`.
        random_state: Seed of the dropout.
        device: `"auto"` is the first GPU when there is one, else the CPU.

    Attributes:
        encoders_: The shaped ensemble; the one that was given stays as it is.
        teacher_: The teacher that was taken.
        log_: A `bes.training.TrainLog`; its `best_epoch` is -1 where no epoch was better than the beginning.
        history_: A dict an epoch: layer (1), iteration, loss, score, displacement (mean distance that nodes moved in
            it), share, joined and band (how many nodes), and by_class, how many of each class have joined.
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
        teacher: Teacher = "auto",
        steps: int = 10,
        restart: float = 0.1,
        weight: float = 1.0,
        balance: float = 0.5,
        gravity: float = 0.1,
        temperature: float = 0.1,
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
        self.weight = weight
        self.balance = balance
        self.gravity = gravity
        self.temperature = temperature
        self.selection = selection
        self.random_state = random_state
        self.device = device

    def fit(
        self, encoders: EncoderEnsemble, graph: Graph, split: NodeSplit, callbacks: Sequence[Callback] = ()
    ) -> Self:
        """Shape a copy of fitted `encoders` on the graph and split that they were fitted on."""
        check_is_fitted(encoders)
        device = seeding.pick_device(self.device)
        graph, split = graph.to(device).without_labels(), split.to(device)
        self.encoders_ = copy.deepcopy(encoders)
        network = Fused(self.encoders_.encoders_).to(device).requires_grad_(True)
        rng = seeding.generator(self.random_state, "dropout", "shaping", device=device)
        supervised, score = node_objective(split, pick(SELECTED_ON, self.selection, "selection"))
        pull, moved = _Pull(self, network, graph, split), _Moved()
        self.teacher_ = pull.take_teacher(self.teacher, score)
        self.log_ = train(
            network,
            lambda: network(graph, rng),
            lambda out: supervised(out[0]) + pull(out),
            lambda out: score(moved(out)),
            epochs=self.epochs,
            lr=self.lr,
            weight_decay=self.weight_decay,
            begun=True,
            callbacks=callbacks,
        )
        network.requires_grad_(False).eval()
        self.history_ = [
            {"layer": 1, "iteration": row.pop("epoch"), **row, "displacement": by, **pull.rows[epoch // self.every]}
            for epoch, (row, by) in enumerate(zip(copy.deepcopy(self.log_.history), moved.by, strict=True))
        ]
        kept = pull.bands[max(0, self.log_.best_epoch) // self.every :][:1]
        self.band_ = torch.cat([pull.free[:0], *kept]).cpu().numpy()
        return self

    def predict_proba(self, graph: Graph) -> Tensor:
        """Probability of each class `[N, C]`."""
        check_is_fitted(self, "encoders_")
        return fused_proba(self.encoders_, graph)

    def transform(self, graph: Graph) -> Tensor:
        """The shaped hidden layers `[N, D]`."""
        check_is_fitted(self, "encoders_")
        return self.encoders_.transform(graph)


def fused_proba(encoders: EncoderEnsemble, graph: Graph) -> Tensor:
    """Probability of each class `[N, C]` by the mean of the encoders' own logits."""
    graph = encoders.place(graph)
    with torch.no_grad():
        logits, _ = Fused(encoders.encoders_).eval().forward(graph)
    return logits.softmax(1)


class _Moved:
    """How far nodes move from one evaluation to the next, in the mean."""

    def __init__(self) -> None:
        self.by: list[float] = []
        self._last: Tensor | None = None

    def __call__(self, out: tuple[Tensor, Tensor]) -> Tensor:
        """Look at the hidden layers, and pass the logits on."""
        logits, hidden = out
        if self._last is not None:
            self.by.append((hidden - self._last).norm(dim=1).mean().item())
        self._last = hidden
        return logits


class _Pull:
    """What is added to the loss; called once an epoch with the outputs in training mode."""

    def __init__(self, options: EncoderShaper, network: Fused, graph: Graph, split: NodeSplit) -> None:
        self.options, self.network, self.graph = options, network, graph
        self.known, self.labels, self.n_classes = split.train, split.train_labels, split.n_classes
        free = torch.ones(graph.n_nodes, dtype=torch.bool, device=graph.device)
        free[self.known] = False
        self.free = free.nonzero().flatten()
        self.truth = F.one_hot(self.labels, self.n_classes).float()
        self.teacher = "smooth"
        self.epoch = 0
        self.rows: list[dict[str, Any]] = []
        self.bands: list[Tensor] = []

    def __call__(self, out: tuple[Tensor, Tensor]) -> Tensor:
        options = self.options
        if self.epoch % options.every == 0:
            self._choose()
        self.epoch += 1
        logits, hidden = out
        loss = logits.new_zeros(())
        part = self.part
        if options.weight and part.joined.numel():
            joined = logits.index_select(0, part.joined)
            loss = loss + options.weight * F.cross_entropy(joined, part.joined_labels, self.balance)
        if options.gravity and part.band.numel():
            z = F.normalize(hidden.index_select(0, part.band), dim=1)
            loss = loss + options.gravity * self._gravity(z, part.band_labels)
        return loss

    def _gravity(self, z: Tensor, labels: Tensor) -> Tensor:
        """Theorem 1's loss: no hinge, as nothing has to be left where it is."""
        excluded = similarity.excluded(labels, self.present)
        return gravity.center_loss(
            z, labels, self.means, excluded, z.new_zeros(self.n_classes), self.options.temperature
        )

    @torch.no_grad()
    def take_teacher(self, wanted: str, score: Callable[[Tensor], Score]) -> str:
        """The teacher that is wanted, or the first of those whose labels `score` best."""
        if wanted == "auto":
            prob = self._outputs()[0].softmax(1)
            wanted = max(TEACHERS, key=lambda name: score(self._taught(name, prob).clamp_min(1e-12).log())[0])
        pick(dict.fromkeys(TEACHERS), wanted, "teacher")
        self.teacher = wanted
        return wanted

    def _taught(self, teacher: str, prob: Tensor) -> Tensor:
        """Labels of all nodes, as probabilities `[N, C]`, from predictions."""
        ops, options = self.graph.operators, self.options
        if teacher == "smooth":
            return soft.smoothed(prob, ops.gcn, self.known, self.truth, options.steps, options.restart)
        if teacher == "beliefs":
            return soft.propagated(prob, ops.sum, ops.degree, self.known, self.truth)
        return prob.index_copy(0, self.known, self.truth)

    def _outputs(self) -> tuple[Tensor, Tensor]:
        """Logits and hidden layers in evaluation mode, by the parameters of now."""
        self.network.eval()
        out: tuple[Tensor, Tensor] = self.network(self.graph)
        self.network.train()
        return out

    @torch.no_grad()
    def _choose(self) -> None:
        """Who takes part, and the centres, by the parameters of now."""
        options = self.options
        grown = min(1.0, self.epoch / max(1, options.epochs))
        share = options.first + (options.last - options.first) * grown
        logits, hidden = self._outputs()
        prob = self._taught(self.teacher, logits.softmax(1))
        part = self.part = soft.take_part(prob, self.free, share, options.band)
        self.balance = soft.balance(part.joined_labels, self.n_classes, options.balance)
        nodes, labels = torch.cat([self.known, part.joined]), torch.cat([self.labels, part.joined_labels])
        sums = ClassSums.of(F.normalize(hidden.index_select(0, nodes), dim=1), labels, self.n_classes)
        self.means, self.present = sums.means.to(hidden), sums.present
        self.bands.append(part.band)
        by_class = torch.bincount(part.joined_labels, minlength=self.n_classes).tolist()
        sizes = {"joined": part.joined.numel(), "band": part.band.numel()}
        self.rows.append({"share": share, **sizes, "by_class": by_class})
