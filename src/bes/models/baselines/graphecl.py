"""GraphECL: without labels, an MLP learns to match what a graph network says of a node's neighbours.

Xiao et al., "Efficient contrastive learning for fast and accurate inference on graphs" (ICML 2024). With unit rows
z = |f_G(X)| of a GCN (ReLU between its layers) and q = |g(f_M(X))| of an MLP (Linear, batch norm, ReLU, Linear) and its
projector g (linear maps with ReLU between them),

    L = mean_v mean_{u in N(v) + v} [-z_u . q_v / tau + log(S1(v) + lam S2(u))],
    S1(v) = sum_k exp(z_v . z_k / tau),   S2(u) = sum_k exp(z_u . q_k / tau) over all nodes k.

No augmentation and no stop of gradients. What is read afterwards is f_M(X) alone, with the batch norm's statistics over
all nodes, as in training.

The heterophilous version stacks the GCN without activations and without self-loops, gives the MLP's output unit rows
before the projector (these are the embeddings), and compares with s drawn neighbours and s drawn nodes:

    L = mean_v mean_{u in Pos(v)} [-q_v . z_u / tau + log(lam sum_k exp(q_v . z_k / tau) + sum_k exp(z_u . z_k / tau))].

Settled: the first map of the MLP has no bias, which the batch norm would take off again. A node without neighbours is
its own in Pos. The official code pads short lists of neighbours once; here it is drawn anew in every epoch. Embeddings
are read after the last step (officially before it). `sample` lets k run over some nodes, drawn anew in every epoch, as
sums over all pairs of a large graph take hours on a CPU; CiteSeer is run so too, whose 2,048 units make it slow. So the
paper's settings are with 512 drawn nodes on CiteSeer and PubMed here, as the arena is wherever the homophilous version
is run; on Cora, where both were run, that makes no difference beyond the errors. The paper does not name the layers on
WikiCS: two.

Expected: about 84.2 / 73.1 / 82.2 on the public splits of Cora / CiteSeer / PubMed (recalled, not certain). Table 1 of
the paper prints 88.72 / 75.39 / 88.18. On CiteSeer the paper's settings stay some points below, because they train too
hard: a quarter of the units is better, and with one layer, tau=1 and half the rate the printed figure is reached
(research log, what GraphECL loses on CiteSeer).

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- graphecl, the paper's settings: Cora 86.96 ± 0.35 (10), CiteSeer 71.46 ± 0.38 (2).
- graphecl, tuned: Cora 87.02 ± 0.37 (10), Chameleon (filtered) 45.25 (1), Squirrel (filtered) 37.34 ± 0.47 (10),
  Cornell 72.97 ± 1.93 (10), Texas 79.71 ± 1.38 (10), Wisconsin 77.40 ± 2.15 (10).
- the paper prints over 2 points more: graphecl CiteSeer 3.9.

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- graphecl, the paper's settings: Cora 85.58 ± 0.24 (5).
- graphecl, tuned: Cora 85.10 ± 0.26 (10), CiteSeer 88.13 ± 0.14 (10), PubMed 87.42 ± 0.10 (10), Amazon Photo 90.51 ±
  0.06 (10).
- the paper prints over 2 points more: graphecl Cora 7.1, CiteSeer 7.1, PubMed 6.7. The paper does not publish how it
  predicts links. With the test edges left to pass messages a GCN goes beyond what is printed for it (Cora 96.74 ± 0.16
  (5), printed 92.30, CiteSeer 96.65 ± 0.20 (5), printed 95.30, PubMed 98.04 ± 0.02 (5), printed 93.70): a leak would
  explain such a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators
from bes.models.base import Conv, project
from bes.models.baselines.graphecl_losses import draw_neighbours, full_loss, sampled_loss, unit
from bes.models.baselines.method import SelfSupervised
from bes.models.baselines.options import Count, Natural, NonNegative, Positive
from bes.models.baselines.problem import Embed, Problem
from bes.models.convs import GCNConv, Linear
from bes.optim import Adam
from bes.products import linear, times


class BareGCNConv(GCNConv):
    """D^-1/2 A D^-1/2 X W + b: no node hears itself."""

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        return -(ops.cheb @ x)

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        return self.propagate(parts[0], ops)


class GraphMLP(nn.Module):
    """f_M: Linear, batch norm by the nodes at hand, ReLU, Linear."""

    def __init__(self, n_features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_features)
        self.weight = nn.Parameter(torch.empty(hidden, n_features).uniform_(-bound, bound, generator=generator))
        self.norm = nn.BatchNorm1d(hidden, track_running_stats=False)
        self.out = Linear(hidden, hidden, generator=generator)

    def hidden(self, x: Features) -> Tensor:
        """What the last map reads."""
        (h,) = project(x, (self.weight,))
        normed: Tensor = self.norm(h)
        return normed.relu()

    def forward(self, x: Features, ops: Operators) -> Tensor:
        m: Tensor = self.out(self.hidden(x), ops)
        return m


class GraphECLNetwork(nn.Module):
    """f_G, f_M and g."""

    def __init__(self, options: GraphECL, n_features: int, generator: torch.Generator) -> None:
        super().__init__()
        self.mixed = options.version == "heterophilous"
        kind: type[Conv] = BareGCNConv if self.mixed else GCNConv
        width = options.hidden
        widths = [n_features] + [width] * (options.layers - 1)
        self.convs = nn.ModuleList(kind(n_in, width, generator=generator) for n_in in widths)
        self.mlp = GraphMLP(n_features, width, generator)
        self.projector = nn.ModuleList(Linear(width, width, generator=generator) for _ in range(options.projector))

    def embed(self, graph: Graph) -> Tensor:
        """f_M(X), which is all that is kept."""
        m: Tensor = self.mlp(graph.x, graph.operators)
        return unit(m) if self.mixed else m

    def forward(self, graph: Graph) -> tuple[Tensor, Tensor]:
        """z and q, both `[N, hidden]`."""
        ops = graph.operators
        first, *others = self.convs
        z: Tensor = first(graph.x, ops)
        for conv in others:
            z = conv(z if self.mixed else z.relu(), ops)
        return unit(z), unit(self.projected(graph))

    def projected(self, graph: Graph) -> Tensor:
        """g(f_M(X)). Two maps with nothing between them are one, whose product costs less than mapping all nodes."""
        ops, layers = graph.operators, list(self.projector)
        if self.mixed or not layers or graph.n_nodes < self.mlp.out.in_channels:
            q = self.embed(graph)
        else:
            q = chained(self.mlp.hidden(graph.x), self.mlp.out, layers.pop(0))
        for layer in layers:
            q = layer(q if layer is self.projector[0] else q.relu(), ops)
        return q


def chained(h: Tensor, inner: nn.Module, outer: nn.Module) -> Tensor:
    """outer(inner(h)) of two linear maps, by the product of their weights."""
    weight, bias = outer.get_parameter("weight"), outer.get_parameter("bias")
    return linear(h, times(weight, inner.get_parameter("weight")), weight @ inner.get_parameter("bias") + bias)


@dataclass(frozen=True)
class GraphECL(SelfSupervised):
    """GraphECL, for graphs whose neighbours are mostly alike or mostly not.

    Args:
        version: Its loss: over all nodes, or over drawn ones.
        hidden: Width of all maps, and of the embeddings.
        layers: Of the GCN.
        projector: Linear maps of the projector; 0 leaves it out.
        tau: Temperature.
        lam: Weight of the second sum of negatives.
        sample: Nodes that the sums of the homophilous version run over, drawn anew in every epoch; 0 takes all.
        draws: Neighbours, and other nodes, that the heterophilous version draws for each node.
    """

    epochs: Count = 100
    lr: Positive = 5e-4
    weight_decay: NonNegative = 1e-6
    version: Literal["homophilous", "heterophilous"] = "homophilous"
    hidden: Count = 1024
    layers: Count = 1
    projector: Natural = 1
    tau: Positive = 0.5
    lam: NonNegative = 1e-3
    sample: Natural = 0
    draws: Count = 5

    def embed(self, problem: Problem) -> Embed:
        graph, streams = problem.graph, problem.streams("GraphECL")
        network = GraphECLNetwork(self, graph.n_features, streams.init).to(problem.device)
        loss = self.loss(graph, streams.draw)
        optimizer = Adam(network.parameters(), lr=self.lr, weight_decay=self.weight_decay, fused=True)
        for _ in range(self.epochs):
            optimizer.zero_grad()
            loss(*network(graph)).backward()
            optimizer.step()
        optimizer.zero_grad()

        def embed(graph: Graph) -> Tensor:
            with torch.no_grad():
                return network.embed(graph)

        return embed

    def loss(self, graph: Graph, rng: torch.Generator) -> Callable[[Tensor, Tensor], Tensor]:
        """From z and q to the loss of the version."""
        ops, n = graph.operators, graph.n_nodes
        near = ops.with_loops

        def homophilous(z: Tensor, q: Tensor) -> Tensor:
            few = 0 < self.sample < n
            some = torch.randperm(n, generator=rng, device=z.device)[: self.sample] if few else None
            return full_loss(z, q, near, self.tau, self.lam, some)

        def heterophilous(z: Tensor, q: Tensor) -> Tensor:
            neg = torch.randint(n, (n, self.draws), generator=rng, device=z.device)
            return sampled_loss(z, q, draw_neighbours(ops, self.draws, rng), neg, self.tau, self.lam)

        return homophilous if self.version == "homophilous" else heterophilous
