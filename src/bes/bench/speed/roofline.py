"""Sparse and dense products against what this machine can do: a triad for its memory, a large product for its flops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import matmul
from typing import Any

import torch
from torch import Tensor

from bes.bench.speed.model import Timing, in_turns
from bes.graph.sparse import Operators, Sparse
from bes.graph.synthetic import sbm
from bes.scale.work import Work, dense, sparse

#: Numbers of the triad's arrays (256 MB each), and the side of the large product.
LENGTH, SIDE = 1 << 26, 2048

#: Nodes and average degree of the graph, and the width of what is propagated.
NODES, DEGREE, WIDTH = 1_000_000, 14.0, 64

#: What the memory gives to a graph without order in its nodes, and what memory costs that nobody has touched yet.
RANDOM, FRESH = "rows in random order", "fresh memory"

#: The product that is measured on two graphs.
PRODUCT = "sparse product, gcn"

#: The same on a smaller graph, whose rows a cache may hold.
SMALLER = "smaller sparse product, gcn"

#: The dense product without asking for memory.
PLACED = "dense product, into memory that is there"

#: Rows that are added up at a time where they are only to be read, and rows of a block that stays in a cache.
BAG, BLOCK = 1024, 4096


def roofline(nodes: int = NODES, length: int = LENGTH, side: int = SIDE) -> Iterator[Timing]:
    """`ours_ms` is what a product took, `rival_ms` what it would at the machine's limit: the ratio is the share.

    Products take turns with what measures the limits, so that a slow moment of the machine slows both. The limit is
    the roofline: the longer of flops at the large product's rate and bytes at the triad's. `ceiling_ms` is what the
    parts of a product took by themselves in the same turns, and `ceiling_share` the share of that.
    """
    limits = Limits(length, side)
    yield from limits.measured()
    yield _in_cache(limits, nodes // 10)
    graph = sbm(n_nodes=nodes, n_classes=10, n_features=10, degree=DEGREE)
    ops = Operators(graph.edge_index, nodes)
    x, there = torch.randn(nodes, WIDTH), torch.empty(nodes, WIDTH)
    order = torch.randperm(nodes)
    copied = Work(RANDOM, 0, 8 * nodes + 4 * there.numel(), 4 * there.numel())
    took, *speed = in_turns(lambda: torch.index_select(x, 0, order, out=there), *limits.calls, seconds=3.0)
    yield limits.timing("none", copied, took, speed)
    took, *speed = in_turns(partial(torch.zeros, nodes, WIDTH), *limits.calls, seconds=3.0)
    yield limits.timing("none", Work(FRESH, 0, 4 * there.numel(), fresh=4 * there.numel()), took, speed)
    for name in ("gcn", "mean", "sum", "cheb"):
        matrix: Sparse = getattr(ops, name)
        work = _sparse(matrix.csr, WIDTH, f"sparse product, {name}")
        calls = partial(matmul, matrix, x), Reading(matrix.csr, x), partial(torch.zeros, nodes, WIDTH)
        took, reading, asking, *speed = in_turns(*calls, *limits.calls, seconds=8.0)
        rest = limits.moving(8 * matrix.csr.values().numel(), speed)
        parts = {"reading_ms": reading, "fresh_ms": asking, "rest_ms": rest}
        yield limits.timing(f"sbm-{nodes}", work, took, speed, parts)
    yield from _dense(limits, x, there)


def _in_cache(limits: Limits, nodes: int) -> Timing:
    """GCN's product on a smaller graph, whose rows a large cache holds: what the growth of products begins with."""
    graph = sbm(n_nodes=nodes, n_classes=10, n_features=10, degree=DEGREE)
    matrix, x = Operators(graph.edge_index, nodes).gcn, torch.randn(nodes, WIDTH)
    took, *speed = in_turns(partial(matmul, matrix, x), *limits.calls, seconds=3.0)
    return limits.timing(f"sbm-{nodes}", _sparse(matrix.csr, WIDTH, SMALLER), took, speed)


def _dense(limits: Limits, x: Tensor, there: Tensor) -> Iterator[Timing]:
    """The dense product as layers make it, and into memory that is there."""
    nodes, weight = len(x), torch.randn(WIDTH, WIDTH)
    calls = partial(matmul, x, weight), partial(torch.mm, x, weight, out=there), Cached(nodes, weight)
    took, placed, cached, asking, *speed = in_turns(*calls, partial(torch.zeros_like, x), *limits.calls, seconds=6.0)
    work = dense("dense product", nodes, WIDTH, WIDTH)
    parts = {"cached_ms": cached, "rest_ms": limits.moving(8 * x.numel(), speed)}
    asked = {"cached_ms": cached, "fresh_ms": asking, "rest_ms": limits.moving(4 * x.numel(), speed)}
    yield limits.timing(f"sbm-{nodes}", dense(PLACED, nodes, WIDTH, WIDTH), placed, speed, parts)
    yield limits.timing(f"sbm-{nodes}", work, took, speed, asked)  # what is said of it needs the other


class Limits:
    """The triad and the large product, and what they say of others in the same turns."""

    def __init__(self, length: int, side: int) -> None:
        self.triad, self.gemm = Triad(length), Gemm(side)
        self.calls = self.triad, self.gemm

    def measured(self) -> Iterator[Timing]:
        """Both by themselves."""
        first = in_turns(*self.calls, seconds=3.0)
        yield Timing("roofline", "none", "triad, GB/s", None, more={"limit": self.triad.bytes / first[0] / 1e6})
        yield Timing("roofline", "none", "gemm, GFLOP/s", None, more={"limit": self.gemm.flops / first[1] / 1e6})

    def moving(self, size: float, speed: list[float]) -> float:
        """Milliseconds for bytes along an array, where the two took the milliseconds `speed`."""
        return speed[0] * size / self.triad.bytes

    def timing(
        self, graph: str, work: Work, took: float, speed: list[float], parts: dict[str, float] | None = None
    ) -> Timing:
        """A line of what took `took` milliseconds.

        Args:
            parts: Milliseconds of what it consists of, by itself.
        """
        moving, computing = self.moving(work.bytes, speed), speed[1] * work.flops / self.gemm.flops
        limit = max(moving, computing)
        more: dict[str, Any] = {
            "flops": work.flops,
            "bytes": work.bytes,
            "intensity": work.intensity,
            "bound": "memory" if moving >= computing else "flops",
            "attainable_gflops": work.flops / limit / 1e6,
            "triad_gbs": self.triad.bytes / speed[0] / 1e6,
            "gemm_gflops": self.gemm.flops / speed[1] / 1e6,
        }
        if parts:
            ceiling = sum(parts.values())
            more |= {**parts, "ceiling_ms": ceiling, "ceiling_share": ceiling / took}
        return Timing("roofline", graph, work.name, took, limit, more)


class Triad:
    """a = b + s c: two arrays are read and one is written."""

    def __init__(self, length: int) -> None:
        self.a, self.b, self.c = (torch.ones(length) for _ in range(3))
        self.bytes = 12 * length

    def __call__(self) -> None:
        torch.add(self.b, self.c, alpha=0.5, out=self.a)


class Gemm:
    """A product of two square matrices."""

    def __init__(self, side: int) -> None:
        self.a, self.b = torch.randn(side, side), torch.randn(side, side)
        self.flops = 2 * side**3

    def __call__(self) -> None:
        torch.mm(self.a, self.b)


class Reading:
    """The rows that a sparse product reads, in its order, added up by the thousand: next to nothing is written."""

    def __init__(self, csr: Tensor, x: Tensor) -> None:
        self.x, self.stream = x, csr.col_indices()
        self.bags = torch.arange(0, self.stream.numel(), BAG, dtype=self.stream.dtype)

    def __call__(self) -> None:
        torch.embedding_bag(self.x, self.stream, self.bags, mode=0)


class Cached:
    """As many products of rows with a weight, of one block that stays in a cache."""

    def __init__(self, rows: int, weight: Tensor) -> None:
        self.count, self.weight = -(-rows // BLOCK), weight
        self.x, self.out = (torch.randn(min(rows, BLOCK), WIDTH) for _ in range(2))

    def __call__(self) -> None:
        for _ in range(self.count):
            torch.mm(self.x, self.weight, out=self.out)


def _sparse(csr: Tensor, width: int, name: str = "") -> Work:
    return sparse(name, csr.shape[0], csr.values().numel(), width, csr.col_indices().element_size())
