"""One iteration of shaping: virtual step (Eq. 11), displacement (Eq. 12), adaptive step (Eq. 13)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

Update = Literal["adaptive", "official"]
AlphaUnit = Literal["node", "total"]
Weights = tuple[Tensor, ...]

#: How often a step that does not lower the loss is halved before it is dropped.
HALVINGS = 4


def virtual_step(weights: Weights, gradients: Weights, eta: float) -> Weights:
    """Eq. 11: theta' = theta - eta grad L.

    The paper prints a plus; since L is a loss, the step that lowers it goes against its gradient.
    """
    return tuple(torch._foreach_add(weights, gradients, alpha=-eta))


def displacement(after: Tensor, before: Tensor) -> Tensor:
    """Eq. 12: sum over all nodes of how far each moves, a scalar; inputs `[N, D]`."""
    return (after - before).square_().sum(1).sqrt_().sum()


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


class Problem(Protocol):
    """What is trained, as functions of the weights. Outputs are A(Z) - Z: the residual cancels out of Eq. 12."""

    def full(self, weights: Weights) -> Tensor:
        """Outputs of all nodes `[N, D]`."""
        ...

    def loss(self, moved: Tensor, batch: Tensor) -> Tensor:
        """Loss of the nodes `batch` at their outputs `[B, D]`."""
        ...

    def gradient(self, weights: Weights, batch: Tensor) -> tuple[float, Weights]:
        """Loss of the nodes `batch` and its gradient by the weights."""
        ...


class Stepper:
    """Adaptive updates of one layer's weights.

    The output of the accepted weights is kept, so that a displacement costs one pass over the nodes
    and not two.

    Args:
        problem: Outputs, loss and gradient.
        weights: Initial weights.
        eta: Length of the virtual step; to first order the update does not depend on it.
        tol: A batch whose loss is not above it is separated already, and no step is taken.
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
    ) -> None:
        self.weights = tuple(w.detach().clone() for w in weights)
        self.problem = problem
        self.eta, self.alpha, self.unit, self.tol = eta, alpha, unit, tol
        with torch.no_grad():
            self.output = problem.full(self.weights)
        self._adam: torch.optim.Adam | None = None
        if update == "official":
            for weight in self.weights:
                weight.requires_grad_()
            self._adam = torch.optim.Adam(self.weights, lr=eta, weight_decay=weight_decay)

    def step(self, batch: Tensor) -> StepResult:
        """One iteration on the boundary nodes `batch`."""
        with torch.no_grad():
            before, gradients = self.problem.gradient(self.weights, batch)
            if self._adam is not None:
                return self._hand_to_adam(self._adam, gradients, batch, before)
            if before <= self.tol:
                return StepResult(before, before, 0.0, 0.0, 0, False)
            return self._descend(self._measurable(gradients), batch, before)

    def _measurable(self, gradients: Weights) -> Weights:
        """The same direction, lengthened if rounding would swallow its virtual step.

        Eq. 13 does not depend on the length of the gradient, so that nothing else changes.
        """
        length = _norm(gradients) * self.eta
        size = _norm(self.weights)
        if length == 0 or length > size * torch.finfo(self.output.dtype).eps ** 0.5:
            return gradients
        return tuple(g * (0.01 * size / length) for g in gradients)

    def _scale(self, gradients: Weights) -> tuple[float, float]:
        """Delta and alpha / Delta."""
        moved = self.problem.full(virtual_step(self.weights, gradients, self.eta))
        delta = displacement(moved, self.output).item()
        return delta, adaptive_scale(self.alpha, delta, self.output.shape[0], self.unit)

    def _descend(self, gradients: Weights, batch: Tensor, before: float) -> StepResult:
        """Eq. 13, kept only if the batch's loss falls; otherwise half as far."""
        delta, scale = self._scale(gradients)
        after = before
        for halvings in range(HALVINGS + 1):
            if scale == 0:
                break
            trial = virtual_step(self.weights, gradients, scale * self.eta)
            output = self.problem.full(trial)  # kept if the step is, and it mostly is
            after = self.problem.loss(output[batch], batch).item()
            if after < before:
                self.weights, self.output = trial, output
                return StepResult(before, after, delta, scale, halvings, True)
            scale /= 2
        return StepResult(before, after, delta, 0.0, HALVINGS, False)

    def _hand_to_adam(self, adam: torch.optim.Adam, gradients: Weights, batch: Tensor, before: float) -> StepResult:
        """The official code: the scaled gradient goes through Adam, which cancels the scale again."""
        delta, scale = self._scale(gradients)
        for weight, gradient in zip(self.weights, gradients, strict=True):
            weight.grad = gradient * scale
        adam.step()
        self.output = self.problem.full(self.weights)
        return StepResult(before, self.problem.loss(self.output[batch], batch).item(), delta, scale, 0, True)


def _norm(weights: Weights) -> float:
    return math.hypot(*(norm.item() for norm in torch._foreach_norm(weights)))
