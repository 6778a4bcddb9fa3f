"""The plane in which embeddings are drawn, and how classes look in it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

#: Okabe and Ito's colours, told apart also by colour-blind readers; repeated after eight classes.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")

#: Symbols of the map, by their place in the page's script.
SYMBOLS = 8


def class_style(c: int) -> tuple[int, int]:
    """Colour and symbol of class `c`, by their numbers: colour is never the only sign, and 64 classes differ."""
    return c % len(COLORS), (c + c // len(COLORS)) % SYMBOLS


def shared_map(
    before: np.ndarray, after: np.ndarray, y: np.ndarray, train: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both embeddings `[N, D]` in one plane: see `stage_maps`."""
    left, right = stage_maps([before, after], y, train)
    return left, right


def stage_maps(stages: Sequence[np.ndarray], y: np.ndarray, train: np.ndarray) -> list[np.ndarray]:
    """Every stage `[N, D]` in the plane of the first two discriminants of the first stage's training nodes.

    Shaping keeps the space (its layers have a residual), so that one linear map serves all stages
    and what moved in the picture has moved.
    """
    directions = _directions(stages[0][train].astype(np.float64), y[train])
    sides = [stage.astype(np.float64) @ directions for stage in stages]
    if directions.shape[1] == 1:  # two classes: one direction, rows spread out in an order that says nothing
        height = np.ptp(sides[0]) / 4 or 1.0
        spread = np.random.default_rng(0).permutation(np.linspace(-height, height, len(y)))[:, None]
        sides = [np.hstack([side, spread]) for side in sides]
    return sides


def _directions(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`[D, 2]`, or `[D, 1]` for two classes: the first discriminants of `z` `[n, D]`.

    Where they do not exist, for want of variance within the classes, the principal directions.
    """
    classes = len(np.unique(y))
    width = max(1, min(2, classes - 1, z.shape[1]))
    if len(z) > classes and z.std(0).any():
        with warnings.catch_warnings(), suppress(np.linalg.LinAlgError, ValueError):
            warnings.filterwarnings("ignore", "Only one sample available")  # a class of one node does no harm
            fitted = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(z, y)
            scalings: np.ndarray = fitted.scalings_[:, :width]
            return scalings
    principal: np.ndarray = np.linalg.svd(z - z.mean(0), full_matrices=False)[2][:width].T
    return principal
