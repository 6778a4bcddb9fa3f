"""The convolutions, sparse features first; parameters are named and shaped as in PyTorch Geometric.

`conv.load_state_dict(pyg_layer.state_dict())` copies a PyG layer, and the two then agree to 1e-5.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from bes.errors import InputError, did_you_mean
from bes.graph.sparse import Features, Operators, Sparse
from bes.models.base import Conv, FilterConv, project
from bes.models.edges import attend, pair_score, reach
from bes.scale.inference import Sweep

T = TypeVar("T")


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

    def summands(self) -> Sequence[Tensor]:
        """Clenshaw, with T_2 = 2 L^ L^ - I: X (W_0 - W_2) + L^ (X W_1 + L^ X 2 W_2)."""
        zeroth, first, second = self.weights()[0]
        return zeroth - second, first, 2 * second

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        zeroth, first, second = parts
        inner = (ops.cheb @ second).add_(first)
        return (ops.cheb @ inner).add_(zeroth)

    def sweeps(self) -> Sequence[Sweep]:
        return self._inner, self._outer

    def _inner(self, x: Features, _: Tensor | None, ops: Operators) -> Tensor:
        """X W_1 + L^ X 2 W_2: what the outer sweep propagates."""
        first, second = project(x, self.summands()[1:])
        return first + ops.cheb @ second

    def _outer(self, x: Features, inner: Tensor | None, ops: Operators) -> Tensor:
        """X (W_0 - W_2) + L^ inner + b."""
        assert inner is not None
        (own,) = project(x, self.summands()[:1])
        return own + ops.cheb @ inner + self.bias


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
        return (ops.mean @ parts[0]).add_(parts[1])


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
        return (ops.sum @ parts[0]).add_(parts[1])


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
        source, target = h @ self.att_src.flatten(), h @ self.att_dst.flatten()
        return attend(reach(source, target, ops), h, ops) + self.bias


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
    hint = did_you_mean(near, f"use one of {', '.join(known)}.")
    raise InputError(f"The {what} '{name}' is not known: {hint}")
