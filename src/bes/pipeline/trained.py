"""What one run has trained and the next can use: most runs of a grid differ in a part of what they do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from bes.config import DecoderConfig, EncoderShaperConfig, RunConfig, ShaperConfig

T = TypeVar("T")
S = TypeVar("S")

#: What encoders do not depend on, set to one value.
_AFTER = {
    "shaping": "layers",
    "crossfit": 0,
    "shaper": ShaperConfig(),
    "encoder_shaper": EncoderShaperConfig(),
    "preset": "",
    "rivals": (),
    "selection": "validation",
}


def encoder_key(config: RunConfig) -> str:
    """The same text for configurations with the same encoders; for pairs those have the decoder's kind for a head."""
    after = {**_AFTER, "decoder": DecoderConfig()} if config.task == "node" else _AFTER
    if config.shaping == "encoders":
        after = {**after, "selection": config.selection}  # it chooses their epochs too
    return config.model_copy(update=after).canonical()


def shaping_key(config: RunConfig) -> str:
    """The same text where the same encoders are shaped in the same way."""
    return f"shaping {config.crossfit} {config.shaper.model_dump_json()}"


def epochs_key(config: RunConfig) -> str:
    """The same text where the same encoders are shaped by the same epochs, whatever the guard then makes of them."""
    return f"epochs {config.encoder_shaper.model_copy(update={'guard': None}).model_dump_json()}"


def control_key(config: RunConfig) -> str:
    """The same text where the same encoders are decoded in the same way without shaping."""
    return f"control {config.decoder.model_dump_json()} {config.selection}"


class Trained(Generic[T]):
    """Remembers the encoders that were trained last on one graph, and what was made of them, with the seconds taken.

    Args:
        keep: Or remembers nothing: for a run by itself.
    """

    def __init__(self, *, keep: bool = True) -> None:
        self.keep = keep
        self._key: tuple[str, int] | None = None
        self._kept: tuple[T, float] | None = None
        self._made: dict[str, Any] = {}

    def get(self, config: RunConfig, seed: int, train: Callable[[], tuple[T, float]]) -> tuple[T, float, bool]:
        """What was trained, its seconds, and whether it is from an earlier run."""
        if not self.keep:
            return *train(), False
        key = (encoder_key(config), seed)
        if self._kept is not None and key == self._key:
            return *self._kept, True
        self._key, self._kept, self._made = key, train(), {}
        return *self._kept, False

    def made(self, key: str, make: Callable[[], S]) -> S:
        """What these encoders were made into under `key`, made now if it is not there; the caller may change it."""
        if not self.keep:
            return make()
        if key not in self._made:
            self._made[key] = make()
        found: S = copy.deepcopy(self._made[key])
        return found
