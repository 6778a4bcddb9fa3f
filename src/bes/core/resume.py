"""The seam between shaping and a kill: how far a layer's training has come, and who keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from bes.core.attention import Weights


@dataclass(frozen=True)
class LayerState:
    """Where the training of one layer stands: going on from here gives what going on there and then would have given.

    Attributes:
        weights: As they are.
        drawn: State of the stream that batches are drawn from.
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
