"""What the convolutions are made of: initial weights, the order of product and propagation, dropout."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bes import seeding
from bes.core.rows import blocks
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators, Sparse
from bes.products import linear
from bes.scale.inference import Sweep
from bes.scale.memory import kept_propagated
from bes.threads import STEP, step_size


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

    def on(self, x: Features, ops: Operators) -> Callable[[], Tensor]:
        """The layer on features that stay as they are while its weights change."""
        if isinstance(x, Sparse):
            self.lay_out()
        return lambda: self(x, ops)

    def lay_out(self) -> None:
        """Weights `[out, in]` column by column in memory, as sparse products read them and give their gradients.

        Otherwise each step turns them, and their gradients back. To be called before an optimizer has seen them.
        """
        for weight in self.parameters():
            if weight.dim() == 2:
                weight.data = weight.data.t().contiguous().t()

    def sweeps(self) -> Sequence[Sweep]:
        """The layer as maps over one hop each, for inference in blocks of rows."""
        return (lambda x, _, ops: self(x, ops),)

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

    def summands(self) -> Sequence[Tensor]:
        """The weights of the parts that `gather` takes: the W_k, where no sums of them save work on all nodes."""
        return self.weights()[0]

    @abstractmethod
    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        """sum_k P_k X W_k, from the products of X with the `summands`, `[N, out_channels]` each."""

    def on(self, x: Features, ops: Operators) -> Callable[[], Tensor]:
        """Dense features are propagated once, where the result is no larger than the messages of one step."""
        arcs, products = ops.edge_index.shape[1], len(self.weights()[0])
        if isinstance(x, Sparse) or not kept_propagated(x.shape[0], arcs, products * x.shape[1], self.out_channels):
            return super().on(x, ops)
        propagated = self.propagate(x, ops)
        return lambda: self.transform(propagated)

    def transform(self, propagated: Tensor) -> Tensor:
        """[P_0 X, P_1 X, ...] [W_0; W_1; ...] + b."""
        weights, bias = self.weights()
        return linear(propagated, weights[0] if len(weights) == 1 else torch.cat(tuple(weights), dim=1), bias)

    def forward(self, x: Features, ops: Operators) -> Tensor:
        if not isinstance(x, Sparse) and self.in_channels < self.out_channels:
            return self.transform(self.propagate(x, ops))
        return self.gather(project(x, self.summands()), ops).add_(self.weights()[1])


def project(x: Features, weights: Sequence[Tensor]) -> Sequence[Tensor]:
    """X W_k^T for each W_k `[out, in]`.

    Dense features are read once for all; a sparse product is faster by itself, the narrower its factor is.
    """
    if isinstance(x, Sparse):  # sparse products want their dense factor row by row
        return [x @ weight.t().contiguous() for weight in weights]
    if len(weights) == 1:
        return (linear(x, weights[0]),)
    parts: Sequence[Tensor] = linear(x, torch.cat(tuple(weights))).split(weights[0].shape[0], dim=1)
    return parts


def glorot_linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """A linear map with Glorot uniform weights and no bias to begin with."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_in, n_out)
    nn.init.xavier_uniform_(layer.weight, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer


def dropout(x: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """`x` with entries set to 0 with probability `p`, the others scaled to keep the mean.

    Sixteen random bits an entry decide, which takes about half the time of drawing floats; `p` is rounded to
    a multiple of 1/65536, and the scale is that of the rounded one. What was kept is all that is needed on the
    way back, a byte an entry.
    """
    drop = round(p * 2**16)
    if drop == 0:
        return x
    if not 0 < drop < 2**16:
        raise InputError(f"The dropout {p} must lie in 0..1, 1 excluded.")
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device)
    bits = words.random_(-(2**63), None, generator=generator).view(torch.int16)[: x.numel()].view(x.shape)
    kept = bits.ge_(drop - 2**15).to(torch.uint8)  # 0 and 1 as numbers: torch is slow at turning truths into factors
    dropped: Tensor = _Dropped.apply(x, kept, 2**16 / (2**16 - drop))  # type: ignore[no-untyped-call]
    return dropped


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        ctx.save_for_backward(kept)
        return _scaled(x, kept, scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _Dropped.apply(grad, ctx.saved_tensors[0], ctx.scale), None, None  # type: ignore[no-untyped-call]


def _scaled(x: Tensor, kept: Tensor, scale: float) -> Tensor:
    """`x * kept * scale`, in blocks of rows, whose factors stay in a cache."""
    out = torch.empty_like(x)
    for part in blocks(len(x), max(1, x[:1].numel())):
        torch.mul(x[part], kept[part].to(x.dtype).mul_(scale), out=out[part])
    return out


def place(graph: Graph, z: Tensor | np.ndarray[Any, Any], device: str | torch.device) -> tuple[Graph, Tensor]:
    """A graph and embeddings of its nodes `[N, D]` on the device they are worked on, the embeddings checked."""
    graph = graph.to(seeding.pick_device(device))
    z = (z.detach() if isinstance(z, Tensor) else torch.tensor(z)).to(graph.device, torch.float32)
    if z.dim() != 2 or z.shape[0] != graph.n_nodes:
        raise InputError(
            f"The embeddings have shape {tuple(z.shape)}, but graph '{graph.name}' has {graph.n_nodes} nodes: "
            "give a matrix with a row a node."
        )
    if not torch.isfinite(z).all():
        raise InputError("The embeddings hold values that are NaN or infinite: check the encoder's training.")
    return graph, z


def is_small(graph: Graph, width: int, x: Features | None = None) -> bool:
    """Whether one thread is the faster one for a step on `graph` with hidden layers so wide, on `x` or its features."""
    x = graph.x if x is None else x
    stored = x.csr.values().numel() if isinstance(x, Sparse) else x.numel()
    return step_size(graph.n_nodes, graph.edge_index.shape[1], stored, width) < STEP
