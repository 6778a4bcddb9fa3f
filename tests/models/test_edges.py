"""Attention over edges: the gradients that are written out, against finite differences and autograd."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from bes.graph.graph import undirected
from bes.graph.sparse import Operators
from bes.models.edges import SLOPE, attend, pair_score, reach
from bes.seeding import generator


@pytest.fixture
def ops() -> Operators:
    """Twenty nodes: a hub that meets most of them, random edges, and a node without any."""
    edges = torch.randint(0, 19, (2, 30), generator=generator(0, "graph"))
    star = torch.stack([torch.zeros(15, dtype=torch.int64), torch.arange(15)])
    return Operators(undirected(torch.cat([edges, star], dim=1), 20), 20)


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=generator(1, "values")).requires_grad_()


@pytest.mark.parametrize("numbers", [1, 40, 2**18])
def test_gradients_of_pair_scores_are_those_of_autograd(
    ops: Operators, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of a block, also where the hub's row is larger than one."""
    monkeypatch.setattr("bes.models.edges._BLOCK", numbers)
    left, right, att = draw(20, 3), draw(20, 3), draw(3)
    row, col = ops.looped
    naive = F.leaky_relu(left[col] + right[row], SLOPE) @ att
    score = pair_score(left, right, att, ops)
    torch.testing.assert_close(score, naive)
    weight = torch.randn(score.shape, dtype=torch.float64, generator=generator(2, "weight"))
    expected = torch.autograd.grad((naive * weight).sum(), (left, right, att))
    found = torch.autograd.grad((score * weight).sum(), (left, right, att))
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other)


def test_gradients_of_attention_are_finite_differences(ops: Operators) -> None:
    score, h = draw(ops.looped.shape[1]), draw(20, 3)
    assert torch.autograd.gradcheck(lambda s, x: attend(s, x, ops), (score, h))


@pytest.mark.parametrize("shape", [(20,), (20, 3)])
def test_gradients_of_scores_by_ends_are_those_of_autograd(ops: Operators, shape: tuple[int, ...]) -> None:
    source, target = draw(*shape), draw(*shape)
    row, col = ops.looped
    naive, score = F.leaky_relu(source[col] + target[row], SLOPE), reach(source, target, ops)
    torch.testing.assert_close(score, naive)
    weight = torch.randn(score.shape, dtype=torch.float64, generator=generator(2, "weight"))
    expected = torch.autograd.grad((naive * weight).sum(), (source, target))
    found = torch.autograd.grad((score * weight).sum(), (source, target))
    torch.testing.assert_close(found, expected)
