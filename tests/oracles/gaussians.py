"""Algorithm 1, line 5: centres and covariance."""

import numpy as np

FLOOR = 1e-6


def means(z, y, n_classes):
    mu = np.zeros((n_classes, z.shape[1]))
    for c in range(n_classes):
        members = [z[i] for i in range(len(z)) if y[i] == c]
        if members:
            mu[c] = sum(members) / len(members)
    return mu


def scatter(rows, centre):
    total = np.zeros((len(centre), len(centre)))
    for row in rows:
        total += np.outer(row - centre, row - centre)
    return total


def oas(sigma, n):
    d = len(sigma)
    if d == 1:  # one dimension: nothing to shrink towards
        return 1.0
    square, trace = np.sum(sigma * sigma), np.trace(sigma)
    top = (1 - 2 / d) * square + trace**2
    bottom = (n + 1 - 2 / d) * (square - trace**2 / d)
    return min(1.0, max(0.0, top / bottom)) if bottom > 0 else 1.0


def regularise(sigma, n, shrinkage, scale):
    d = len(sigma)
    r = oas(sigma, n) if shrinkage == "oas" else shrinkage
    return (1 - r) * sigma + (r * np.trace(sigma) / d + FLOOR * scale) * np.eye(d)


def covariance(z, y, n_classes, kind, shrinkage):
    n, d = z.shape
    mu = means(z, y, n_classes)
    present = sorted(set(y.tolist()))
    total = scatter(z, z.mean(0))
    scale = np.trace(total) / (n * d) or 1.0
    if kind == "total":
        free = max(n - 1, 1)
        return [regularise(total / free, free, shrinkage, scale)]
    within = sum(scatter([z[i] for i in range(n) if y[i] == c], mu[c]) for c in present)
    free = max(n - len(present), 1)
    pooled = within / free
    if kind == "pooled":
        return [regularise(pooled, free, shrinkage, scale)]
    result = []
    for c in range(n_classes):
        members = [z[i] for i in range(n) if y[i] == c]
        free_c = max(len(members) - 1, 0)
        own = scatter(members, mu[c]) / max(free_c, 1)
        weight = free_c / (free_c + d)
        result.append(regularise(weight * own + (1 - weight) * pooled, max(free_c, 1), shrinkage, scale))
    return result
