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
from bes.models.baselines.nodeimport_hearing import listen
from bes.models.baselines.nodeimport_synthesis import Added
from bes.models.baselines.problem import Staged
from bes.models.edges import SLOPE, attend, reach

Backbone = Literal["gcn", "gat", "sage"]


class Layer(Conv):
    """A convolution whose features are transformed first and then spread, to added nodes too."""

    def forward(self, x: Features, ops: Operators, added: Added | None = None) -> Tensor:
        """From features `[N, F]` to `[N, out]`; with added nodes, whose features are mixed, to `[N + S, out]`."""
        u = self.transform(x)
        own = self.spread(u, ops)
        return own if added is None else torch.cat([own, self.spread_added(u, added.mix(u), added)])

    def after(self, u: Tensor, ops: Operators, added: Added | None) -> Tensor:
        """From transformed features of all nodes `[N + S, W]` to outputs."""
        if added is None:
            return self.spread(u, ops)
        own, new = u[: ops.n_nodes], u[ops.n_nodes :]
        return torch.cat([self.spread(own, ops), self.spread_added(own, new, added)])

    @abstractmethod
    def transform(self, x: Features) -> Tensor:
        """X W, without a bias."""

    @abstractmethod
    def spread(self, u: Tensor, ops: Operators) -> Tensor:
        """From transformed features `[N, W]` of the graph's own nodes to their outputs: added ones do not matter."""

    @abstractmethod
    def spread_added(self, u: Tensor, new: Tensor, added: Added) -> Tensor:
        """The outputs of added nodes `[S, out]`, from transformed features of own nodes and of theirs."""


class MeanLayer(Layer):
    """(D + I)^-1 (A + I) X W + b: what the authors' GCN does."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin = self.linear(generator, bias=False, glorot=True)
        self.bias = self.zeros()

    def transform(self, x: Features) -> Tensor:
        return project(x, (self.lin.weight,))[0]

    def spread(self, u: Tensor, ops: Operators) -> Tensor:
        return ops.with_loops.mean @ u + self.bias

    def spread_added(self, u: Tensor, new: Tensor, added: Added) -> Tensor:
        return (added.sum @ u + new) / (added.degree + 1)[:, None] + self.bias


class SageLayer(Layer):
    """D^-1 A X W_l + X W_r + b."""

    def build(self, generator: torch.Generator | None) -> None:
        self.lin_l = self.linear(generator, bias=True, glorot=False)
        self.lin_r = self.linear(generator, bias=False, glorot=False)

    def transform(self, x: Features) -> Tensor:
        return torch.cat(tuple(project(x, (self.lin_l.weight, self.lin_r.weight))), dim=1)

    def spread(self, u: Tensor, ops: Operators) -> Tensor:
        left, right = u[:, : self.out_channels], u[:, self.out_channels :]
        return ops.mean @ left.contiguous() + right + self.lin_l.bias

    def spread_added(self, u: Tensor, new: Tensor, added: Added) -> Tensor:
        left, right = u[:, : self.out_channels].contiguous(), new[:, self.out_channels :]
        return (added.sum @ left) / added.degree.clamp_min(1)[:, None] + right + self.lin_l.bias


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

    def spread(self, u: Tensor, ops: Operators) -> Tensor:
        source, target = self._scores(u)
        by_head = zip(reach(source, target, ops).unbind(1), u.chunk(self.heads, dim=1), strict=True)
        return torch.cat([attend(one, h.contiguous(), ops) for one, h in by_head], dim=1) + self.bias

    def spread_added(self, u: Tensor, new: Tensor, added: Added) -> Tensor:
        if added.count == 0:
            return new
        (source, _), (own, target) = self._scores(u), self._scores(new)
        row, col = added.heard.row, added.heard.col
        score = torch.cat([source, own]).index_select(0, col) + target.index_select(0, row)
        by_head = zip(F.leaky_relu(score, SLOPE).unbind(1), torch.cat([u, new]).chunk(self.heads, dim=1), strict=True)
        return torch.cat([listen(one, h.contiguous(), added.heard) for one, h in by_head], dim=1) + self.bias

    def _scores(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """a^h_src . W^h x and a^h_dst . W^h x, `[n, heads]` each: products with the vectors in blocks."""
        source, target = (
            torch.block_diag(*self.get_parameter(name).view(self.heads, -1, 1)) for name in ("att_src", "att_dst")
        )
        return u @ source, u @ target


class ImportNetwork(Staged):
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

    def embed(self, graph: Graph) -> Tensor:
        """relu(layer1(X)): `[N, hidden]`."""
        return self.begin(graph)[1]

    def begin(self, graph: Graph) -> tuple[Tensor, Tensor]:
        """Of the graph's own nodes: X W of the first layer, and the hidden layer."""
        u = self.conv1.transform(graph.x)
        return u, self.conv1.spread(u, graph.operators).relu()

    def finish(self, begun: tuple[Tensor, Tensor], graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        """Logits `[N, C]`; in training mode those of the added nodes come behind them."""
        u, hidden = begun
        if not self.training:
            return self._second(hidden, graph, None)
        if self.added is not None:
            new = self.conv1.spread_added(u, self.added.mix(u), self.added)
            hidden = torch.cat([hidden, new.relu()])
        self.hidden = hidden.detach()
        return self._second(dropout(hidden, self.dropout, rng), graph, self.added)

    def again(self, graph: Graph, rng: torch.Generator) -> Tensor:
        """The last forward pass in training mode with another dropout; without gradients to the first layer."""
        return self._second(dropout(self.hidden, self.dropout, rng), graph, self.added)

    def _second(self, hidden: Tensor, graph: Graph, added: Added | None) -> Tensor:
        return self.conv2.after(self.conv2.transform(hidden), graph.operators, added)

    def groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Weight decay is for the first layer alone."""
        return [
            {"params": list(self.conv1.parameters()), "weight_decay": weight_decay},
            {"params": list(self.conv2.parameters()), "weight_decay": 0.0},
        ]
