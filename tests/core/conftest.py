"""Inputs on which every equation must agree with its loop: random ones and hand-made ones."""

from typing import NamedTuple

import numpy as np
import pytest


class Case(NamedTuple):
    z: np.ndarray
    y: np.ndarray
    n_classes: int


def _random(n: int, d: int, c: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    y[:c] = np.arange(c)
    return Case(rng.normal(size=(c, d))[y] * 2 + rng.normal(size=(n, d)), y, c)


CASES = {
    "random": _random(40, 5, 4, 0),
    "wide": _random(9, 20, 3, 1),  # D > n
    "two_classes": _random(25, 3, 2, 2),
    "one_dimension": _random(20, 1, 3, 3),
    "ties": Case(np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [2, 1.0]]), np.array([0, 0, 1, 1, 0, 1]), 2),
    "duplicates": Case(np.array([[0, 0.0]] * 4 + [[1, 1.0]] * 4), np.array([0, 0, 1, 0, 1, 1, 0, 1]), 2),
    "absent_class": _random(20, 4, 2, 4)._replace(n_classes=4),
    "one_node_a_class": Case(np.array([[0, 0], [3, 0], [0, 3.0]]), np.array([0, 1, 2]), 3),
    "lonely_class": Case(np.array([[0, 0], [1, 0], [0, 1], [5, 5.0]]), np.array([0, 0, 0, 1]), 2),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request: pytest.FixtureRequest) -> Case:
    return request.param
