"""Stages of a seed as watchers see them: a callback a stage, named by what is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bes.progress import Step, Watch


def stage(watchers: Sequence[Watch], name: str, total: int) -> list[Step]:
    """A stage begins: what to call after each of its steps."""
    return [watch(name, total) for watch in watchers]


def encoders(watchers: Sequence[Watch], names: Sequence[str], epochs: int) -> list[Step]:
    """A stage an encoder: they are trained one after another, each from epoch 0."""
    if not watchers:
        return []
    left = [f"encoder {name}" + (f" {i + 1}" if names.count(name) > 1 else "") for i, name in enumerate(names)]
    steps: list[Step] = []

    def step(epoch: int, model: Any, row: dict[str, Any]) -> None:
        if epoch == 0:
            steps[:] = stage(watchers, left.pop(0), epochs)
        for call in steps:
            call(epoch, model, row)

    return [step]
