"""Shaping inside a longer run, whose reader sees warnings as notes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from torch import Tensor

from bes.core.shaper import BoundaryShaper
from bes.progress import Step


def fit_quietly(
    shaper: BoundaryShaper, z: Tensor, labels: Tensor, edge_index: Tensor | None, callbacks: Sequence[Step] = ()
) -> list[str]:
    """Fit, and return the warnings as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shaper.fit(z, labels, edge_index, callbacks)
    return [str(warning.message) for warning in caught]
