"""Graphs that are made, not found: stochastic blocks with planted noise, and neighbours among digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph


def sbm(
    n_nodes: int = 1000,
    n_classes: int = 4,
    n_features: int = 32,
    degree: float = 8.0,
    noise: float = 0.2,
    separation: float = 2.0,
    seed: int = 0,
) -> Graph:
    """A stochastic block graph of classes of equal size, in O(N F + E) time and memory.

    Args:
        degree: Mean number of neighbours: the graph has `round(n_nodes * degree / 2)` edges.
        noise: Fraction of the edges planted between two classes; edge homophily is `1 - noise`.
        separation: Distance between any two class centres, in standard deviations of the Gaussian
            features around them.
    """
    _check(n_nodes, n_classes, n_features, degree, noise)
    rng = seeding.generator(seed, "sbm")
    y = torch.arange(n_nodes) * n_classes // n_nodes  # sorted, so that a class is a range of positions
    size = torch.bincount(y, minlength=n_classes)
    start = size.cumsum(0) - size

    def within(count: int) -> tuple[Tensor, Tensor]:
        row = torch.randint(n_nodes, (count,), generator=rng)
        return row, start[y[row]] + _below(size[y[row]], rng)

    def across(count: int) -> tuple[Tensor, Tensor]:
        row = torch.randint(n_nodes, (count,), generator=rng)
        other = _below(n_nodes - size[y[row]], rng)
        return row, torch.where(other < start[y[row]], other, other + size[y[row]])  # steps over its own class

    n_edges = round(n_nodes * degree / 2)
    planted = round(noise * n_edges)
    pairs = int((size * (size - 1)).sum()) // 2
    inner = distinct_edges(within, n_edges - planted, pairs, n_nodes, rng)
    outer = distinct_edges(across, planted, n_nodes * (n_nodes - 1) // 2 - pairs, n_nodes, rng)
    centres = torch.linalg.qr(torch.randn(n_features, n_classes, generator=rng)).Q.T * (separation / 2**0.5)
    x = centres[y] + torch.randn(n_nodes, n_features, generator=rng)
    place = torch.randperm(n_nodes, generator=rng)  # so that a node's number says nothing of its class
    order = place.argsort()
    return Graph(x[order], place[torch.cat([inner, outer], 1)], y[order], "sbm")


def digits(k: int = 5) -> Graph:
    """Scikit-learn's 1,797 digits, each joined to its `k` nearest by pixels; features `[1797, 64]` in 0..1."""
    from sklearn.datasets import load_digits  # a second of imports that only this function needs
    from sklearn.neighbors import kneighbors_graph

    pixels, target = load_digits(return_X_y=True)
    if not 1 <= k < len(pixels):
        raise InputError(f"The number of neighbours k={k} is out of range: use 1 to {len(pixels) - 1}.")
    edges = np.stack(kneighbors_graph(pixels, k).nonzero())
    x = torch.from_numpy(pixels / 16).float()
    return Graph(x, torch.from_numpy(edges.astype(np.int64)), torch.from_numpy(target), "digits")


def _check(n_nodes: int, n_classes: int, n_features: int, degree: float, noise: float) -> None:
    if not 1 <= n_classes <= min(n_nodes, n_features):
        raise InputError(
            f"The block graph has n_classes={n_classes}, n_nodes={n_nodes} and n_features={n_features}: "
            "use at least one class, and as many nodes and features as classes."
        )
    if not (0 <= noise <= 1 and degree >= 0):
        raise InputError(f"The block graph has noise={noise} and degree={degree}: use noise in 0..1 and degree from 0.")


def _below(limit: Tensor, rng: torch.Generator) -> Tensor:
    """A random integer in `0..limit - 1` for each entry."""
    draw = torch.rand(limit.shape, generator=rng, dtype=torch.float64)
    return torch.minimum((draw * limit).long(), limit - 1)


def distinct_edges(
    draw: Callable[[int], tuple[Tensor, Tensor]], count: int, possible: int, n_nodes: int, rng: torch.Generator
) -> Tensor:
    """`count` different undirected edges `[2, count]` from `draw`, which may repeat itself and give loops.

    Args:
        draw: From a number to so many pairs of nodes.
        possible: How many different edges it can give.
    """
    if 2 * count > possible:  # beyond half of them, rejection would crawl
        raise InputError(
            f"The block graph needs {count} edges of one kind where {possible} node pairs exist: "
            "use a smaller degree or more nodes."
        )
    keys = torch.empty(0, dtype=torch.int64)
    while keys.numel() < count:
        row, col = draw(2 * (count - keys.numel()))
        low, high = torch.minimum(row, col), torch.maximum(row, col)
        keys = torch.unique(torch.cat([keys, (low * n_nodes + high)[low < high]]))
    keys = keys[torch.randperm(keys.numel(), generator=rng)[:count]]
    return torch.stack([keys // n_nodes, keys % n_nodes])
