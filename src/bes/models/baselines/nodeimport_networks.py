"""The backbones of NodeImport: two layers on a graph and on nodes that are added to it for an epoch.

Edges lead to added nodes only, so the graph's own nodes go through its cached operators, and the added ones through a
small matrix of their own.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators
from bes.models.base import Conv, dropout, project
from bes.models.baselines.nodeimport_synthesis import Added
from bes.models.baselines.problem import Network
from bes.models.edges import SLOPE, attend

Backbone = Literal["gcn", "gat", "sage"]


class Layer(Conv):
    """A convolution whose features are transformed first and then spread, to added nodes too."""

    def forward(self, x: Features, ops: Operators, added: Added | None = None) -> Tensor:
        """From features `[N, F]` to `[N, out]`; with added nodes, whose features are mixed, to `[N + S, out]`."""
        u = self.transform(x)
        return self.spread(u if added is None else torch.cat([u, added.mix(u)]), ops, added)

    @abstractmethod
    def transform(self, x: Features) -> Tensor:
        """X W, without a bias."""

    @abstractmethod
    def spread(self, u: Tensor, ops: Operators, added: Added | None) -> Tensor:
        """From transformed features `[N + S, W]` to outputs."""


class MeanLayer(Layer):
    """(D + I)^-1 (A + I) X W + b: what the authors' GCN does."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin = self.linear(generator, bias=False, glorot=True)
        self.bias = self.zeros()

    def transform(self, x: Features) -> Tensor:
        return project(x, (self.lin.weight,))[0]

    def spread(self, u: Tensor, ops: Operators, added: Added | None) -> Tensor:
        own = u[: ops.n_nodes]
        out = ops.with_loops.mean @ own
        if added is not None:
            out = torch.cat([out, (added.sum @ own + u[ops.n_nodes :]) / (added.degree + 1)[:, None]])
        return out + self.bias


class SageLayer(Layer):
    """D^-1 A X W_l + X W_r + b."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin_l = self.linear(generator, bias=True, glorot=False)
        self.lin_r = self.linear(generator, bias=False, glorot=False)

    def transform(self, x: Features) -> Tensor:
        return torch.cat(tuple(project(x, (self.lin_l.weight, self.lin_r.weight))), dim=1)

    def spread(self, u: Tensor, ops: Operators, added: Added | None) -> Tensor:
        own, right = u[: ops.n_nodes, : self.out_channels].contiguous(), u[:, self.out_channels :]
        out = ops.mean @ own
        if added is not None:
            out = torch.cat([out, (added.sum @ own) / added.degree.clamp_min(1)[:, None]])
        return out + right + self.lin_l.bias


class AttentionLayer(Layer):
    """[sum_j alpha^h_ij W^h x_j]_h + b with alpha^h_ij = softmax_j LeakyReLU(a^h_src . W^h x_j + a^h_dst . W^h x_i).

    Args:
        heads: Whose outputs lie side by side in the `out_channels`.
    """

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, *, generator: torch.Generator | None = None
    ) -> None:
        self.heads = heads
        super().__init__(in_channels, out_channels, generator=generator)

    def build(self, generator: torch.Generator | None) -> None:
        self.lin = self.linear(generator, bias=False, glorot=True)
        width = self.out_channels // self.heads
        bound = (6 / (self.heads + width)) ** 0.5
        for name in ("att_src", "att_dst"):
            vector = torch.empty(1, self.heads, width)
            self.register_parameter(name, nn.Parameter(nn.init.uniform_(vector, -bound, bound, generator=generator)))
        self.bias = self.zeros()

    def transform(self, x: Features) -> Tensor:
        return project(x, (self.lin.weight,))[0]

    def spread(self, u: Tensor, ops: Operators, added: Added | None) -> Tensor:
        by_head = u.view(u.shape[0], self.heads, -1)
        source = (by_head * self.get_parameter("att_src")).sum(2)
        target = (by_head * self.get_parameter("att_dst")).sum(2)
        row, col = ops.looped
        score = F.leaky_relu(source.index_select(0, col) + target.index_select(0, row), SLOPE)
        own = by_head[: ops.n_nodes]
        out = torch.cat([attend(score[:, h], own[:, h].contiguous(), ops) for h in range(self.heads)], dim=1)
        if added is not None:
            out = torch.cat([out, attend_added(by_head, source, target, added)])
        return out + self.bias


def attend_added(by_head: Tensor, source: Tensor, target: Tensor, added: Added) -> Tensor:
    """What attention gives to added nodes `[S, heads D]`, from values `[N + S, heads, D]` and their scores."""
    new = torch.arange(added.count, device=added.row.device)
    row = torch.cat([added.row, new])
    col = torch.cat([added.col, new + added.n_nodes])
    score = F.leaky_relu(source.index_select(0, col) + target.index_select(0, row + added.n_nodes), SLOPE)
    top = torch.full((added.count, score.shape[1]), -torch.inf, device=score.device)
    top = top.scatter_reduce(0, row[:, None].expand_as(score), score.detach(), "amax")
    weight = torch.exp(score - top.index_select(0, row))
    total = torch.zeros_like(top).index_add(0, row, weight)
    alpha = weight / total.index_select(0, row)
    message = alpha[:, :, None] * by_head.index_select(0, col)
    out = torch.zeros(added.count, *message.shape[1:], device=message.device).index_add(0, row, message)
    return out.flatten(1)


class ImportNetwork(Network):
    """logits = layer2(dropout(relu(layer1(X)))).

    Attributes:
        added: Nodes that a forward pass in training mode has behind the graph's own; None adds none.
        hidden: Of the last forward pass in training mode, before its dropout.
    """

    def __init__(
        self,
        backbone: Backbone,
        n_features: int,
        hidden: int,
        n_classes: int,
        *,
        heads: int,
        dropout: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.added: Added | None = None
        self.hidden = torch.empty(0)
        self.conv1: Layer
        self.conv2: Layer
        if backbone == "gat":
            self.conv1 = AttentionLayer(n_features, hidden, heads, generator=generator)
            self.conv2 = AttentionLayer(hidden, n_classes, generator=generator)
        else:
            kind = MeanLayer if backbone == "gcn" else SageLayer
            self.conv1 = kind(n_features, hidden, generator=generator)
            self.conv2 = kind(hidden, n_classes, generator=generator)

    def embed(self, graph: Graph, added: Added | None = None) -> Tensor:
        """relu(layer1(X)): `[N + S, hidden]`."""
        hidden: Tensor = self.conv1(graph.x, graph.operators, added)
        return hidden.relu()

    def forward(self, graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        """Logits `[N, C]`; in training mode those of the added nodes come behind them."""
        if not self.training:
            return self._second(self.embed(graph), graph, None)
        hidden = self.embed(graph, self.added)
        self.hidden = hidden.detach()
        return self._second(dropout(hidden, self.dropout, rng), graph, self.added)

    def again(self, graph: Graph, rng: torch.Generator) -> Tensor:
        """The last forward pass in training mode with another dropout; without gradients to the first layer."""
        return self._second(dropout(self.hidden, self.dropout, rng), graph, self.added)

    def _second(self, hidden: Tensor, graph: Graph, added: Added | None) -> Tensor:
        return self.conv2.spread(self.conv2.transform(hidden), graph.operators, added)

    def groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Weight decay is for the first layer alone."""
        return [
            {"params": list(self.conv1.parameters()), "weight_decay": weight_decay},
            {"params": list(self.conv2.parameters()), "weight_decay": 0.0},
        ]
