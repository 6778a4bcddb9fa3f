"""Products of dense matrices: by oneDNN where MKL, which torch calls on a CPU, leaves half of the processor idle.

MKL has its widest instructions for Intel's processors alone. oneDNN, which torch brings along too, takes what there is:
on others with AVX-512 it is much faster (`bes bench speed` has the ratio on this machine).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional as F

from bes.machine import processor

#: Multiplications from which on a product is worth a call from Python, forth and back.
LEAST = 1 << 22


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b `[n, out]` of x `[n, in]`, W `[out, in]` and b `[out]`, in any order of memory."""
    large = x.dim() == weight.dim() == 2 and x.numel() * weight.shape[0] >= LEAST
    plain = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    plain = plain and (bias is None or bias.shape == weight.shape[:1])
    if not (large and plain and by_onednn()) or torch.is_autocast_enabled("cpu") or _transformed():
        return F.linear(x, weight, bias)
    found: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return found


def times(a: Tensor, b: Tensor) -> Tensor:
    """a b of matrices `[n, k]` and `[k, m]`."""
    return linear(a, b.t())


def by_onednn() -> bool:
    """Whether large products of this process go to oneDNN; `torch.backends.mkldnn.enabled = False` keeps them away."""
    return bool(torch.backends.mkldnn.enabled) and _faster()


def _transformed() -> bool:
    """Whether this is within `torch.func` or forward-mode differentiation, which know torch's own product."""
    return torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0


@cache
def _faster() -> bool:
    """By the kind of processor and not by a clock, so that a run stays the same to the bit."""
    wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    here = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return wide and here and processor() not in ("", "GenuineIntel")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        to_x, to_weight, to_bias = ctx.needs_input_grad
        return (
            linear(grad, weight.t()) if to_x else None,
            linear(grad.t(), x.t()) if to_weight else None,
            grad.sum(0) if to_bias else None,
        )
