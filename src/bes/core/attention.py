"""The boundary attention layer: heads, concat, output map and residual (appendix, model details)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from bes.core import views
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


class Inputs(NamedTuple):
    """A layer's constant input, laid out once for the passes of every iteration.

    Attributes:
        z: Embeddings `[N, D]`.
        tokens: The parts of each embedding `[V, D / V, N]`. Nodes come last: a weight a node then
            scales whole rows of memory. Empty where the scope mixes nodes.
        gaps: `tokens` of all views but the last, minus the last `[D / V, V - 1, N]`.
        neighbors: Who attends to whom, for the scope `neighbors`.
        rows: Whose outputs are wanted, where the scope mixes nodes; None for all.
    """

    z: Tensor
    tokens: Tensor
    gaps: Tensor
    neighbors: Neighborhoods | None = None
    rows: Tensor | None = None


def check_views(dim: int, n_views: int) -> None:
    """Refuse views that are not equal parts of z."""
    if dim % n_views:
        raise InputError(f"z has {dim} columns, which n_views={n_views} does not divide: give equal parts.")


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
        check_views(dim, parts)
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
        """All nodes: `[N, D]` to `[N, D]`."""
        return z + self.full(self.weights, self.read(z, neighbors))

    def read(self, z: Tensor, neighbors: Neighborhoods | None = None) -> Inputs:
        """Lay out embeddings `[N, D]`."""
        if self.mixes_nodes:
            if self.scope == "neighbors" and neighbors is None:
                raise InputError("The scope 'neighbors' needs the graph: give edge_index.")
            return Inputs(z, z[:0], z[:0], neighbors)
        tokens = z.T.contiguous().view(self.n_views, self.width, z.shape[0])  # torch is quick at turning matrices
        gaps = (tokens[:-1] - tokens[-1]).transpose(0, 1).contiguous()
        return Inputs(z, tokens, gaps)

    def select(self, inputs: Inputs, rows: Tensor) -> Inputs:
        """The inputs with which `attend` gives the outputs of the nodes `rows` `[R]` alone."""
        if self.mixes_nodes:
            return inputs._replace(rows=rows)
        return self.read(inputs.z[rows])

    def full(self, weights: Weights, inputs: Inputs) -> Tensor:
        """A(Z) - Z for all nodes of `inputs` `[N, D]`; in blocks where the scope mixes nodes."""
        if not self.mixes_nodes:
            return self.attend(weights, inputs)
        n = inputs.z.shape[0]
        keys = n if inputs.neighbors is None else max(1, inputs.neighbors.source.numel() // n * inputs.z.shape[1])
        step = max(1, BLOCK // (keys * self.n_heads))
        nodes = torch.arange(n, device=inputs.z.device) if inputs.rows is None else inputs.rows
        return torch.cat([self.attend(weights, self.select(inputs, part)) for part in nodes.split(step)])

    def attend(self, weights: Weights, inputs: Inputs) -> Tensor:
        """A(Z) - Z for the nodes of `inputs`, `[R, D]`."""
        if not self.mixes_nodes:
            return self._over_views(weights, inputs)[0]
        *projections, out = weights
        rows = torch.arange(inputs.z.shape[0], device=inputs.z.device) if inputs.rows is None else inputs.rows
        own = inputs.z[rows]
        if inputs.neighbors is None:
            return self._over_nodes(projections, own, inputs.z) @ out
        return self._over_neighbors(projections, own, inputs.z, inputs.neighbors.edges(rows)) @ out

    def gradient(
        self, weights: Weights, inputs: Inputs, pull: Callable[[Tensor], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Weights]:
        """A loss of the outputs of `inputs`, and its gradient by the weights.

        Args:
            pull: From the outputs `[R, D]` to the loss and its gradient by them.
        """
        if not self.mixes_nodes:
            moved, tapes = self._over_views(weights, inputs)
            value, force = pull(moved)
            force = force.T.reshape(self.n_views, self.width, -1)
            parts = [views.pull_back(tape, inputs.tokens, inputs.gaps, force) for tape in tapes]
            *projections, out = zip(*parts, strict=True)
            return value, (*(torch.cat(same, dim=1) for same in projections), torch.cat(out))
        with torch.enable_grad():
            leaves = tuple(w.detach().requires_grad_() for w in weights)
            moved = self.attend(leaves, inputs)
        value, force = pull(moved.detach())
        return value, torch.autograd.grad(moved, leaves, force)

    def difference(self, old: Weights, new: Weights, inputs: Inputs) -> Tensor:
        """A(Z; new) - A(Z; old) for all nodes `[N, D]` in one pass, for scopes that do not mix nodes."""
        pairs = zip(self._split(old), self._split(new), strict=True)
        parts = [views.difference(*pair, inputs.tokens, inputs.gaps) for pair in pairs]
        return (parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)).flatten(0, 1).T

    def _over_views(self, weights: Weights, inputs: Inputs) -> tuple[Tensor, list[views.Tape]]:
        """The heads' sum `[N, D]`, nodes last in memory, and their tapes."""
        results = [views.attend(head, inputs.tokens, inputs.gaps) for head in self._split(weights)]
        moved = results[0][0] if len(results) == 1 else torch.stack([part for part, _ in results]).sum(0)
        return moved.flatten(0, 1).T, [tape for _, tape in results]

    def _split(self, weights: Weights) -> list[views.Head]:
        """The weights of each head."""
        if self.n_heads == 1:
            heads = [weights]
        else:
            *projections, out = weights
            columns = (weight.split(self.head_width, dim=1) for weight in projections)
            heads = list(zip(*columns, out.split(self.head_width), strict=True))
        return [views.Head(*head) if len(head) == 4 else views.Head(None, None, *head) for head in heads]

    @property
    def mixes_nodes(self) -> bool:
        return self.scope in ("nodes", "neighbors")

    def _heads(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], self.n_heads, self.head_width)

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
