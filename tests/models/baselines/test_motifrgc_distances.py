"""Distances of pairs against the plain formula."""

import pytest
import torch

from bes.models.baselines import motifrgc_distances
from bes.models.baselines.motifrgc_distances import square_distances


@pytest.mark.parametrize("block", [7, 1 << 14])
def test_distances_and_their_gradients(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(motifrgc_distances, "BLOCK", block)
    rng = torch.Generator().manual_seed(0)
    u, v = torch.randint(30, (2, 500), generator=rng)  # some pairs twice, some nodes with themselves
    weight = torch.randn(500, generator=rng)
    z = torch.randn(40, 6, generator=rng).requires_grad_()
    plain = z.detach().clone().requires_grad_()
    found, expected = square_distances(z, u, v), (plain[u] - plain[v]).square().sum(1)
    torch.testing.assert_close(found, expected)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(z.grad, plain.grad, rtol=1e-4, atol=1e-4)


def test_no_pairs() -> None:
    z, none = torch.randn(4, 2, requires_grad=True), torch.empty(0, dtype=torch.long)
    square_distances(z, none, none).sum().backward()
    torch.testing.assert_close(z.grad, torch.zeros(4, 2))
