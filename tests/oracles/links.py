"""Link metrics and link heuristics, pair by pair."""

import math


def auc(positive, negative):
    """The mean over all pairs of a link and another of [p > n] + [p = n] / 2."""
    return sum((p > n) + 0.5 * (p == n) for p in positive for n in negative) / (len(positive) * len(negative))


def hits(positive, negative, k):
    """The links strictly above the k-th best of the others."""
    if len(negative) < k:
        return 1.0
    bar = sorted(negative, reverse=True)[k - 1]
    return sum(p > bar for p in positive) / len(positive)


def right(positive, negative, threshold):
    """How many pairs "a score above the threshold is a link" gets right."""
    return sum(p > threshold for p in positive) + sum(n <= threshold for n in negative)


def f1(positive, negative, threshold):
    """Of the class link, by precision and recall."""
    found = sum(p > threshold for p in positive)
    if found == 0:
        return 0.0
    precision = found / (found + sum(n > threshold for n in negative))
    recall = found / len(positive)
    return 2 * precision * recall / (precision + recall)


def around(edges, n):
    """The neighbours of each node."""
    near = [set() for _ in range(n)]
    for u, v in edges:
        near[u].add(v)
        near[v].add(u)
    return near


def heuristic(kind, near, u, v):
    """One pair's score by sets of neighbours."""
    common = near[u] & near[v]
    if kind == "cn":
        return len(common)
    if kind == "aa":
        return sum(1 / math.log(len(near[w])) for w in common)
    if kind == "ra":
        return sum(1 / len(near[w]) for w in common)
    return len(near[u]) * len(near[v])


def cosine(a, b):
    """Of two rows; 0 where one is zero."""
    length = math.sqrt(sum(value * value for value in a)) * math.sqrt(sum(value * value for value in b))
    return sum(p * q for p, q in zip(a, b, strict=True)) / length if length else 0.0
