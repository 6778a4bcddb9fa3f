"""Eq. 11 to 13: virtual step, displacement, adaptive step, with acceptance."""

import math


def displacement(after, before):
    total = 0.0
    for a, b in zip(after, before, strict=True):
        total += math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    return total


def iteration(theta, gradient, eta, alpha, unit, outputs, loss):
    """One step from `theta` (a flat list): (new theta, Delta, how often halved, whether kept)."""
    virtual = [t - eta * g for t, g in zip(theta, gradient, strict=True)]
    before, after = outputs(theta), outputs(virtual)
    delta = displacement(after, before)
    scale = alpha * len(before) / delta if unit == "node" else alpha / delta
    start = loss(theta)
    for halvings in range(5):
        trial = [t - scale * eta * g for t, g in zip(theta, gradient, strict=True)]
        if loss(trial) < start:
            return trial, delta, halvings, True
        scale /= 2
    return theta, delta, 4, False
