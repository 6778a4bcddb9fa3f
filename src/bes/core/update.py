"""One iteration of shaping: virtual step (Eq. 11), displacement (Eq. 12), adaptive step (Eq. 13)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from bes.core.attention import Weights
from bes.optim import Adam

Update = Literal["adaptive", "official"]
AlphaUnit = Literal["node", "total"]

#: How often a step that does not lower the loss is halved before it is dropped.
HALVINGS = 4

#: A step this many times longer than its virtual step was not well measured; measure at most so often.
LONGEST = 1e3
REMEASURE = 4


def virtual_step(weights: Weights, gradients: Weights, eta: float) -> Weights:
    """Eq. 11: theta' = theta - eta grad L.

    The paper prints a plus; since L is a loss, the step that lowers it goes against its gradient.
    """
    return tuple(torch._foreach_add(weights, gradients, alpha=-eta))


def displacement(difference: Tensor) -> Tensor:
    """Eq. 12: the sum over all nodes of how far each moves, from A(Z; theta') - A(Z; theta) `[N, D]`."""
    return distances(difference).sum()


def distances(difference: Tensor) -> Tensor:
    """How far each node moves `[N]`. The difference is overwritten: it is the largest array of an iteration."""
    return difference.square_().sum(1).sqrt_()


def adaptive_scale(alpha: float, delta: float, n_nodes: int, unit: AlphaUnit = "node") -> float:
    """alpha / Delta of Eq. 13, zero when the virtual step moves nothing.

    To first order the step then moves the embeddings by alpha in total. With `unit="node"` Delta is
    the mean over nodes, and alpha the mean distance that a step moves a node.
    """
    if delta <= 0:
        return 0.0
    return alpha * n_nodes / delta if unit == "node" else alpha / delta


@dataclass
class StepResult:
    """What one iteration did: a row of `history_`."""

    loss: float
    loss_after: float
    displacement: float
    scale: float
    halvings: int
    accepted: bool
    displacement_error: float = 0.0


class Problem(Protocol):
    """What is trained, as functions of the weights.

    Attributes:
        n_nodes: Nodes of all ranks.
        displacement_error: Relative standard error of the last displacement; 0 where it was exact.
    """

    n_nodes: int
    displacement_error: float

    def displacement(self, old: Weights, new: Weights) -> float:
        """Eq. 12 between two weights: how far all nodes, those of all ranks, move in total."""
        ...

    def loss(self, weights: Weights, batch: Tensor) -> float:
        """Loss of the nodes `batch`."""
        ...

    def gradient(self, weights: Weights, batch: Tensor) -> tuple[float, Weights]:
        """Loss of the nodes `batch` and its gradient by the weights."""
        ...


class Stepper:
    """Adaptive updates of one layer's weights.

    An iteration passes over all nodes once, for the displacement; gradient, acceptance and halving
    need the batch only.

    Args:
        problem: Displacement, loss and gradient.
        weights: Initial weights.
        eta: Length of the virtual step; to first order the update does not depend on it.
        tol: A batch whose loss is not above it is separated already, and no step is taken.
        repeats: Every step gets the same batch: then a trial's gradient serves the next step.
    """

    def __init__(
        self,
        problem: Problem,
        weights: Weights,
        *,
        eta: float,
        alpha: float,
        unit: AlphaUnit = "node",
        update: Update = "adaptive",
        weight_decay: float = 0.0,
        tol: float = 0.0,
        repeats: bool = False,
    ) -> None:
        self.weights = tuple(w.detach().clone() for w in weights)
        self.problem = problem
        self.eta, self.alpha, self.unit, self.tol = eta, alpha, unit, tol
        self.repeats = repeats and update == "adaptive"
        self._ahead: tuple[float, Weights] | None = None
        self._adam: Adam | None = None
        self.plain = update == "adaptive"  # the weights are all there is to know
        if update == "official":
            for weight in self.weights:
                weight.requires_grad_()
            self._adam = Adam(self.weights, lr=eta, weight_decay=weight_decay)

    def step(self, batch: Tensor) -> StepResult:
        """One iteration on the boundary nodes `batch`."""
        with torch.no_grad():
            before, gradients = self._ahead or self.problem.gradient(self.weights, batch)
            if self._adam is not None:
                return self._hand_to_adam(self._adam, gradients, batch, before)
            if before <= self.tol:
                return StepResult(before, before, 0.0, 0.0, 0, False)
            return self._descend(gradients, batch, before)

    def _scale(self, gradients: Weights) -> tuple[float, float]:
        """Delta and alpha / Delta."""
        virtual = virtual_step(self.weights, gradients, self.eta)
        delta = self.problem.displacement(self.weights, virtual)
        return delta, adaptive_scale(self.alpha, delta, self.problem.n_nodes, self.unit)

    def _measured(self, gradients: Weights) -> tuple[Weights, float, float]:
        """The gradients, Delta and alpha / Delta.

        Eq. 13 does not depend on the length of the gradient. Where rounding would swallow the virtual
        step of a short one, it is taken longer and measured again.
        """
        for _ in range(REMEASURE):
            delta, scale = self._scale(gradients)
            if 0 < scale <= LONGEST:
                return gradients, delta, scale
            length = math.hypot(*(norm.item() for norm in torch._foreach_norm(gradients)))
            if length == 0:
                break
            gradients = tuple(torch._foreach_mul(gradients, scale / 10 if scale else 1 / length))
        return gradients, 0.0, 0.0

    def _descend(self, gradients: Weights, batch: Tensor, before: float) -> StepResult:
        """Eq. 13, kept only if the batch's loss falls; otherwise half as far."""
        gradients, delta, scale = self._measured(gradients)
        tries = HALVINGS + 1 if scale > 0 else 0
        for halvings in range(tries):
            trial = virtual_step(self.weights, gradients, scale * self.eta)
            ahead = self.problem.gradient(trial, batch) if self.repeats else None
            after = ahead[0] if ahead else self.problem.loss(trial, batch)
            if after < before:
                self.weights, self._ahead = trial, ahead
                return StepResult(before, after, delta, scale, halvings, True, self.problem.displacement_error)
            scale /= 2
        return StepResult(before, before, delta, 0.0, max(0, tries - 1), False, self.problem.displacement_error)

    def _hand_to_adam(self, adam: Adam, gradients: Weights, batch: Tensor, before: float) -> StepResult:
        """The official code: the scaled gradient goes through Adam, which cancels the scale again."""
        delta, scale = self._scale(gradients)
        for weight, gradient in zip(self.weights, gradients, strict=True):
            weight.grad = gradient * scale
        adam.step()
        self.weights = tuple(weight for weight in self.weights)  # changed in place: a new tuple says so
        after = self.problem.loss(self.weights, batch)
        return StepResult(before, after, delta, scale, 0, True, self.problem.displacement_error)
