"""Training on ranks: each with its own nodes, gradients summed, the same weights everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.splits import NodeSplit
from bes.optim import Adam
from bes.scale.ranks import Ranks
from bes.scale.sharded import Shards, State
from bes.training import Score, TrainLog

#: Epochs of training, and iterations of shaping, from one saved step to the next.
EVERY = 50


@dataclass(frozen=True, eq=False)
class OwnSplit:
    """What a rank knows of a split: its own training and validation nodes; nothing of the test part.

    Attributes:
        train, val: Local numbers of own nodes.
        train_labels, val_labels: Their classes.
        counts: Nodes of `train` and of `val` over all ranks `[2]`.
        n_classes: Over all ranks, as a tensor without dimensions.
    """

    train: Tensor
    train_labels: Tensor
    val: Tensor
    val_labels: Tensor
    counts: Tensor
    n_classes: Tensor

    @classmethod
    def of(cls, split: NodeSplit, own: Tensor) -> OwnSplit:
        """The share of the nodes `own`, ascending."""
        found: dict[str, Tensor] = {}
        for part in ("train", "val"):
            nodes, labels = split.nodes(part), split.reveal(part)
            kept = torch.isin(nodes, own)
            found |= {part: torch.searchsorted(own, nodes[kept]), f"{part}_labels": labels[kept]}
        counts = torch.tensor([split.train.numel(), split.val.numel()])
        return cls(**found, counts=counts, n_classes=torch.tensor(split.n_classes))

    def to(self, device: torch.device | str) -> OwnSplit:
        return OwnSplit(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})

    def loss(self, logits: Tensor) -> Tensor:
        """This rank's share of the mean cross-entropy of all training nodes, from logits of own nodes `[n, C]`."""
        own = F.cross_entropy(logits.index_select(0, self.train), self.train_labels, reduction="sum")
        return own / int(self.counts[0])

    def score(self, logits: Tensor, ranks: Ranks) -> Score:
        """(accuracy, negative cross-entropy) on all validation nodes, from logits of own nodes `[n, C]`."""
        held = logits.index_select(0, self.val)
        hits = (held.argmax(1) == self.val_labels).sum()
        loss = F.cross_entropy(held, self.val_labels, reduction="sum")
        right, lost = (ranks.sum(torch.stack([hits.double(), loss.double()])) / int(self.counts[1])).tolist()
        return right, -lost


def train_on_ranks(
    model: nn.Module,
    forward: Callable[[int | None], Tensor],
    split: OwnSplit,
    ranks: Ranks,
    shards: Shards,
    *,
    epochs: int,
    lr: float,
    weight_decay: float,
    patience: int = 0,
    every: int = EVERY,
) -> TrainLog:
    """`bes.training.train` on ranks: the gradient is that of one process with all nodes, up to rounding.

    Args:
        model: The same weights on every rank.
        forward: Logits of own nodes `[n, C]`, for training in the epoch given, or for evaluation; it exchanges halos.
        split: This rank's share; a rank may have no training node.
        shards: Saved to under `ranks.stage`, and gone on from where they hold a step.
    """
    course = _Course(model, lr, weight_decay)
    if (saved := shards.load(ranks.stage)) is not None:
        course.restore(*saved)
    while course.epoch < epochs and not course.over:
        model.train()
        course.optimizer.zero_grad()
        value = split.loss(forward(course.epoch))
        value.backward()
        loss = _sum_gradients(model, value, ranks)
        course.optimizer.step()
        model.eval()
        with torch.no_grad():
            course.note(loss, split.score(forward(None), ranks), patience)
        if course.epoch % every == 0 or course.epoch == epochs or course.over:
            shards.save(ranks.stage, course.epoch, *course.state())
    model.load_state_dict(course.best)
    course.optimizer.zero_grad()
    return course.log


def _sum_gradients(model: nn.Module, loss: Tensor, ranks: Ranks) -> float:
    """Gradients of all ranks added up in place, in one message with the loss, which is returned."""
    parameters = list(model.parameters())
    own = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    flat = ranks.sum(torch.cat([loss.detach().reshape(1), *(grad.flatten() for grad in own)]))
    total, *parts = flat.split([1, *(p.numel() for p in parameters)])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter)
    return float(total)


class _Course:
    """How far a training has come: all that is needed to go on with it."""

    def __init__(self, model: nn.Module, lr: float, weight_decay: float) -> None:
        self.model, self.log = model, TrainLog()
        self.optimizer = Adam(model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
        self.best = {key: tensor.clone() for key, tensor in model.state_dict().items()}
        self.epoch, self.over = 0, False

    def note(self, loss: float, score: Score, patience: int) -> None:
        """An epoch has ended."""
        self.log.history.append({"epoch": self.epoch, "loss": loss, "score": score[0]})
        if score > self.log.best_score:
            self.log.best_epoch, self.log.best_score = self.epoch, score
            self.best = {key: tensor.clone() for key, tensor in self.model.state_dict().items()}
        self.over = bool(patience) and self.epoch - self.log.best_epoch >= patience
        self.epoch += 1

    def state(self) -> State:
        tensors = {f"now.{key}": tensor for key, tensor in self.model.state_dict().items()}
        tensors |= {f"best.{key}": tensor for key, tensor in self.best.items()}
        for number, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{key}": tensor for key, tensor in moments.items()}
        return tensors, {"epoch": self.epoch, "over": self.over, "log": asdict(self.log)}

    def restore(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        self.model.load_state_dict(_below("now.", tensors))
        self.best = _below("best.", tensors)
        adam: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _below("adam.", tensors).items():
            number, _, key = name.partition(".")
            adam.setdefault(int(number), {})[key] = tensor
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": adam})
        self.epoch, self.over = state["epoch"], state["over"]
        log = state["log"]
        self.log = TrainLog(log["best_epoch"], tuple(log["best_score"]), log["history"])


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
