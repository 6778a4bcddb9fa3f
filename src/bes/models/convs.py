"""The convolutions, sparse features first; parameters are named and shaped as in PyTorch Geometric.

`conv.load_state_dict(pyg_layer.state_dict())` copies a PyG layer, and the two then agree to 1e-5.
"""

from __future__ import annotations

import difflib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.sparse import Features, Operators, Sparse
from bes.models.edges import SLOPE, attend, pair_score

T = TypeVar("T")


class Conv(nn.Module, ABC):
    """A map from features `[N, in_channels]` on a graph to `[N, out_channels]`.

    Args:
        generator: Stream of the initial weights; without it torch's global one.
    """

    def __init__(self, in_channels: int, out_channels: int, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.build(generator)

    @abstractmethod
    def build(self, generator: torch.Generator | None) -> None:
        """Make the parameters, initialised as PyG does."""

    @abstractmethod
    def forward(self, x: Features, ops: Operators) -> Tensor: ...

    def linear(self, generator: torch.Generator | None, *, bias: bool, glorot: bool) -> nn.Linear:
        """`in_channels -> out_channels`: Glorot or Kaiming uniform, with PyG's uniform bias."""
        layer: nn.Linear = nn.utils.skip_init(nn.Linear, self.in_channels, self.out_channels, bias=bias)
        bound = 1 / math.sqrt(self.in_channels)
        wide = math.sqrt(6 / (self.in_channels + self.out_channels)) if glorot else bound
        nn.init.uniform_(layer.weight, -wide, wide, generator=generator)
        if bias:
            nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
        return layer

    def attention(self, generator: torch.Generator | None) -> nn.Parameter:
        """A Glorot vector, `[1, heads = 1, out_channels]`."""
        bound = math.sqrt(6 / (1 + self.out_channels))
        vector = torch.empty(1, 1, self.out_channels)
        return nn.Parameter(nn.init.uniform_(vector, -bound, bound, generator=generator))

    def zeros(self) -> nn.Parameter:
        return nn.Parameter(torch.zeros(self.out_channels))


class FilterConv(Conv):
    """A convolution with fixed propagation: sum_k P_k X W_k + b, with P_k from the graph alone.

    So X may be propagated before it is transformed or after, whichever is narrower, and where X
    is constant `propagate` needs to run only once.
    """

    @abstractmethod
    def weights(self) -> tuple[Sequence[Tensor], Tensor]:
        """The W_k, `[out_channels, in_channels]` each, and b."""

    @abstractmethod
    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        """[P_0 X, P_1 X, ...]: `[N, F]` -> `[N, K F]`."""

    @abstractmethod
    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        """sum_k P_k U_k of K parts `[N, out_channels]`."""

    def transform(self, propagated: Tensor) -> Tensor:
        """[P_0 X, P_1 X, ...] [W_0; W_1; ...] + b."""
        weights, bias = self.weights()
        return F.linear(propagated, weights[0] if len(weights) == 1 else torch.cat(tuple(weights), dim=1), bias)

    def forward(self, x: Features, ops: Operators) -> Tensor:
        if not isinstance(x, Sparse) and self.in_channels < self.out_channels:
            return self.transform(self.propagate(x, ops))
        weights, bias = self.weights()
        return self.gather(project(x, weights), ops) + bias


def project(x: Features, weights: Sequence[Tensor]) -> Sequence[Tensor]:
    """X W_k^T for each W_k `[out, in]`, in one product."""
    width = weights[0].shape[0]
    stacked = torch.cat(tuple(weights)).t()
    # sparse products want their dense factor row by row
    product = x @ stacked.contiguous() if isinstance(x, Sparse) else x @ stacked
    parts: Sequence[Tensor] = product.split(width, dim=1)
    return parts


class GCNConv(FilterConv):
    """A^ X W + b with A^ = (D + I)^-1/2 (A + I) (D + I)^-1/2."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin = self.linear(generator, bias=False, glorot=True)
        self.bias = self.zeros()

    def weights(self) -> tuple[Sequence[Tensor], Tensor]:
        return (self.lin.weight,), self.bias

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        return ops.gcn @ x

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        return ops.gcn @ parts[0]


class ChebConv(FilterConv):
    """sum_{k<3} T_k(L^) X W_k + b with L^ = -D^-1/2 A D^-1/2, that is lambda_max = 2."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lins = nn.ModuleList(self.linear(generator, bias=False, glorot=True) for _ in range(3))
        self.bias = self.zeros()

    def weights(self) -> tuple[Sequence[Tensor], Tensor]:
        return [layer.get_parameter("weight") for layer in self.lins], self.bias

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        first = ops.cheb @ x
        return torch.cat([x, first, 2 * (ops.cheb @ first) - x], dim=1)

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        zeroth, first, second = parts
        return zeroth - second + ops.cheb @ (first + 2 * (ops.cheb @ second))  # Clenshaw: T_2 = 2 L^ L^ - I


class SGConv(FilterConv):
    """A^ X W + b: one hop; stacking two gives SGC with a ReLU between."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin = self.linear(generator, bias=True, glorot=False)

    def weights(self) -> tuple[Sequence[Tensor], Tensor]:
        return (self.lin.weight,), self.lin.bias

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        return ops.gcn @ x

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        return self.propagate(parts[0], ops)


class SSGConv(SGConv):
    """(alpha X + (1 - alpha) A^ X) W + b with alpha = 0.1 and one hop."""

    alpha = 0.1

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        return self.alpha * x + (1 - self.alpha) * (ops.gcn @ x)


class SAGEConv(FilterConv):
    """D^-1 A X W_l + X W_r + b: the mean of the neighbours beside the node itself."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin_l = self.linear(generator, bias=True, glorot=False)
        self.lin_r = self.linear(generator, bias=False, glorot=False)

    def weights(self) -> tuple[Sequence[Tensor], Tensor]:
        return (self.lin_l.weight, self.lin_r.weight), self.lin_l.bias

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        return torch.cat([ops.mean @ x, x], dim=1)

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        return ops.mean @ parts[0] + parts[1]


class GraphConv(FilterConv):
    """A X W_rel + X W_root + b, the k-GNN layer: sums are not normalised and grow with the degree."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin_rel = self.linear(generator, bias=True, glorot=False)
        self.lin_root = self.linear(generator, bias=False, glorot=False)

    def weights(self) -> tuple[Sequence[Tensor], Tensor]:
        return (self.lin_rel.weight, self.lin_root.weight), self.lin_rel.bias

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        return torch.cat([ops.sum @ x, x], dim=1)

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        return ops.sum @ parts[0] + parts[1]


class Linear(FilterConv):
    """X W + b: the layer that does not see the graph."""

    def build(self, generator: torch.Generator | None) -> None:
        layer = self.linear(generator, bias=True, glorot=False)
        self.weight, self.bias = layer.weight, layer.bias

    def weights(self) -> tuple[Sequence[Tensor], Tensor]:
        return (self.weight,), self.bias

    def forward(self, x: Features, ops: Operators) -> Tensor:
        return super().forward(x, ops) if isinstance(x, Sparse) else self.transform(x)

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:  # noqa: ARG002
        return x

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:  # noqa: ARG002
        return parts[0]


class GATConv(Conv):
    """sum_j alpha_ij W x_j + b with alpha_ij = softmax_j LeakyReLU(a_src . W x_j + a_dst . W x_i), one head."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin = self.linear(generator, bias=False, glorot=True)
        self.att_src = self.attention(generator)
        self.att_dst = self.attention(generator)
        self.bias = self.zeros()

    def forward(self, x: Features, ops: Operators) -> Tensor:
        (h,) = project(x, (self.lin.weight,))
        row, col = ops.looped
        source, target = h @ self.att_src.flatten(), h @ self.att_dst.flatten()
        score = F.leaky_relu(source.index_select(0, col) + target.index_select(0, row), SLOPE)
        return attend(score, h, ops) + self.bias


class GATv2Conv(Conv):
    """sum_j alpha_ij W_l x_j + b with alpha_ij = softmax_j a . LeakyReLU(W_l x_j + W_r x_i), one head."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin_l = self.linear(generator, bias=True, glorot=True)
        self.lin_r = self.linear(generator, bias=True, glorot=True)
        self.att = self.attention(generator)
        self.bias = self.zeros()

    def forward(self, x: Features, ops: Operators) -> Tensor:
        left, right = project(x, (self.lin_l.weight, self.lin_r.weight))
        left, right = left + self.lin_l.bias, right + self.lin_r.bias
        return attend(pair_score(left, right, self.att.flatten(), ops), left, ops) + self.bias


CONVS: dict[str, type[Conv]] = {
    "gcn": GCNConv,
    "cheb": ChebConv,
    "gat": GATConv,
    "gatv2": GATv2Conv,
    "sgc": SGConv,
    "ssgc": SSGConv,
    "sage": SAGEConv,
    "kgnn": GraphConv,
    "mlp": Linear,
}


def pick(known: Mapping[str, T], name: str, what: str) -> T:
    """`known[name]`, or an error that suggests the nearest names."""
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"use one of {', '.join(known)}."
    raise InputError(f"The {what} '{name}' is not known: {hint}")


def dropout(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """`x` with entries set to 0 with probability `p`, the others scaled to keep the mean.

    Sixteen random bits an entry decide: several times faster than a float each, and exact for the `p`
    that is rounded to 1/65536.
    """
    drop = round(p * 2**16)
    if drop == 0:
        return x
    if not 0 < drop < 2**16:
        raise InputError(f"The dropout {p} must lie in 0..1, 1 excluded.")
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
    bits = words.random_(-(2**63), None, generator=generator).view(torch.int16)[: x.numel()].view(x.shape)
    return x * ((bits >= drop - 2**15) * (2**16 / (2**16 - drop)))
