"""Accuracy, macro F1 and one-vs-rest AUROC, defined also where a class is missing."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

Array = np.ndarray

#: None where a metric has no value: no node, or no class with both members and others.
Metrics = dict[str, float | int | None]


def classification(truth: Array, prob: Array) -> Metrics:
    """Metrics of class probabilities `[n, C]` against classes `[n]`.

    Returns:
        `n`, `acc`, `f1` (macro over the classes that occur in truth or prediction) and `auroc`
        (macro over the classes that have both members and others).
    """
    if len(truth) == 0:
        return {"n": 0, "acc": None, "f1": None, "auroc": None}
    guess = prob.argmax(1)
    scores = [
        roc_auc_score(truth == c, prob[:, c]) for c in range(prob.shape[1]) if 0 < (truth == c).sum() < len(truth)
    ]
    return {
        "n": len(truth),
        "acc": float((guess == truth).mean()),
        "f1": float(f1_score(truth, guess, average="macro")),
        "auroc": float(np.mean(scores)) if scores else None,
    }
