"""What shaping did to each node's prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: By code; -1 stands for a node that is not scored.
OUTCOMES = ("right in both", "fixed by bes", "broken by bes", "wrong in both")


def outcome_codes(
    y: NDArray[np.integer[Any]],
    control: NDArray[np.integer[Any]],
    bes: NDArray[np.integer[Any]],
    scored: NDArray[np.integer[Any]],
) -> NDArray[np.int8]:
    """A code of `OUTCOMES` for each of the nodes `scored` (indices, such as the test part), -1 for all others `[N]`."""
    codes = np.full(len(y), -1, dtype=np.int8)
    wrong_before, wrong_after = (guess[scored] != y[scored] for guess in (control, bes))
    codes[scored] = np.where(wrong_before, np.where(wrong_after, 3, 1), np.where(wrong_after, 2, 0))
    return codes
