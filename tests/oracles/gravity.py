"""The loss of Theorem 1 over gravity similarities."""

import math

from oracles import similarity


def contrast(positive, negatives, tau, denominator):
    terms = [n / tau for n in negatives] + ([positive / tau] if denominator == "with_positive" else [])
    top = max(terms)  # the only liberty: exp without a shift would overflow
    return top + math.log(sum(math.exp(t - top) for t in terms)) - positive / tau


def center_loss(z, y, mu, present, radii, tau, denominator):
    """`radii`: one a class (region), or None for the nearest rival."""
    losses = []
    for z_b, b in zip(z, y, strict=True):
        radius = similarity.rival_radius(z_b, b, mu, present) if radii is None else radii[b]
        positive = similarity.center_positive(z_b, mu[b], radius)
        negatives = [similarity.center_negative(z_b, mu[j]) for j in present if j != b]
        losses.append(contrast(positive, negatives, tau, denominator))
    return sum(losses) / len(losses)


def pairwise_loss(z, y, node, others, y_others, tau, denominator):
    by_node = []
    for z_b, b, i in zip(z, y, node, strict=True):
        negatives = [similarity.pairwise(z_b, o) for o, c in zip(others, y_others, strict=True) if c != b]
        pairs = [
            contrast(similarity.pairwise(z_b, others[j]), negatives, tau, denominator)
            for j in range(len(others))
            if y_others[j] == b and j != i
        ]
        if pairs:
            by_node.append(sum(pairs) / len(pairs))
    return sum(by_node) / len(by_node) if by_node else 0.0
