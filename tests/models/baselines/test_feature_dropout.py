"""Dropout of sparse features: what is stored is dropped and scaled, and products know it both ways."""

import pytest
import torch

from bes.graph.sparse import Sparse
from bes.models.base import dropout
from bes.models.baselines import feature_dropout
from bes.models.baselines.feature_dropout import drop_features
from bes.seeding import generator


def words(n: int = 80, width: int = 50) -> Sparse:
    x = torch.rand(n, width, generator=generator(0, "x"))
    return Sparse.from_dense(x * (x > 0.7))


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_stored_entries_are_dropped_or_scaled(p: float) -> None:
    x = words()
    out = drop_features(x, p, generator(0, "dropout"))
    assert isinstance(out, Sparse)
    before, after = x.to_dense(), out.to_dense()
    kept = after != 0
    torch.testing.assert_close(after[kept], before[kept] / (1 - p), rtol=1e-4, atol=0)
    share = 1 - kept.sum() / (before != 0).sum()
    assert share.item() == pytest.approx(p, abs=0.05)
    assert (after[before == 0] == 0).all()
    torch.testing.assert_close(x.to_dense(), before)  # the features themselves are left as they were


def test_the_transpose_drops_the_same() -> None:
    out = drop_features(words(), 0.5, generator(0, "dropout"))
    assert isinstance(out, Sparse)
    assert torch.equal(out.transposed.to_dense(), out.to_dense().t())


def test_gradients_are_those_of_the_dropped_features() -> None:
    out = drop_features(words(), 0.5, generator(0, "dropout"))
    assert isinstance(out, Sparse)
    weight = torch.randn(50, 3, generator=generator(1, "w"))
    grad = torch.randn(80, 3, generator=generator(2, "g"))
    one, other = weight.clone().requires_grad_(), weight.clone().requires_grad_()
    (out @ one).backward(grad)
    (out.to_dense() @ other).backward(grad)
    torch.testing.assert_close(one.grad, other.grad)


def test_the_pattern_is_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = words()
    drop_features(x, 0.5, generator(0, "dropout"))
    monkeypatch.setattr(feature_dropout.torch, "argsort", None)
    first = drop_features(x, 0.5, generator(1, "dropout"))
    second = drop_features(x, 0.5, generator(2, "dropout"))
    assert not torch.equal(first.to_dense(), second.to_dense())


def test_nothing_to_drop_and_dense_features() -> None:
    x = words()
    assert drop_features(x, 0.0, generator(0, "dropout")) is x
    dense = torch.randn(5, 4)
    assert drop_features(dense, 0.0, generator(0, "dropout")) is dense
    out = drop_features(dense, 0.5, generator(0, "dropout"))
    assert torch.equal(out.to_dense(), dropout(dense, 0.5, generator(0, "dropout")))
    empty = Sparse.from_dense(torch.zeros(3, 2))
    assert torch.equal(drop_features(empty, 0.5, generator(0, "dropout")).to_dense(), torch.zeros(3, 2))
