"""The seam between shaping and a kill: how far a layer's training has come, and who keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from bes.core.attention import Weights
from bes.core.update import Stepper


@dataclass(frozen=True)
class LayerState:
    """Where the training of one layer stands: going on from here gives what going on there and then would have given.

    Attributes:
        weights: As they are.
        drawn: States of the streams that batches and samples are drawn from, a row each.
        rows: A row of `history_` an iteration so far.
        over: The layer is trained.
    """

    weights: Weights
    drawn: Tensor
    rows: list[dict[str, Any]] = field(default_factory=list)
    over: bool = False


class Keeper(Protocol):
    """Keeps the states of layers. What lies before a layer's training, such as its boundary, is found again."""

    def begun(self, layer: int) -> LayerState | None:
        """Where layer `layer`, from 0, stood last; None where it had not begun."""
        ...

    def due(self, iterations: int) -> bool:
        """Whether a state is wanted after so many iterations of a layer; the last one always is."""
        ...

    def keep(self, layer: int, state: LayerState) -> None: ...


class Course:
    """The iterations of one layer, those that were kept first.

    Args:
        keeper: Or nobody.
        layer: Which one, from 0.
        stepper: Gets the weights that were kept.
        draws: Streams of batches and samples, set to where they were.
        report: Called with each row of `history_`, also of iterations that were kept.
    """

    def __init__(
        self,
        keeper: Keeper | None,
        layer: int,
        stepper: Stepper,
        draws: Sequence[torch.Generator],
        report: Callable[[dict[str, Any]], None],
    ) -> None:
        self.keeper, self.layer, self.stepper, self.draws, self.report = keeper, layer, stepper, draws, report
        begun = None if keeper is None else keeper.begun(layer)
        self.rows, self.over = ([], False) if begun is None else (begun.rows, begun.over)
        if begun is not None:
            stepper.weights = begun.weights
            for draw, state in zip(draws, begun.drawn, strict=True):
                draw.set_state(state.clone())  # torch 2.13 crashes on a row of a matrix
        for row in self.rows:
            report(row)

    def left(self, n_iter: int) -> range:
        """The iterations still to do."""
        return range(n_iter if self.over else len(self.rows), n_iter)

    def note(self, row: dict[str, Any], *, over: bool) -> None:
        """An iteration is done."""
        self.rows.append(row)
        self.report(row)
        # Adam's own state is not kept: with it a layer is done again from its start, or not at all
        if self.keeper and (over or (self.stepper.plain and self.keeper.due(len(self.rows)))):
            drawn = torch.stack([draw.get_state() for draw in self.draws])
            state = LayerState(self.stepper.weights, drawn, self.rows, over)
            self.keeper.keep(self.layer, state)
