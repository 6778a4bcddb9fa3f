"""A picture's plane: one linear map for all stages of an embedding, so that what moved in the picture has moved."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def plane(stages: Sequence[Floats], y: NDArray[np.integer], train: NDArray[np.integer]) -> list[NDArray[np.float64]]:
    """Every stage `[N, D]` in the plane `[N, 2]` of the first two discriminants of the first stage's training rows.

    Shaping keeps the space (its layers have a residual), so that one map serves all stages.

    Args:
        stages: The embeddings as they go in and after each layer.
        y: Class of each row `[N]`; those outside `train` are not looked at.
        train: Indices of the rows that turn the plane.
    """
    directions = _directions(stages[0][train].astype(np.float64), y[train])
    flat = [stage.astype(np.float64) @ directions for stage in stages]
    if directions.shape[1] == 1:  # two classes: one direction, rows spread out in an order that says nothing
        height = np.ptp(flat[0]) / 4 or 1.0
        spread = np.random.default_rng(0).permutation(np.linspace(-height, height, len(flat[0])))[:, None]
        flat = [np.hstack([side, spread]) for side in flat]
    return flat


def _directions(z: NDArray[np.float64], y: NDArray[np.integer]) -> NDArray[np.float64]:
    """`[D, 2]`, or `[D, 1]` for two classes: the first discriminants of `z` `[n, D]`.

    Where they do not exist, for want of variance within the classes, the principal directions.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # a second of imports

    classes = len(np.unique(y))
    width = min(2, classes - 1 if classes > 1 else 2, z.shape[1])
    if len(z) > classes > 1 and z.std(0).any():
        with warnings.catch_warnings(), suppress(np.linalg.LinAlgError, ValueError):
            warnings.filterwarnings("ignore", "Only one sample available")  # a class of one node does no harm
            fitted = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(z, y)
            scalings: NDArray[np.float64] = fitted.scalings_[:, :width]
            return scalings
    if len(z) < 2:
        return np.eye(z.shape[1])[:, :width]
    principal: NDArray[np.float64] = np.linalg.svd(z - z.mean(0), full_matrices=False)[2][:width].T
    return principal
