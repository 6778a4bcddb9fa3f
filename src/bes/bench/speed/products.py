"""Large dense products as layers make them, against torch's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from bes.bench.speed.model import Timing, in_turns
from bes.products import by_onednn, linear

#: Linear maps by what they are: rows, width before and after, and whether what comes before learns too.
MAPS = {
    "dense features of 7,650 nodes, 745 to 64": (7_650, 745, 64, False),
    "hidden layer of 20,000 nodes, 64 to 64": (20_000, 64, 64, True),
    "hidden layer of 20,000 nodes, 512 to 512": (20_000, 512, 512, True),
}


def products(maps: dict[str, tuple[int, int, int, bool]] = MAPS) -> Iterator[Timing]:
    """Forward and backward of a linear map."""
    for name, (n, before, after, learns) in maps.items():
        x, weight = torch.randn(n, before).requires_grad_(learns), torch.randn(after, before, requires_grad=True)
        grad = torch.randn(n, after)
        inputs = [x, weight] if learns else [weight]
        ours, own = in_turns(*(partial(_step, by, x, weight, grad, inputs) for by in (linear, F.linear)), seconds=3.0)
        yield Timing("product", "none", name, ours, own, {"onednn": by_onednn()})


def _step(
    by: Callable[[Tensor, Tensor], Tensor], x: Tensor, weight: Tensor, grad: Tensor, inputs: list[Tensor]
) -> None:
    torch.autograd.grad(by(x, weight), inputs, grad)
