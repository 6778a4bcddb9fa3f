"""How good are predicted classes and scored links: defined also where a class or a side is missing."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score, roc_auc_score
from torch import Tensor

Array = np.ndarray

#: None where a metric has no value: no node or pair, or no class with both members and others.
Metrics = dict[str, float | int | None]


def classification(truth: Array, prob: Array) -> Metrics:
    """Metrics of class probabilities `[n, C]` against classes `[n]`.

    Returns:
        `n`, `acc`, `balanced_acc` (the mean over classes of the share of its members that is right), `f1` (macro over
        the classes that occur in truth or prediction) and `auroc` (macro over the classes that have both members and
        others).
    """
    if len(truth) == 0:
        return {"n": 0, "acc": None, "balanced_acc": None, "f1": None, "auroc": None}
    guess = prob.argmax(1)
    scores = [
        roc_auc_score(truth == c, prob[:, c]) for c in range(prob.shape[1]) if 0 < (truth == c).sum() < len(truth)
    ]
    return {
        "n": len(truth),
        "acc": float((guess == truth).mean()),
        "balanced_acc": float(np.mean([(guess[truth == c] == c).mean() for c in np.unique(truth)])),
        "f1": float(f1_score(truth, guess, average="macro")),
        "auroc": float(np.mean(scores)) if scores else None,
    }


def clustering(truth: Array, cluster: Array) -> dict[str, float]:
    """How well clusters `[n]` find classes `[n]`: `nmi` (arithmetic mean) and `ari`."""
    nmi, ari = normalized_mutual_info_score(truth, cluster), adjusted_rand_score(truth, cluster)
    return {"nmi": float(nmi), "ari": float(ari)}


def auc(positive: Tensor, negative: Tensor) -> float:
    """The share of (link, no link) pairs in the right order, ties counted half: the exact AUROC.

    Args:
        positive: Scores of links `[P]`, on any device.
        negative: Scores of pairs that are no links `[M]`.

    Raises:
        ValueError: One side is empty, or a score is NaN.
    """
    positive, negative = _scores(positive, negative)
    if not (positive.numel() and negative.numel()):
        raise ValueError("The AUROC needs scores of links and of pairs that are none.")
    positive, negative = positive.sort().values, negative.sort().values  # both: the search then walks along
    below = torch.searchsorted(negative, positive)
    not_above = torch.searchsorted(negative, positive, right=True)
    # whole numbers until the last step: no rounding, in whatever order a device adds
    return int((below + not_above).sum()) / (2 * positive.numel() * negative.numel())


def hits(positive: Tensor, negative: Tensor, k: int) -> float:
    """Hits@K as OGB defines it: the share of links `[P]` strictly above the `k`-th best of the others `[M]`.

    With fewer than `k` others it is 1. No link, or a NaN, is a `ValueError`.
    """
    positive, negative = _scores(positive, negative)
    if not positive.numel():
        raise ValueError(f"Hits@{k} needs the score of at least one link.")
    if negative.numel() < k:
        return 1.0
    bar = negative.topk(k).values[-1]
    return int((positive > bar).sum()) / positive.numel()


def best_threshold(positive: Tensor, negative: Tensor) -> float:
    """The threshold `t` at which "a score above `t` is a link" is right most often; of equally good ones the lowest.

    Candidates are one below all scores, the middle between any two neighbouring ones, and one above all. They
    are float64: compare scores with them as such, as `links` does. No score, or a NaN, is a `ValueError`.
    """
    positive, negative = _scores(positive, negative)
    value = torch.unique(torch.cat([positive, negative]))
    if not value.numel():
        raise ValueError("A threshold needs at least one score.")
    low, high = value[:-1], value[1:]
    middle = low + (high - low) / 2
    middle = torch.where((low <= middle) & (middle < high), middle, low)  # no number between, or an infinite side
    below, above = value[:1] - value[:1].abs().clamp(min=1), value[-1:] + value[-1:].abs().clamp(min=1)
    threshold = torch.cat([below, middle, above]).nan_to_num(nan=0.0)  # finite also where scores are not
    missed = torch.searchsorted(positive.sort().values, threshold, right=True)
    refused = torch.searchsorted(negative.sort().values, threshold, right=True)
    return float(threshold[(refused - missed).argmax()])


def links(positive: Tensor, negative: Tensor, threshold: float) -> Metrics:
    """Metrics of scores of links `[P]` and of other pairs `[M]`; a score above `threshold` says link.

    Returns:
        `n` (pairs), `acc`, `f1` (of the class link, 0 where no link is found), `auroc`, `ap` (average precision)
        and `hits@20`, `hits@50`, `hits@100`. `None` where there is no value: `acc` and `f1` without pairs,
        `auroc` and `ap` where one side is empty, hits without links or with fewer than K other pairs.

    Raises:
        ValueError: A score is NaN.
    """
    positive, negative = _scores(positive, negative)
    n_positive, n_negative = positive.numel(), negative.numel()
    n, both = n_positive + n_negative, bool(n_positive and n_negative)
    found, wrong = int((positive > threshold).sum()), int((negative > threshold).sum())
    return {
        "n": n,
        "acc": (found + n_negative - wrong) / n if n else None,
        "f1": 2 * found / max(found + wrong + n_positive, 1) if n else None,
        "auroc": auc(positive, negative) if both else None,
        "ap": _average_precision(positive, negative) if both else None,
        **{f"hits@{k}": hits(positive, negative, k) if n_positive and n_negative >= k else None for k in (20, 50, 100)},
    }


def _average_precision(positive: Tensor, negative: Tensor) -> float:
    """The mean, over links, of the precision among the pairs that score at least as high."""
    links_above = positive.numel() - torch.searchsorted(positive.sort().values, positive)
    others_above = negative.numel() - torch.searchsorted(negative.sort().values, positive)
    return float((links_above.double() / (links_above + others_above)).mean())


def _scores(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """Both sides in float64, in which scores of either precision and thresholds between them are exact."""
    positive, negative = positive.detach().double(), negative.detach().double()
    bad = int(positive.isnan().sum()) + int(negative.isnan().sum())
    if bad:
        raise ValueError(f"{bad} link scores are NaN: they have no rank, and so no metric.")
    return positive, negative
