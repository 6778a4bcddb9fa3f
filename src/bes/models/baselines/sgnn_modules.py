"""What SGNN stacks: single layers, each trained by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators, Sparse
from bes.models.base import project
from bes.optim import Adam
from bes.products import times

Act = Literal["linear", "relu", "leaky"]

#: Sparse features with a larger share of entries are multiplied faster as a dense matrix.
DENSE = 0.05


@dataclass(frozen=True)
class Layer:
    """The options of one module; see `SGNN`."""

    width: int
    order: int
    inner: Act
    act: Act
    lr: float
    iters: int
    batch: int
    slope: float


def activate(x: Tensor, act: Act, slope: float) -> Tensor:
    if act == "linear":
        return x
    return x.relu() if act == "relu" else F.leaky_relu(x, slope)


class Source:
    """What a module is fed: X and, made once, P = Â^order X with its inner activation.

    Sparse features stay so, and are propagated after the product with the weights. That is exact where the inner
    activation leaves P alone: it is linear, or no entry is negative. Otherwise, and from `DENSE` on, P is dense.
    """

    def __init__(self, x: Features, ops: Operators, layer: Layer) -> None:
        self.x, self.ops, self.after = x, ops, 0
        self.spread: Features = x
        if isinstance(x, Sparse) and _stays(x, layer):
            self.bent: Features = x
            self.after = layer.order
            return
        dense = x.to_dense() if isinstance(x, Sparse) else x
        for _ in range(layer.order):
            dense = ops.gcn @ dense
        self.spread, self.bent = dense, activate(dense, layer.inner, layer.slope)

    def times(self, weight: Tensor, rows: Tensor | None) -> Tensor:
        """Rows of inner(P) W; None is all."""
        if rows is not None and isinstance(self.bent, Tensor) and len(rows) < len(self.bent):
            return times(self.bent[rows], weight)
        (product,) = project(self.bent, (weight.t(),))
        for _ in range(self.after):
            product = self.ops.gcn @ product
        return product if rows is None else product.index_select(0, rows)


def _stays(x: Sparse, layer: Layer) -> bool:
    values = x.csr.values()
    sparse = values.numel() <= DENSE * x.shape[0] * x.shape[1]
    return sparse and (layer.inner == "linear" or bool((values >= 0).all()))


class Module(nn.Module):
    """H = act(inner(P U) W), with logits H V of classes.

    Attributes:
        weight, head: W and, where there are classes, V.
        mix: U; None where it is the identity. Only backward training has one, and never for the features.
    """

    def __init__(self, layer: Layer, n_in: int, n_classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.layer = layer
        self.weight = _glorot(n_in, layer.width, generator)
        self.register_parameter("head", _glorot(layer.width, n_classes, generator) if n_classes else None)
        self.mix: nn.Parameter | None
        self.register_parameter("mix", None)

    def forward(self, source: Source, rows: Tensor | None = None) -> Tensor:
        layer = self.layer
        if self.mix is None:
            return activate(source.times(self.weight, rows), layer.act, layer.slope)
        spread = source.spread
        assert isinstance(spread, Tensor)
        mixed = activate(times(spread if rows is None else spread[rows], self.mix), layer.inner, layer.slope)
        return activate(times(mixed, self.weight), layer.act, layer.slope)

    def penalised(self) -> list[Tensor]:
        """W and, where it is trained, U."""
        return [self.weight, *([] if self.mix is None else [self.mix])]


def _glorot(n_in: int, n_out: int, generator: torch.Generator) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_in, n_out), generator=generator))


#: From a module, what it is fed and the target of its output, if any, to the loss of a fresh batch.
Objective = Callable[[Module, Source, Tensor | None], Tensor]


class Stack:
    """Modules one upon the other, trained one after the other.

    Attributes:
        loss: Of the last step.
    """

    def __init__(self, modules: Sequence[Module], graph: Graph, objective: Objective) -> None:
        self.modules = [module.to(graph.device) for module in modules]
        self.graph = graph
        self.objective = objective
        self.sources: list[Source] = []
        self.targets: list[Tensor | None] = [None for _ in modules]
        self.loss = 0.0

    def train_forward(self) -> Tensor:
        """From the first to the last, each fed by the one below; the last one's output `[N, width]`."""
        x: Features = self.graph.x
        self.sources = []
        for module, target in zip(self.modules, self.targets, strict=True):
            module.mix = None
            self.sources.append(Source(x, self.graph.operators, module.layer))
            x = self._train(module, self.sources[-1], target)
        assert isinstance(x, Tensor)
        return x

    def train_backward(self) -> None:
        """From the last to the first: each says what it would rather be fed, X U, the target of the one below."""
        for i in reversed(range(len(self.modules))):
            module, source = self.modules[i], self.sources[i]
            if i > 0:
                assert isinstance(source.x, Tensor)
                module.mix = nn.Parameter(torch.eye(source.x.shape[1], device=source.x.device))
            self._train(module, source, self.targets[i])
            if module.mix is not None:
                (self.targets[i - 1],) = project(source.x, (module.mix.detach().t(),))

    def _train(self, module: Module, source: Source, target: Tensor | None) -> Tensor:
        optimizer = Adam(module.parameters(), lr=module.layer.lr, fused=True)
        for _ in range(module.layer.iters):
            optimizer.zero_grad()
            value = self.objective(module, source, target)
            value.backward()
            optimizer.step()
        optimizer.zero_grad()
        self.loss = value.item()
        with torch.no_grad():
            out: Tensor = module(source)
        return out

    def embed(self, graph: Graph) -> Tensor:
        """The last module's output on a graph with the same features."""
        x: Features = graph.x
        with torch.no_grad():
            for module in self.modules:
                x = module(Source(x, graph.operators, module.layer))
        assert isinstance(x, Tensor)
        return x
