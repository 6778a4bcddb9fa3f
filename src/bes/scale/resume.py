"""Shaping that goes on where it was when a rank was killed."""

from __future__ import annotations

from bes.core.resume import LayerState
from bes.scale.distributed import EVERY
from bes.scale.sharded import Shards


class ShapingShards:
    """A `bes.core.resume.Keeper` that saves a shard a rank.

    Args:
        shards: Where; layers are stages of their own.
        every: Iterations from one state to the next.
    """

    def __init__(self, shards: Shards, every: int = EVERY) -> None:
        self.shards, self.every = shards, every

    def begun(self, layer: int) -> LayerState | None:
        """The last state that every rank has."""
        saved = self.shards.load(_stage(layer))
        if saved is None:
            return None
        tensors, state = saved
        weights = tuple(tensors[f"weight.{i}"] for i in range(len(tensors) - 1))
        return LayerState(weights, tensors["drawn"].cpu(), state["rows"], state["over"])

    def due(self, iterations: int) -> bool:
        """At intervals."""
        return iterations % self.every == 0

    def keep(self, layer: int, state: LayerState) -> None:
        """Save this rank's shard."""
        tensors = {"drawn": state.drawn, **{f"weight.{i}": weight for i, weight in enumerate(state.weights)}}
        self.shards.save(_stage(layer), len(state.rows), tensors, {"rows": state.rows, "over": state.over})


def _stage(layer: int) -> str:
    return f"shaping-{layer + 1}"
