"""Encoders that one run has trained and the next can use: most runs of a grid differ in what comes after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from bes.config import DecoderConfig, RunConfig, ShaperConfig

T = TypeVar("T")

#: What encoders do not depend on, set to one value.
_AFTER = {"shaper": ShaperConfig(), "preset": "", "rivals": (), "selection": "validation"}


def encoder_key(config: RunConfig) -> str:
    """The same text for configurations with the same encoders; for pairs those have the decoder's kind for a head."""
    after = {**_AFTER, "decoder": DecoderConfig()} if config.task == "node" else _AFTER
    return config.model_copy(update=after).canonical()


class Trained(Generic[T]):
    """Remembers what was trained last on one graph, with the seconds that it took."""

    def __init__(self) -> None:
        self._key: tuple[str, int] | None = None
        self._kept: tuple[T, float] | None = None

    def get(self, config: RunConfig, seed: int, train: Callable[[], tuple[T, float]]) -> tuple[T, float, bool]:
        """What was trained, its seconds, and whether it is from an earlier run."""
        key = (encoder_key(config), seed)
        if self._kept is not None and key == self._key:
            return *self._kept, True
        self._key, self._kept = key, train()
        return *self._kept, False
