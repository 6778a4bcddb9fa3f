from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.pairs import beside, check_fractions, pair_loss, pair_prob
from bes.graph.sparse import Sparse

logit = st.floats(-8, 8)


@given(st.lists(st.tuples(logit, st.integers(0, 1)), min_size=1, max_size=20))
def test_two_classes_have_one_logit(rows):
    logits = torch.tensor([[value] for value, _ in rows], dtype=torch.float64)
    truth = torch.tensor([c for _, c in rows])
    link = [1 / (1 + math.exp(-value)) for value, _ in rows]
    prob = torch.tensor([[1 - p, p] for p in link], dtype=torch.float64)
    loss = -sum(math.log(p if c else 1 - p) for p, (_, c) in zip(link, rows, strict=True)) / len(rows)
    torch.testing.assert_close(pair_prob(logits), prob)
    assert pair_loss(logits, truth).item() == pytest.approx(loss)
    two = torch.cat([torch.zeros_like(logits), logits], dim=1)  # the same as two logits, the first at zero
    torch.testing.assert_close(pair_loss(logits, truth), F.cross_entropy(two, truth))


@given(st.lists(st.tuples(logit, logit, logit, st.integers(0, 2)), min_size=1, max_size=20))
def test_more_classes_have_a_logit_each(rows):
    logits = torch.tensor([row[:3] for row in rows], dtype=torch.float64)
    truth = torch.tensor([row[3] for row in rows])
    weights = [[math.exp(value) for value in row[:3]] for row in rows]
    prob = torch.tensor([[w / sum(row) for w in row] for row in weights], dtype=torch.float64)
    torch.testing.assert_close(pair_prob(logits), prob)
    loss = -sum(math.log(float(prob[i, row[3]])) for i, row in enumerate(rows)) / len(rows)
    assert pair_loss(logits, truth).item() == pytest.approx(loss)


def test_loss_of_sure_answers_is_finite():
    logits = torch.tensor([[1000.0], [-1000.0]])
    assert pair_loss(logits, torch.tensor([1, 0])).item() == 0
    assert pair_loss(logits, torch.tensor([0, 1])).item() == 1000
    assert pair_prob(logits).tolist() == [[0, 1], [1, 0]]


@given(st.integers(0, 5), st.integers(1, 4), st.integers(0, 3), st.integers(0, 99))
def test_columns_go_beside_dense_and_sparse_features(n, f, k, seed):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randint(-1, 2, (n, f), generator=rng).float()
    columns = torch.randint(-1, 2, (n, k), generator=rng).double() / 3
    expected = torch.tensor([[*x[i].tolist(), *columns[i].tolist()] for i in range(n)]).reshape(n, f + k)
    dense, sparse = beside(x, columns), beside(Sparse.from_dense(x), columns)
    assert isinstance(sparse, Sparse)
    assert dense.dtype == sparse.dtype == torch.float32
    assert torch.equal(dense, expected)
    assert torch.equal(sparse.to_dense(), expected)
    row, col, value = sparse.coo()
    assert value.numel() == int((expected != 0).sum())
    assert torch.equal(row * (f + k) + col, (row * (f + k) + col).unique())  # sorted, as products want it


@pytest.mark.parametrize(
    ("train", "val"),
    [(0, 0.2), (0.6, 0), (0.8, 0.2), (0.9, 0.2), (-1, 0.5), (0.6, -0.1), (math.nan, 0.2), (0.6, math.nan)],
)
def test_fractions_that_empty_a_part_are_refused(train, val, refuses):
    with refuses("fractions", f"train={train:g}", f"val={val:g}"):
        check_fractions(train, val)


def test_fractions_that_fit_pass():
    check_fractions(0.6, 0.2)
    check_fractions(0.85, 0.05)
    with pytest.raises(InputError):
        check_fractions(math.inf, 0.2)
