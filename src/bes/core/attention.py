"""The boundary attention layer: heads, concat, output map and residual (appendix, model details)."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from bes.core.neighbors import BLOCK
from bes.errors import InputError

Scope = Literal["views", "neighbors", "nodes", "self"]
Init = Literal["identity", "random"]
Weights = tuple[Tensor, ...]


class Neighborhoods(NamedTuple):
    """Graph neighbours and the node itself, in CSR form: `source[start[i]:start[i + 1]]` for node i."""

    start: Tensor
    source: Tensor

    @classmethod
    def of(cls, edge_index: Tensor, n_nodes: int) -> Neighborhoods:
        loop = torch.arange(n_nodes, device=edge_index.device)
        row, col = torch.cat([edge_index, loop.expand(2, -1)], dim=1)
        keys = torch.unique(row * n_nodes + col)
        degree = torch.bincount(keys // n_nodes, minlength=n_nodes)
        return cls(torch.cat([degree.new_zeros(1), degree.cumsum(0)]), keys % n_nodes)

    def edges(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(position in `rows`, source node) of each edge into `rows`."""
        degree = self.start[rows + 1] - self.start[rows]
        target = torch.repeat_interleave(torch.arange(rows.numel(), device=rows.device), degree)
        first = torch.repeat_interleave(self.start[rows] - (degree.cumsum(0) - degree), degree)
        return target, self.source[first + torch.arange(target.numel(), device=rows.device)]


class BoundaryAttention(nn.Module):
    r"""A^(B)(Z) = concat_a( softmax(Q_a K_a^T / sqrt(D_a)) V_a ) W_out + Z.

    Args:
        dim: Width D of the embeddings.
        scope: What a node attends to. `views`: the parts of its own embedding that came from
            different encoders; `neighbors`: its graph neighbours and itself; `nodes`: all nodes;
            `self`: a sequence of one, where the softmax is 1 and the layer is Z W_V W_out + Z.
        n_heads: Heads; each is ceil(width / n_heads) wide.
        n_views: Equal parts of z for the scope `views`; with one part it is `self`.
        init: `identity` starts with W_out = 0, so that the layer changes nothing until it has
            learned to; `random` draws W_out too.
        generator: Where the initial weights come from (on the CPU, so that every device starts alike).

    Shapes: Z `[N, D]` to `[N, D]`.
    """

    def __init__(
        self,
        dim: int,
        *,
        scope: Scope = "views",
        n_heads: int = 1,
        n_views: int = 1,
        init: Init = "identity",
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        parts = n_views if scope == "views" else 1
        if dim % parts:
            raise InputError(f"z has {dim} columns, which n_views={n_views} does not divide: give equal parts.")
        self.scope: Scope = "self" if scope == "views" and parts == 1 else scope
        self.n_heads = n_heads
        self.n_views = parts
        self.width = dim // parts
        self.head_width = math.ceil(self.width / n_heads)
        inner = self.head_width * n_heads
        names = ["value"] if self.scope == "self" else ["query", "key", "value"]
        for name in names:
            self.register_parameter(name, nn.Parameter(torch.empty(self.width, inner, dtype=dtype)))
        self.out = nn.Parameter(torch.zeros(inner, self.width, dtype=dtype))
        for name, parameter in self.named_parameters():
            if init == "random" or name != "out":
                nn.init.xavier_uniform_(parameter, generator=generator)

    @property
    def weights(self) -> Weights:
        """([W_Q, W_K,] W_V, W_out), the order that `attend` takes."""
        names = ["value", "out"] if self.scope == "self" else ["query", "key", "value", "out"]
        return tuple(getattr(self, name) for name in names)

    def load(self, weights: Weights) -> None:
        """Take `weights` as the layer's own."""
        for parameter, weight in zip(self.weights, weights, strict=True):
            parameter.data.copy_(weight)

    def forward(self, z: Tensor, neighbors: Neighborhoods | None = None) -> Tensor:
        """All nodes, in blocks where the scope mixes nodes: `[N, D]` to `[N, D]`."""
        return self.full(self.weights, z, neighbors)

    def full(self, weights: Weights, z: Tensor, neighbors: Neighborhoods | None = None) -> Tensor:
        """The layer with other weights than its own, on all nodes, with bounded memory."""
        n = z.shape[0]
        if self.scope in ("self", "views") or n == 0:
            return self.attend(weights, z)
        keys = n if neighbors is None else max(1, neighbors.source.numel() // n * z.shape[1])
        step = max(1, BLOCK // (keys * self.n_heads))
        nodes = torch.arange(n, device=z.device)
        return torch.cat([self.attend(weights, z, part, neighbors) for part in nodes.split(step)])

    def attend(
        self, weights: Weights, z: Tensor, rows: Tensor | None = None, neighbors: Neighborhoods | None = None
    ) -> Tensor:
        """The layer with `weights` for the nodes `rows` `[R]` of `z`, `[R, D]`; all nodes by default."""
        if rows is None:
            rows = torch.arange(z.shape[0], device=z.device)
            own = z
        else:
            own = z[rows]
        *projections, out = weights
        if self.scope == "self":
            mixed = own @ projections[0]
        elif self.scope == "views":
            mixed = self._over_views(projections, own)
        elif self.scope == "nodes":
            mixed = self._over_nodes(projections, own, z)
        else:
            if neighbors is None:
                raise InputError("The scope 'neighbors' needs the graph: give edge_index.")
            mixed = self._over_neighbors(projections, own, z, neighbors.edges(rows))
        return own + (mixed @ out).reshape(own.shape)

    def _heads(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], self.n_heads, self.head_width)

    def _over_views(self, projections: list[Tensor], own: Tensor) -> Tensor:
        tokens = own.view(-1, self.n_views, self.width)
        joint = tokens @ torch.cat(projections, dim=1)
        query, key, value = (self._heads(part) for part in joint.chunk(3, dim=-1))
        # V x V scores a node with V at most a handful: sums beat a batch of tiny matrix products
        score = (query[:, :, None] * key[:, None]).sum(-1) / math.sqrt(self.head_width)
        weight = score.softmax(dim=2)
        return (weight[..., None] * value[:, None]).sum(2).flatten(2)

    def _over_nodes(self, projections: list[Tensor], own: Tensor, z: Tensor) -> Tensor:
        query = self._heads(own @ projections[0])
        key, value = (self._heads(z @ weight) for weight in projections[1:])
        score = torch.einsum("rha,nha->rhn", query, key) / math.sqrt(self.head_width)
        return torch.einsum("rhn,nha->rha", score.softmax(dim=2), value).flatten(1)

    def _over_neighbors(
        self, projections: list[Tensor], own: Tensor, z: Tensor, edges: tuple[Tensor, Tensor]
    ) -> Tensor:
        target, source = edges
        needed, source = torch.unique(source, return_inverse=True)  # a batch touches few of the nodes
        query = self._heads(own @ projections[0])
        key, value = (self._heads(z[needed] @ weight) for weight in projections[1:])
        score = (query[target] * key[source]).sum(-1) / math.sqrt(self.head_width)
        place = target[:, None].expand_as(score)
        top = torch.full_like(query[..., 0], -torch.inf).scatter_reduce(0, place, score.detach(), "amax")
        weight = (score - top[target]).exp()
        norm = torch.zeros_like(top).index_add(0, target, weight)
        message = (weight / norm[target])[..., None] * value[source]
        return torch.zeros_like(query).index_add(0, target, message).flatten(1)
