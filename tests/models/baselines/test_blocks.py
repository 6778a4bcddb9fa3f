"""Sums over all pairs, against the plain product."""

from __future__ import annotations

import pytest
import torch

from bes.models.baselines import blocks
from bes.models.baselines.blocks import row_logsumexp


def rows(n: int, seed: int) -> torch.Tensor:
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("held", [0, 1 << 24])
@pytest.mark.parametrize("block", [1, 7, 50, 1 << 22])
@pytest.mark.parametrize(
    ("n", "m", "skip_self"), [(9, 9, False), (9, 9, True), (5, 8, False), (5, 8, True), (1, 3, False)]
)
def test_values_and_gradients_are_those_of_the_whole_product(
    n: int, m: int, skip_self: bool, block: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", block)
    monkeypatch.setattr(blocks, "HELD", held)
    a, b = rows(n, 0), rows(m, 1)
    logits = 1.7 * a @ b.T
    if skip_self:
        logits = logits.masked_fill(torch.eye(n, m, dtype=torch.bool), -torch.inf)
    expected, found = logits.logsumexp(1), row_logsumexp(a, b, 1.7, skip_self=skip_self)
    assert torch.allclose(expected, found)
    weight = torch.arange(1.0, n + 1, dtype=torch.float64)
    for one, two in zip(
        torch.autograd.grad((expected * weight).sum(), (a, b)),
        torch.autograd.grad((found * weight).sum(), (a, b)),
        strict=True,
    ):
        assert torch.allclose(one, two)


def test_one_matrix_on_both_sides_gets_both_gradients() -> None:
    a = rows(6, 2)
    expected = torch.autograd.grad((a @ a.T).logsumexp(1).sum(), a)[0]
    assert torch.allclose(torch.autograd.grad(row_logsumexp(a, a).sum(), a)[0], expected)


def test_large_products_do_not_overflow() -> None:
    a = torch.full((3, 2), 100.0)
    assert torch.allclose(row_logsumexp(a, a, 50.0), torch.tensor(1e6) + torch.tensor(3.0).log())


def test_no_block_is_larger_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 64)
    sizes = [logits.numel() for _, logits in blocks._blocks(rows(40, 0), rows(16, 1), 1.0, False)]
    assert sizes == [64] * 10
