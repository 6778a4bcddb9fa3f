"""Sparse and dense products against what this machine can do: a triad for its memory, a large product for its flops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import matmul

import torch
from torch import Tensor

from bes.bench.speed.model import Timing, in_turns
from bes.graph.sparse import Operators, Sparse
from bes.graph.synthetic import sbm

#: Numbers of the triad's arrays (256 MB each), and the side of the large product.
LENGTH, SIDE = 1 << 26, 2048

#: Nodes and average degree of the graph, and the width of what is propagated.
NODES, DEGREE, WIDTH = 1_000_000, 14.0, 64

#: What the memory gives to a graph without order in its nodes.
RANDOM = "rows in random order"


def roofline(nodes: int = NODES, length: int = LENGTH, side: int = SIDE) -> Iterator[Timing]:
    """`ours_ms` is what a product took, `rival_ms` what it would at the machine's limit: the ratio is the share.

    Products take turns with what measures the limits, so that a slow moment of the machine slows both.
    """
    triad, gemm = Triad(length), Gemm(side)
    first = in_turns(triad, gemm, seconds=3.0)
    yield Timing("roofline", "none", "triad, GB/s", None, more={"limit": triad.bytes / first[0] / 1e6})
    yield Timing("roofline", "none", "gemm, GFLOP/s", None, more={"limit": gemm.flops / first[1] / 1e6})
    graph = sbm(n_nodes=nodes, n_classes=10, n_features=10, degree=DEGREE)
    ops = Operators(graph.edge_index, nodes)
    x, weight = torch.randn(nodes, WIDTH), torch.randn(WIDTH, WIDTH)
    order, copy = torch.randperm(nodes), torch.empty_like(x)
    took, copied = in_turns(lambda: torch.index_select(x, 0, order, out=copy), triad, seconds=3.0, least=5)
    limit = copied * nodes * (8 + 8 * WIDTH) / triad.bytes
    yield Timing("roofline", "none", RANDOM, took, limit)
    for name in ("gcn", "mean", "sum", "cheb"):
        matrix: Sparse = getattr(ops, name)
        took, copied = in_turns(partial(matmul, matrix, x), triad, seconds=6.0, least=5)
        limit = copied * sparse_bytes(matrix.csr, WIDTH) / triad.bytes
        yield Timing("roofline", f"sbm-{nodes}", f"sparse product, {name}", took, limit)
    took, copied, multiplied = in_turns(lambda: x @ weight, triad, gemm, seconds=3.0, least=5)
    dense = max(multiplied * 2 * nodes * WIDTH * WIDTH / gemm.flops, copied * 8 * nodes * WIDTH / triad.bytes)
    yield Timing("roofline", f"sbm-{nodes}", "dense product", took, dense)


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


def sparse_bytes(csr: Tensor, width: int) -> int:
    """Bytes that a product with `width` columns moves: the matrix, a row of x an entry, and the result.

    On a graph without order in its nodes no row of x is in a cache when it is needed.
    """
    entries = csr.values().numel()
    index = csr.col_indices().element_size()
    return entries * (4 + index + 4 * width) + csr.shape[0] * (index + 4 * width)
