"""Sparse matrices that keep their transpose, and the propagation operators of a graph.

Autograd's own backward of a CSR product transposes the matrix in every step. Here the transpose is
built once, so that a training step costs two plain sparse-dense products.
"""

from __future__ import annotations

import math
import warnings
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

#: Floats of a line of the cache, and of a matrix whose rows a cache may hold: 16 MiB.
LINE, CACHED = 16, 1 << 22


class Sparse:
    """A constant CSR matrix `[R, C]` with a cached transpose; `matrix @ dense` is differentiable.

    Gradients flow to the dense factor only: features and graph operators are data.
    """

    def __init__(self, csr: Tensor, *, symmetric: bool = False) -> None:
        self.csr = csr
        if symmetric:
            self.__dict__["transposed"] = self

    def __reduce__(self) -> tuple[Any, ...]:
        """By its coordinates: torch warns when it sends a CSR tensor to another process."""
        row, col, value = self.coo()
        symmetric = self.__dict__.get("transposed") is self
        return partial(Sparse.from_coo, symmetric=symmetric), (row, col, value, tuple(self.shape))

    @classmethod
    def from_coo(
        cls, row: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int], *, symmetric: bool = False
    ) -> Sparse:
        """From coordinates sorted by row; int32 indices where they fit, as the kernels want them."""
        small = max(*shape, row.numel()) < 2**31
        dtype = torch.int32 if small else torch.int64
        counts = torch.bincount(row, minlength=shape[0])
        pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            csr = torch.sparse_csr_tensor(pointer.to(dtype), col.to(dtype), value, size=shape, check_invariants=False)
        return cls(csr, symmetric=symmetric)

    @classmethod
    def from_dense(cls, matrix: Tensor) -> Sparse:
        """From the non-zero entries of a dense `[R, C]`."""
        row, col = matrix.nonzero(as_tuple=True)
        return cls.from_coo(row, col, matrix[row, col], (matrix.shape[0], matrix.shape[1]))

    @cached_property
    def transposed(self) -> Sparse:
        """The transpose `[C, R]`, built once; its own transpose is this matrix."""
        row, col, value = self.coo()
        order = torch.argsort(col, stable=True)
        other = Sparse.from_coo(col[order], row[order], value[order], (self.shape[1], self.shape[0]))
        other.__dict__["transposed"] = self
        return other

    @property
    def shape(self) -> torch.Size:
        return self.csr.shape

    @property
    def device(self) -> torch.device:
        return self.csr.device

    @property
    def dtype(self) -> torch.dtype:
        return self.csr.dtype

    def coo(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row and column (int64) and value of each stored entry, sorted by row."""
        pointer = self.csr.crow_indices().long()
        rows = torch.arange(self.shape[0], device=self.device)
        row = torch.repeat_interleave(rows, pointer[1:] - pointer[:-1])
        return row, self.csr.col_indices().long(), self.csr.values()

    def rows(self, index: Tensor) -> Sparse:
        """The rows `index` `[R']` of the matrix, `[R', C]`."""
        pointer = self.csr.crow_indices().long()
        start, count = pointer[index], pointer[index + 1] - pointer[index]
        row = torch.repeat_interleave(torch.arange(index.numel(), device=self.device), count)
        entry = spans(start, count)
        shape = (index.numel(), self.shape[1])
        return Sparse.from_coo(row, self.csr.col_indices()[entry], self.csr.values()[entry], shape)

    def to(self, device: torch.device | str) -> Sparse:
        if torch.device(device) == self.device:
            return self
        return Sparse(self.csr.to(device), symmetric=self.__dict__.get("transposed") is self)

    def to_dense(self) -> Tensor:
        return self.csr.to_dense()

    def __matmul__(self, dense: Tensor) -> Tensor:
        if dense.requires_grad:
            found: Tensor = _Product.apply(self, dense)  # type: ignore[no-untyped-call]
            return found
        return product(self.csr, dense)


def product(csr: Tensor, dense: Tensor) -> Tensor:
    """A CSR matrix `[R, C]` times `dense` `[C, d]`, without gradients.

    A row of the result is a weighted sum of rows, which is what a bag of embeddings is too. On a CPU torch's kernel
    for those, compiled for the width at hand and with prefetches, takes a third of the time of its sparse product.
    """
    fits = dense.dim() == 2 and dense.device.type == "cpu" and dense.dtype == csr.dtype == torch.float32
    if not fits:
        return csr @ dense
    pointer, column, value = csr.crow_indices(), csr.col_indices(), csr.values()
    width, dense = dense.shape[1], _in_lines(dense.detach())
    summed: Tensor = torch.embedding_bag(
        dense, column, pointer, mode=0, per_sample_weights=value, include_last_offset=True
    )[0]
    return summed if summed.shape[1] == width else summed[:, :width].contiguous()


def _in_lines(dense: Tensor) -> Tensor:
    """The same rows, in whole lines of the cache where that is worth a copy; beside them are zeros.

    Of rows that lie one after another many reach into one line more than they fill, and each costs its way to the
    memory where no cache holds them all: ten columns take half as long again as sixteen.
    """
    width = dense.shape[1]
    lines = -(-width // LINE)
    reached = (width + LINE - math.gcd(width, LINE)) / LINE
    if dense.numel() <= CACHED or reached < 1.25 * lines:
        return dense
    return pad(dense, (0, lines * LINE - width))


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, matrix: Sparse, dense: Tensor) -> Tensor:
        ctx.matrix = matrix  # type: ignore[attr-defined]
        return product(matrix.csr, dense)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix.transposed @ grad.contiguous()  # type: ignore[attr-defined]


#: Node features: dense `[N, F]`, or sparse; both know `x @ weight`.
Features = Tensor | Sparse


def rows_of(x: Features, index: Tensor) -> Features:
    """The rows `index` of features, of the same kind."""
    return x.rows(index) if isinstance(x, Sparse) else x.index_select(0, index)


def spans(start: Tensor, count: Tensor) -> Tensor:
    """start, start + 1, ..., start + count - 1 of each entry, one after another."""
    ends = count.cumsum(0)
    shift = torch.repeat_interleave(start - ends + count, count)
    return shift + torch.arange(shift.numel(), device=start.device)


class Operators:
    """The propagation matrices of one undirected graph, each built on first use and kept.

    `edge_index` is `[2, E]` with both directions, no self-loops, sorted by its first row.
    Row `i` of each operator gathers from the neighbours of node `i`.

    Args:
        degree: Neighbours of each node `[N]` where not all of them are in `edge_index`, as in a piece of a graph;
            without it they are counted, or their weights summed.
        weight: Of each edge, above zero and the same in both directions `[E]`: the entries of A. `edge_index` is then
            sorted by both rows. Without it all are 1. Attention finds weights of its own: GAT and GATv2 read which
            edges there are, and not these.
    """

    def __init__(
        self, edge_index: Tensor, n_nodes: int, degree: Tensor | None = None, weight: Tensor | None = None
    ) -> None:
        self.edge_index = edge_index
        self.n_nodes = n_nodes
        self.weight = weight
        if degree is not None:
            self.__dict__["degree"] = degree

    @cached_property
    def degree(self) -> Tensor:
        """Neighbours of each node, or the sum of the weights at it `[N]`, float32."""
        if self.weight is None:
            return torch.bincount(self.edge_index[0], minlength=self.n_nodes).float()
        return self.weight.new_zeros(self.n_nodes).index_add(0, self.edge_index[0], self.weight)

    def _build(self, edge_index: Tensor, value: Tensor, *, symmetric: bool) -> Sparse:
        row, col = edge_index
        return Sparse.from_coo(row, col, value, (self.n_nodes, self.n_nodes), symmetric=symmetric)

    @cached_property
    def sum(self) -> Sparse:
        """A."""
        weight = self.weight
        if weight is None:
            weight = torch.ones(self.edge_index.shape[1], device=self.edge_index.device)
        return self._build(self.edge_index, weight, symmetric=True)

    @cached_property
    def mean(self) -> Sparse:
        """D^-1 A; the row of an isolated node is zero."""
        weight = 1.0 if self.weight is None else self.weight
        return self._build(self.edge_index, weight / self.degree[self.edge_index[0]], symmetric=False)

    @cached_property
    def cheb(self) -> Sparse:
        """2 L / lambda_max - I with lambda_max = 2, that is -D^-1/2 A D^-1/2."""
        root = self.degree.rsqrt()[self.edge_index]
        return self._build(self.edge_index, _times(-root[0] * root[1], self.weight), symmetric=True)

    @cached_property
    def looped(self) -> Tensor:
        """`edge_index` with one self-loop a node, sorted by its first row."""
        loop = torch.arange(self.n_nodes, device=self.edge_index.device)
        both = torch.cat([self.edge_index, loop.expand(2, -1)], dim=1)
        return both[:, torch.argsort(both[0] * self.n_nodes + both[1])]

    @cached_property
    def _looped_weight(self) -> Tensor | None:
        """Of each edge of `looped`, 1 of a self-loop; None where edges have none."""
        if self.weight is None:
            return None
        own = self.looped[0] == self.looped[1]
        return self.weight.new_ones(own.numel()).masked_scatter(~own, self.weight)  # both are sorted alike

    @cached_property
    def with_loops(self) -> Operators:
        """The same graph with each node among its own neighbours: its `mean` is (D + I)^-1 (A + I)."""
        return Operators(self.looped, self.n_nodes, self.degree + 1, self._looped_weight)

    @cached_property
    def gcn(self) -> Sparse:
        """(D + I)^-1/2 (A + I) (D + I)^-1/2."""
        root = (self.degree + 1).rsqrt()[self.looped]
        return self._build(self.looped, _times(root[0] * root[1], self._looped_weight), symmetric=True)

    def to(self, device: torch.device | str) -> Operators:
        if torch.device(device) == self.edge_index.device:
            return self
        weight = None if self.weight is None else self.weight.to(device)
        return Operators(self.edge_index.to(device), self.n_nodes, self.degree.to(device), weight)


def _times(value: Tensor, weight: Tensor | None) -> Tensor:
    return value if weight is None else value * weight
