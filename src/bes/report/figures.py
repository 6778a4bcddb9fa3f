"""Pictures of embeddings: one map for before and after."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

#: Okabe and Ito's colours, told apart also by colour-blind readers; repeated after eight classes.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


def shared_map(
    before: np.ndarray, after: np.ndarray, y: np.ndarray, train: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both embeddings `[N, D]` in the plane of the first two discriminants of the unshaped training nodes.

    Shaping keeps the space (its layers have a residual), so that one linear map serves both sides
    and what moved in the picture has moved.
    """
    directions = _directions(before[train].astype(np.float64), y[train])
    sides = [side.astype(np.float64) @ directions for side in (before, after)]
    if directions.shape[1] == 1:  # two classes: one direction, rows spread out in an order that says nothing
        spread = np.random.default_rng(0).permutation(np.linspace(-1, 1, len(before)))[:, None]
        sides = [np.hstack([side, spread]) for side in sides]
    return sides[0], sides[1]


def _directions(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`[D, 2]`, or `[D, 1]` for two classes: the first discriminants of `z` `[n, D]`.

    Where they do not exist, for want of variance within the classes, the principal directions.
    """
    classes = len(np.unique(y))
    width = min(2, classes - 1, z.shape[1])
    if len(z) > classes and z.std(0).any():
        with warnings.catch_warnings(), suppress(np.linalg.LinAlgError):
            warnings.filterwarnings("ignore", "Only one sample available")  # a class of one node does no harm
            fitted = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(z, y)
            scalings: np.ndarray = fitted.scalings_[:, :width]
            return scalings
    principal: np.ndarray = np.linalg.svd(z - z.mean(0), full_matrices=False)[2][:width].T
    return principal


def embedding_map(
    before: np.ndarray, after: np.ndarray, boundary: np.ndarray, *, y: np.ndarray, train: np.ndarray
) -> str:
    """HTML of the map before and after, coloured by class, boundary nodes ringed."""
    sides = shared_map(before, after, y, train)
    figure = make_subplots(
        1, 2, subplot_titles=("before shaping", "after shaping"), shared_xaxes="all", shared_yaxes="all"
    )
    for column, side in enumerate(sides, start=1):
        for c in np.unique(y[y >= 0]):
            points = side[y == c]
            marker = {"size": 4, "color": COLORS[c % len(COLORS)], "opacity": 0.6}
            figure.add_trace(
                go.Scattergl(
                    x=points[:, 0],
                    y=points[:, 1],
                    mode="markers",
                    marker=marker,
                    name=f"class {c}",
                    legendgroup=str(c),
                    showlegend=column == 1,
                ),
                row=1,
                col=column,
            )
        ring = {"size": 9, "color": "rgba(0,0,0,0)", "line": {"width": 1.5, "color": "#000000"}}
        figure.add_trace(
            go.Scattergl(
                x=side[boundary, 0],
                y=side[boundary, 1],
                mode="markers",
                marker=ring,
                name="at the boundary",
                legendgroup="boundary",
                showlegend=column == 1,
            ),
            row=1,
            col=column,
        )
    figure.update_layout(height=520, template="simple_white", margin={"l": 30, "r": 10, "t": 40, "b": 30})
    html: str = figure.to_html(full_html=False, include_plotlyjs=True)
    return html
