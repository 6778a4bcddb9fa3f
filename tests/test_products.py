"""Dense products by oneDNN: the same numbers and gradients as torch's, and only where they are worth it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from bes import machine, products
from bes.products import LEAST, linear, times

ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """oneDNN for every product, on whatever processor this is."""
    if not ONEDNN:
        pytest.skip("torch has no oneDNN on this machine")
    monkeypatch.setattr(products, "_faster", lambda: True)
    monkeypatch.setattr(products, "LEAST", 0)


def _matrix(n: int, m: int, *, turned: bool, seed: int) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    made = torch.randn(m, n, generator=rng).t() if turned else torch.randn(n, m, generator=rng)
    return made.requires_grad_(True)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("n", "k", "m"), [(50, 30, 7), (1, 5, 3), (4, 1, 1), (200, 64, 65)])
def test_numbers_and_gradients_are_torchs(n: int, k: int, m: int, turned: tuple[bool, bool], with_bias: bool) -> None:
    x, weight = _matrix(n, k, turned=turned[0], seed=0), _matrix(m, k, turned=turned[1], seed=1)
    bias = _matrix(1, m, turned=False, seed=2).detach()[0].requires_grad_(True) if with_bias else None
    inputs = [one for one in (x, weight, bias) if one is not None]
    out, wanted = linear(x, weight, bias), F.linear(x, weight, bias)
    assert "_Linear" in type(out.grad_fn).__name__, "or torch is held against itself"
    torch.testing.assert_close(out, wanted, rtol=1e-4, atol=1e-4)
    towards = _matrix(n, m, turned=False, seed=3).detach()
    for own, other in zip(
        torch.autograd.grad(out, inputs, towards), torch.autograd.grad(wanted, inputs, towards), strict=True
    ):
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("forced")
def test_gradients_have_gradients() -> None:
    x, weight = _matrix(9, 4, turned=False, seed=0), _matrix(3, 4, turned=False, seed=1)
    found = []
    for product in (linear, F.linear):
        (first,) = torch.autograd.grad(product(x, weight).square().sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), weight)[0])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-3)


@pytest.mark.usefixtures("forced")
def test_what_needs_no_gradient_gets_none_and_the_sum_may_be_changed_in_place() -> None:
    x, weight = _matrix(6, 5, turned=False, seed=0).detach(), _matrix(5, 2, turned=False, seed=1)
    out = times(x, weight).mul_(3.0)
    torch.testing.assert_close(out, 3 * x @ weight)
    (grad,) = torch.autograd.grad(out.sum(), weight)
    torch.testing.assert_close(grad, 3 * x.sum(0)[:, None].expand(5, 2))
    assert not times(x, weight.detach()).requires_grad


@pytest.mark.usefixtures("forced")
def test_what_torch_does_otherwise_is_left_to_torch() -> None:
    """Under autocast, in transforms of `torch.func`, and with a bias that is spread over the outputs."""
    x, weight = _matrix(6, 5, turned=False, seed=0).detach(), _matrix(3, 5, turned=False, seed=1).detach()
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x, weight).dtype == F.linear(x, weight).dtype == torch.bfloat16
    bias = torch.ones(1)
    torch.testing.assert_close(linear(x, weight, bias), F.linear(x, weight, bias))
    each = torch.func.vmap(torch.func.grad(lambda row: linear(row[None], weight).square().sum()))(x)
    torch.testing.assert_close(each, 2 * x @ weight.t() @ weight, rtol=1e-4, atol=1e-4)


def test_small_ones_and_other_numbers_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def seen(*given: Tensor | None) -> Tensor:
        calls.append(given)
        return torch.empty(0)

    monkeypatch.setattr(products, "_faster", lambda: True)
    monkeypatch.setattr(products._Linear, "apply", seen)
    side = math.ceil(LEAST ** (1 / 3))
    large = torch.ones(side, side)
    linear(large, large)
    assert len(calls) == 1
    for x, weight in (
        (large[: side // 2], large),
        (large.double(), large.double()),
        (large[None], large),
        (large.to("meta"), large.to("meta")),
    ):
        linear(x, weight)
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    linear(large, large)
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", True)
    monkeypatch.setattr(products, "_faster", lambda: False)
    linear(large, large)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("vendor", "capability", "faster"),
    [
        ("AuthenticAMD", "AVX512", ONEDNN),
        ("AuthenticAMD", "AVX2", False),
        ("GenuineIntel", "AVX512", False),
        (None, "AVX512", False),
    ],
)
def test_it_is_for_processors_that_mkl_does_not_know(
    vendor: str | None, capability: str, faster: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "cpuinfo"
    if vendor:
        told.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: 26\n\nvendor_id\t: {vendor}\n")
    monkeypatch.setattr(machine, "CPUINFO", told)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert products._faster.__wrapped__() is faster
