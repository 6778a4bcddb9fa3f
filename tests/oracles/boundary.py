"""Eq. 4 and 5: the shift score and the slab; and the boundary that needs no label of the row itself."""

import numpy as np


def region(z, mu, sigmas, present, delta, origin):
    """Eq. 5 for every node and every pair of classes."""
    inside = []
    for z_i in z:
        hit = False
        for m in present:
            for n in present:
                if m >= n:
                    continue
                sigma = sigmas[0] if len(sigmas) == 1 else (sigmas[m] + sigmas[n]) / 2
                shift = (mu[m] + mu[n]) / 2 if origin == "midpoint" else 0
                value = (mu[m] - mu[n]) @ np.linalg.inv(sigma) @ (z_i - shift)
                hit = hit or abs(value) <= delta
        inside.append(hit)
    return np.array(inside)


def shift_score(i, z, y, k):
    """Eq. 4 with the k nearest other nodes; equally near ones by index."""
    others = sorted((float(np.sum((z[i] - z[j]) ** 2)), j) for j in range(len(z)) if j != i)[:k]
    if not others:
        return 0.0
    return sum(y[j] != y[i] for _, j in others) / len(others)


def graph_shift_score(i, y, edges):
    """Eq. 4 with the labelled neighbours in the graph."""
    around = [j for a, j in edges if a == i and j != i and y[j] >= 0]
    if not around:
        return 0.0
    return sum(y[j] != y[i] for j in around) / len(around)


def mixed(row, labelled, y, k):
    """Whether the k nearest labelled rows have several classes; equally near ones by index."""
    near = sorted((float(np.sum((row - other) ** 2)), j) for j, other in enumerate(labelled))[:k]
    return len({int(y[j]) for _, j in near}) > 1
