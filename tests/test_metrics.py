import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from bes.metrics import classification


@pytest.fixture
def scored() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 60)
    prob = rng.random((60, 4)) + np.eye(4)[truth] * 0.4
    return truth, prob / prob.sum(1, keepdims=True)


def test_against_scikit_learn(scored: tuple[np.ndarray, np.ndarray]) -> None:
    truth, prob = scored
    assert classification(truth, prob) == {
        "n": 60,
        "acc": pytest.approx(accuracy_score(truth, prob.argmax(1))),
        "f1": pytest.approx(f1_score(truth, prob.argmax(1), average="macro")),
        "auroc": pytest.approx(roc_auc_score(truth, prob, multi_class="ovr", average="macro")),
    }


def test_two_classes_have_one_auroc() -> None:
    truth = np.array([0, 0, 1, 1])
    up = np.array([0.1, 0.6, 0.4, 0.8])
    found = classification(truth, np.stack([1 - up, up], 1))
    assert found == {"n": 4, "acc": 0.5, "f1": 0.5, "auroc": pytest.approx(roc_auc_score(truth, up))}


def test_classes_missing_from_the_part(scored: tuple[np.ndarray, np.ndarray]) -> None:
    """Scikit-learn's multiclass AUROC refuses a missing class; ours is the mean over those that occur."""
    truth, prob = scored
    keep = truth < 2
    truth, prob = truth[keep], prob[keep]
    found = classification(truth, prob)
    assert found["auroc"] == pytest.approx(np.mean([roc_auc_score(truth == c, prob[:, c]) for c in (0, 1)]))
    assert found["f1"] == pytest.approx(f1_score(truth, prob.argmax(1), average="macro"))


def test_one_class_has_no_auroc() -> None:
    prob = np.array([[0.9, 0.1], [0.8, 0.2]])
    assert classification(np.array([0, 0]), prob) == {"n": 2, "acc": 1.0, "f1": 1.0, "auroc": None}


def test_no_node_has_no_value() -> None:
    found = classification(np.empty(0, dtype=int), np.empty((0, 3)))
    assert found == {"n": 0, "acc": None, "f1": None, "auroc": None}
