"""The one training loop: Adam on the full batch or in steps, the epoch chosen by a score, callbacks for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.pairs import pair_loss
from bes.machine import look_again, retained
from bes.optim import Adam
from bes.threads import alone

if TYPE_CHECKING:
    from bes.graph.pairs import PairSplit
    from bes.graph.splits import NodeSplit, Part

#: What a score returns: (accuracy or the task's own measure, negative loss). Larger is better; the loss breaks ties.
Score = tuple[float, float]

#: What chooses the epoch.
Selection = Literal["validation", "test-peek"]

#: The part whose score that is.
SELECTED_ON: dict[str, Part] = {"validation": "val", "test-peek": "test"}

#: What a model gives for its data.
Out = TypeVar("Out")

#: Called after each epoch with the epoch, the model in evaluation mode and the row of history.
Callback = Callable[[int, nn.Module, dict[str, float]], None]


@dataclass
class TrainLog:
    """What a training run did: the chosen epoch and a row an epoch."""

    best_epoch: int = -1
    best_score: Score = (-float("inf"), -float("inf"))
    history: list[dict[str, float]] = field(default_factory=list)


@retained()
def train(
    model: nn.Module,
    forward: Callable[..., Out],
    loss: Callable[[Out], Tensor],
    score: Callable[[Out], Score],
    *,
    shared: Callable[[], Any] | None = None,
    epochs: int,
    lr: float,
    weight_decay: float,
    patience: int = 0,
    groups: list[dict[str, Any]] | None = None,
    begun: Score | None = None,
    first: int = 0,
    steps: Callable[[], Iterable[Tensor]] | None = None,
    small: bool = False,
    callbacks: Sequence[Callback] = (),
) -> TrainLog:
    """Train `model` for `epochs` and leave it with the parameters of the best-scored epoch.

    Args:
        forward: Runs `model` on its data and returns its outputs, such as logits `[N, C]`.
        loss: From the outputs in training mode to the scalar that is minimised.
        score: From the outputs in evaluation mode to the figure that chooses the epoch. It is the
            only place where validation labels come in, and nothing of it reaches the gradients.
        shared: What training and evaluation begin with alike, such as the layer before the dropout; `forward` then
            takes it. An epoch is scored with the same parameters as the next one begins with: once is enough.
        patience: Epochs without a better score after which training stops; 0 never stops it.
        groups: Parameters with options of their own, as torch's optimizers take them; without it all are alike.
        begun: What a model that is trained already scores: it stays as it came where no epoch scores better, and
            `best_epoch` is -1.
        first: The first epoch that may be chosen, for what has its say only from then on.
        steps: The losses of an epoch, of which each is made when the model has taken the step before; without it an
            epoch is one step by `loss(forward())`.
        small: Whether one thread is the faster one for a step (`bes.threads`).
    """
    optimizer = Adam(groups or model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    log = TrainLog()
    live = model.state_dict()  # shares memory with the model, which Adam changes in place
    best = {key: tensor.clone() for key, tensor in live.items()}
    if begun is not None:
        log.best_score = begun
    with alone(next(model.parameters()).device, small=small):
        given = (shared(),) if shared else ()
        for epoch in range(epochs):
            model.train()
            losses = steps() if steps else [loss(forward(*given))]
            taken = [_step(optimizer, value) for value in losses]
            given = (shared(),) if shared else ()
            current = _scored(model, forward, score, given)
            row = {"epoch": epoch, "loss": sum(taken) / len(taken), "score": current[0]}
            log.history.append(row)
            if epoch >= first and current > log.best_score:
                log.best_epoch, log.best_score = epoch, current
                for key, tensor in live.items():
                    best[key].copy_(tensor)
            for callback in callbacks:
                callback(epoch, model, row)
            if epoch == 0:
                look_again()
            if patience and epoch - max(first - 1, log.best_epoch) >= patience:
                break
    optimizer.zero_grad()  # a trained model carries no gradients
    model.load_state_dict(best)
    return log


def _step(optimizer: torch.optim.Optimizer, value: Tensor) -> float:
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    return value.item()


def _scored(
    model: nn.Module, forward: Callable[..., Out], score: Callable[[Out], Score], given: tuple[Any, ...]
) -> Score:
    model.eval()
    with torch.no_grad():
        return score(forward(*given))


def node_objective(
    split: NodeSplit, part: Part = "val"
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Score]]:
    """Loss and score of node classification, from logits `[N, C]`.

    The loss is the cross-entropy on the training nodes. The score is taken on `part`, or on the training
    nodes where `part` has none: without validation the best-fitting epoch is kept, not the first.
    """
    nodes, labels = split.train, split.train_labels
    scored: Part = part if split.nodes(part).numel() else "train"

    def loss(logits: Tensor) -> Tensor:
        return F.cross_entropy(logits.index_select(0, nodes), labels)

    def score(logits: Tensor) -> Score:
        return split.score(logits, scored)

    return loss, score


def logits_of(prob: Tensor) -> Tensor:
    """Logits of probabilities, for scores that take them; of zero a large negative number."""
    return prob.clamp_min(1e-12).log()


def pair_objective(
    split: PairSplit,
    embed: Callable[[Tensor, Tensor], Tensor],
    read: Callable[[Tensor], Tensor],
    batch: int,
    draw: torch.Generator,
    *,
    frozen: bool = False,
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Score]]:
    """Loss and score of node pairs, from the nodes' embeddings `[N, D]`.

    Args:
        embed: From embeddings and pairs `[2, P]` to pair embeddings `[P, D]`.
        read: From pair embeddings to logits.
        batch: Positive pairs a step, at most.
        draw: Stream of the negatives, fresh in each step.
        frozen: The nodes' embeddings do not change, so that validation pairs are embedded once.
    """
    kept: list[Tensor] = []

    def loss(h: Tensor) -> Tensor:
        pairs, truth = split.training_pairs(batch, draw)
        return pair_loss(read(embed(h, pairs)), truth)

    def score(h: Tensor) -> Score:
        held = kept[0] if kept else embed(h, split.pairs("val"))
        if frozen and not kept:
            kept.append(held)
        return split.score(read(held))

    return loss, score
