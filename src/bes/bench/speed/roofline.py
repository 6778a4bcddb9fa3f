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


def roofline(nodes: int = NODES, length: int = LENGTH, side: int = SIDE) -> Iterator[Timing]:
    """`ours_ms` is what a product took, `rival_ms` what it would at the machine's limit: the ratio is the share."""
    bandwidth, flops = triad(length), gemm(side)
    yield Timing("roofline", "none", "triad, GB/s", None, more={"limit": bandwidth / 1e9})
    yield Timing("roofline", "none", "gemm, GFLOP/s", None, more={"limit": flops / 1e9})
    graph = sbm(n_nodes=nodes, n_classes=10, n_features=10, degree=DEGREE)
    ops = Operators(graph.edge_index, nodes)
    x, weight = torch.randn(nodes, WIDTH), torch.randn(WIDTH, WIDTH)
    for name in ("gcn", "mean", "sum", "cheb"):
        matrix: Sparse = getattr(ops, name)
        (took,) = in_turns(partial(matmul, matrix, x), seconds=5.0, least=3)
        limit = 1000 * sparse_bytes(matrix.csr, WIDTH) / bandwidth
        yield Timing("roofline", f"sbm-{nodes}", f"sparse product, {name}", took, limit)
    (took,) = in_turns(lambda: x @ weight, seconds=3.0, least=3)
    dense = max(2 * nodes * WIDTH * WIDTH / flops, 8 * nodes * WIDTH / bandwidth)
    yield Timing("roofline", f"sbm-{nodes}", "dense product", took, 1000 * dense)


def triad(length: int) -> float:
    """Bytes a second of a = b + s c: two arrays are read and one is written."""
    a, b, c = (torch.ones(length) for _ in range(3))
    (took,) = in_turns(lambda: torch.add(b, c, alpha=0.5, out=a), seconds=2.0)
    return 12 * length / (took / 1000)


def gemm(side: int) -> float:
    """Flops a second of a product of two square matrices."""
    a, b = torch.randn(side, side), torch.randn(side, side)
    (took,) = in_turns(lambda: a @ b, seconds=2.0)
    return 2 * side**3 / (took / 1000)


def sparse_bytes(csr: Tensor, width: int) -> int:
    """Bytes that a product with `width` columns moves: the matrix, a row of x an entry, and the result.

    On a graph without order in its nodes no row of x is in a cache when it is needed.
    """
    entries = csr.values().numel()
    index = csr.col_indices().element_size()
    return entries * (4 + index + 4 * width) + csr.shape[0] * (index + 4 * width)
