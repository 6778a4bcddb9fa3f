"""The contrast against plain loops, and its gradient against autograd's."""

import math

import pytest
import torch
from torch import Tensor

from bes.models.baselines import motifrgc_contrast
from bes.models.baselines.blocks import row_logsumexp
from bes.models.baselines.motifrgc_contrast import both_logsumexp, contrast


def views(n: int = 13, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(4)
    a, b = torch.randn(2, n, 5, generator=rng, dtype=dtype)
    return a.requires_grad_(), b.requires_grad_()


def naive(a: Tensor, b: Tensor, temperature: float) -> float:
    """The mean over nodes and directions of -log(e^s_ii / sum_{j != i} e^s_ij)."""
    n = len(a)
    s = [[float(torch.cosine_similarity(a[i], b[j], dim=0)) / temperature for j in range(n)] for i in range(n)]
    forth = [-math.log(math.exp(s[i][i]) / sum(math.exp(s[i][j]) for j in range(n) if j != i)) for i in range(n)]
    back = [-math.log(math.exp(s[i][i]) / sum(math.exp(s[j][i]) for j in range(n) if j != i)) for i in range(n)]
    return (sum(forth) + sum(back)) / (2 * n)


@pytest.mark.parametrize("block", [1, 13 * 4, 1 << 19])
@pytest.mark.parametrize("temperature", [0.2, 1.0])
def test_contrast_is_the_formula_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch, block: int, temperature: float
) -> None:
    monkeypatch.setattr(motifrgc_contrast, "BLOCK", block)
    a, b = views()
    assert contrast(a, b, temperature).item() == pytest.approx(naive(a.detach(), b.detach(), temperature))
    torch.autograd.gradcheck(lambda p, q: contrast(p, q, temperature), (a, b))


def test_both_sums_are_row_sums_there_and_back() -> None:
    a, b = (torch.nn.functional.normalize(view) for view in views(40, torch.float32))
    rows, columns = both_logsumexp(a, b, 5.0)
    torch.testing.assert_close(rows, row_logsumexp(a, b, 5.0, skip_self=True))
    torch.testing.assert_close(columns, row_logsumexp(b, a, 5.0, skip_self=True))


def test_alike_views_cost_less_than_shuffled_ones() -> None:
    a, _ = views()
    assert contrast(a, a, 0.2) < contrast(a, a.roll(1, 0), 0.2)


def test_the_lowest_temperature_does_not_overflow() -> None:
    a = torch.ones(100, 4, requires_grad=True)
    loss = contrast(a, a, 0.02)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(99), rel=1e-4)
    assert a.grad is not None
    assert a.grad.isfinite().all()


def test_a_row_of_zeros_has_a_gradient_of_ordinary_size() -> None:
    a, b = views()
    with torch.no_grad():
        a[3] = 0
    contrast(a, b, 0.2).backward()
    assert a.grad is not None
    assert 0 < a.grad[3].abs().max() < 10


def test_blocks_that_are_held_say_what_blocks_made_again_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for held in (0, 1 << 22):
        monkeypatch.setattr(motifrgc_contrast, "HELD", held)
        rng = torch.Generator().manual_seed(0)
        a, b = (torch.randn(30, 5, generator=rng).requires_grad_() for _ in range(2))
        value = motifrgc_contrast.contrast(a, b, 0.2)
        value.backward()
        found.append((value.detach(), a.grad, b.grad))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)
