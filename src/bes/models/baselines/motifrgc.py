"""MotifRGC (Sun et al., AAAI 2024): a view of the features against views of points in curved spaces, and motifs.

Every node has a point in each of M spaces whose curvature is learned (`motifrgc_space.py`), and a random kernel map
takes the points of space m to features z_m `[N, 8]`. Two backbones of two layers, f on X and g on each z_m, give

    Z = LayerNorm([f(X) | g(z_1) | ... | g(z_M)]).

Pretraining minimises, without labels, contrast + motif: the contrast of f(X) with g(z_m) over all nodes, the mean over
m and both directions (`motifrgc_contrast.py`), and -log P of the triangles and wedges of the graph by
p_uv = sigma(2 - |z_u - z_v|^2) with z = [z_1 | ... | z_M] (`motifrgc_motifs.py`). Then Z is frozen: classes of nodes
are read by a network of two layers of the backbone on [X | Z], which is selected on validation.

Settled:
- The authors' scripts fine-tune Z for links by a Fermi-Dirac decoder, on splits that leak; whether they pretrain before
  depends on the version of their code. Here it is always done (`pretrain_epochs=0` is the ablation without it), Z is
  frozen, and pairs are read by the decoder of the run, which every method gets.
- Triples come from the graph that the method is given, and so from training edges alone where links are predicted.
- LayerNorm has no weights of its own: the losses of the pretraining are taken before it, and would not train them.
- P(triangle), P(wedge), P(none) sum to one and are used as they are, as logarithms that cannot overflow.
- Riemannian Adam is written out here, without carrying the first moment along; each node draws the length of its first
  point by itself; edges are dropped in both directions at once; heads of GAT are averaged.
- The share of edges that is dropped is that of hidden units too: the authors' code hands it to both.
- GAT has, as the authors write it, no activation between the layers of f and g; the network that reads nodes is the
  same for all backbones, with ReLU and dropout between its layers, and one head.
- The contrast is over all nodes where they are at most `anchors`, else in each epoch over as many random ones.

Expected: the table of the authors was not at hand. The BES paper's Table 1 (nodes) prints for Cora, CiteSeer and PubMed
87.73, 75.19, 88.76 (GCN), 87.62, 75.34, 87.70 (GAT) and 87.54, 75.73, 88.75 (SAGE), and on WikiCS out of memory. The
one on GAT stays about two points below it on Cora, with the paper's settings and in the arena, where tuning keeps these
and the contrast has 1,000 nodes in place of all. What is lost is lost by the embeddings: the same classifier on the
features alone was better on the splits that were looked at (research log, rivals under one protocol), and none of the
other proposals was better on validation.

For links all three stay far below everybody else. That is the price of the freeze: f learns to say what the points do,
which know nothing of nodes beyond the training edges, and forgets the features. Trained on for links from there, as the
authors do, the same networks gained much of it back (research log, what a frozen MotifRGC knows of links).

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- motifrgc-gcn, the paper's settings: Cora 86.81 ± 0.18 (10), CiteSeer 75.50 ± 0.45 (10), Chameleon 65.96 ± 0.56 (10),
  Cornell 45.68 ± 1.78 (10), Texas 56.00 ± 1.55 (10).
- motifrgc-gcn, tuned: Cora 87.30 ± 0.19 (10), CiteSeer 76.31 ± 0.30 (10), Chameleon (filtered) 44.36 ± 1.00 (10),
  Squirrel (filtered) 38.02 ± 0.44 (10), Cornell 45.95 ± 2.13 (10), Texas 55.71 ± 2.30 (10), Wisconsin 47.20 ± 1.40
  (10), Actor 31.18 (1).
- motifrgc-gat, the paper's settings: Cora 85.81 ± 0.22 (10), CiteSeer 75.12 ± 0.35 (10), Chameleon 64.88 ± 0.86 (10),
  Cornell 45.68 ± 1.68 (10), Texas 57.43 ± 1.83 (10).
- motifrgc-gat, tuned: Cora 85.56 ± 0.41 (10), Chameleon (filtered) 41.97 ± 0.52 (8), Squirrel (filtered) 34.57 ± 0.56
  (10), Cornell 46.49 ± 2.34 (10), Texas 58.57 ± 1.61 (10), Wisconsin 52.00 ± 2.15 (10), Actor 29.03 ± 0.29 (10).
- motifrgc-sage, the paper's settings: Cora 86.76 ± 0.23 (10), CiteSeer 75.23 ± 0.50 (10), Chameleon 66.24 ± 0.39 (10),
  Chameleon (filtered) 43.69 ± 1.02 (10), Cornell 66.49 ± 1.22 (10), Texas 77.71 ± 1.52 (10).
- motifrgc-sage, tuned: Cora 87.26 ± 0.31 (10), PubMed 88.35 ± 0.10 (10), Chameleon (filtered) 42.74 ± 0.92 (10),
  Squirrel (filtered) 39.66 ± 0.57 (10), Cornell 66.49 ± 1.94 (10), Texas 77.71 ± 1.90 (10), Wisconsin 77.80 ± 1.28
  (10), Actor 34.38 ± 0.53 (10), Amazon Photo 94.51 ± 0.19 (10).
- the paper prints over 2 points more: motifrgc-sage Cornell 11.9. Of the paper's figures 14 of 17 for Cornell and 12 of
  17 for Texas are whole shares of 37 nodes, a test part of usual splits: single runs, by their look, and no means.

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- motifrgc-gcn, tuned: Cora 64.40 ± 0.28 (10), CiteSeer 65.65 ± 0.29 (10), PubMed 67.80 ± 1.80 (10), Amazon Photo 92.37
  (1).
- motifrgc-gat, tuned: Cora 63.83 ± 0.33 (10), CiteSeer 64.99 ± 0.34 (10), Amazon Photo 90.75 ± 1.34 (2).
- motifrgc-sage, tuned: Cora 59.09 ± 0.33 (10), CiteSeer 62.31 ± 0.58 (10), PubMed 76.01 ± 1.02 (4), Amazon Photo 91.12
  ± 0.40 (4).
- the paper prints over 2 points more: motifrgc-gcn Cora 7.5, CiteSeer 20.9, PubMed 25.7; motifrgc-gat Cora 24.2,
  CiteSeer 22.4; motifrgc-sage Cora 29.7, CiteSeer 28.7, PubMed 21.5. The paper does not publish how it predicts links.
  With the test edges left to pass messages a GCN goes beyond what is printed for it (Cora 96.74 ± 0.16 (5), printed
  92.30, CiteSeer 96.65 ± 0.20 (5), printed 95.30, PubMed 98.04 ± 0.02 (5), printed 93.70): a leak would explain such a
  gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.pairs import at_most, beside
from bes.graph.sparse import Features, Operators
from bes.models.base import dropout
from bes.models.baselines.method import Method
from bes.models.baselines.motifrgc_contrast import contrast
from bes.models.baselines.motifrgc_motifs import Triples, motif_loss
from bes.models.baselines.motifrgc_space import RiemannianAdam, Space
from bes.models.baselines.options import Count, Dropped, Natural, NonNegative, Positive
from bes.models.baselines.problem import Answer, Embed, Problem, Staged
from bes.models.convs import CONVS, GATConv
from bes.models.encoders import Encoder
from bes.optim import Adam


class Heads(nn.Module):
    """The mean of some attention layers: heads that are averaged."""

    def __init__(self, n_in: int, n_out: int, n_heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GATConv(n_in, n_out, generator=generator) for _ in range(n_heads))

    def forward(self, x: Features, ops: Operators) -> Tensor:
        return torch.stack([layer(x, ops) for layer in self.layers]).mean(0)


class Backbone(nn.Module):
    """Two layers of one kind; `drop` is the share of edges and, where there is an activation, of hidden units."""

    def __init__(
        self, kind: str, n_in: int, hidden: int, n_out: int, heads: int, drop: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.linear, self.drop = kind == "gat", drop
        widths = ((n_in, hidden), (hidden, n_out))
        self.first, self.second = (
            Heads(*pair, heads, generator) if kind == "gat" else CONVS[kind](*pair, generator=generator)
            for pair in widths
        )

    def forward(self, x: Features, ops: Operators, rng: torch.Generator | None = None) -> Tensor:
        ops = without_edges(ops, self.drop, rng) if self.training else ops
        h: Tensor = self.first(x, ops)
        if not self.linear:
            h = dropout(h.relu(), self.drop, rng) if self.training else h.relu()
        out: Tensor = self.second(h, ops)
        return out


def without_edges(ops: Operators, share: float, rng: torch.Generator | None) -> Operators:
    """The graph without a random share of its edges."""
    if share == 0 or ops.edge_index.shape[1] == 0:
        return ops
    if ops not in _NUMBERED:
        _NUMBERED[ops] = _numbered(ops)
    number, is_loop = _NUMBERED[ops]
    draw = torch.rand(ops.edge_index.shape[1] // 2, generator=rng, device=number.device) >= share
    kept = (draw.index_select(0, number) | is_loop).nonzero().flatten()
    edges = kept[~is_loop.index_select(0, kept)]
    fewer = Operators(ops.looped.index_select(1, edges), ops.n_nodes)
    fewer.__dict__["looped"] = ops.looped.index_select(1, kept)  # in order already
    return fewer


#: Of each graph whose edges were dropped, what `_numbered` found.
_NUMBERED: WeakKeyDictionary[Operators, tuple[Tensor, Tensor]] = WeakKeyDictionary()


def _numbered(ops: Operators) -> tuple[Tensor, Tensor]:
    """For each entry of `ops.looped` the number of its edge, the same in both directions, and whether it is a loop."""
    low, high = ops.looped.min(0).values, ops.looped.max(0).values
    once = ops.edge_index[:, ops.edge_index[0] < ops.edge_index[1]]
    key, order = torch.sort(once[0] * ops.n_nodes + once[1])
    at = torch.searchsorted(key, low * ops.n_nodes + high).clamp_max(len(key) - 1)  # that of a loop is not read
    return order[at], low == high


class Views(nn.Module):
    """f on the features, and g on the kernel features of every space."""

    def __init__(self, space: Space, f: Backbone, g: Backbone) -> None:
        super().__init__()
        self.space, self.f, self.g = space, f, g

    def forward(self, graph: Graph, z: Tensor, rng: torch.Generator | None = None) -> list[Tensor]:
        """f(X), g(z_1), ..., g(z_M), from z `[M, N, R]`."""
        ops = graph.operators
        return [self.f(graph.x, ops, rng), *(self.g(one, ops, rng) for one in z)]

    @torch.no_grad()
    def embed(self, graph: Graph) -> Tensor:
        """Z `[N, (M + 1) width]`."""
        wide = torch.cat(self.eval()(graph, self.space()), dim=1)
        return F.layer_norm(wide, wide.shape[1:])


class Reader(Staged):
    """A network on fixed features [X | Z]."""

    def __init__(self, encoder: Encoder, x: Features) -> None:
        super().__init__()
        self.encoder, self.x = encoder, x

    def begin(self, graph: Graph) -> Tensor:
        return self.encoder.embed(self.x, graph.operators)

    def finish(self, begun: Tensor, graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        return self.encoder.read(begun, graph.operators, rng)


@dataclass(frozen=True)
class MotifRGC(Method):
    """Pretraining, and a network that reads nodes from [X | Z]; `epochs`, `lr` and so on are of the latter.

    Args:
        backbone: The convolution of all networks.
        pretrain_epochs: 0 leaves every weight and point at its random start.
        points_lr: Of the points and the curvatures.
        factors: Spaces, M.
        curvature: kappa_0; curvatures begin at kappa_0 (1 + N(0, 1)).
        dim: Of each space.
        kernels: Features of the kernel map, for each space.
        width: Of f(X) and of each g(z_m); Z is (M + 1) times as wide.
        heads: Of the attention in f and g.
        drop_edge: Share of edges, and of hidden units, that f and g drop in pretraining.
        triples: In each epoch, at most.
        anchors: Nodes in the contrast of each epoch, at most, but two at least; 0 for all.
        reader: Hidden width of the network that reads nodes.
        dropout: Share of its hidden units that are dropped.
    """

    epochs: Count = 500
    weight_decay: NonNegative = 0.0
    backbone: Literal["gcn", "gat", "sage"] = "gcn"
    pretrain_epochs: Natural = 200
    pretrain_lr: Positive = 0.01
    points_lr: Positive = 0.001
    factors: Count = 3
    curvature: float = -1.0
    dim: Count = 8
    kernels: Count = 8
    hidden: Count = 64
    width: Count = 32
    heads: Count = 4
    drop_edge: Dropped = 0.1
    temperature: Annotated[float, Ge(0.02)] = 0.2
    triples: Count = 200_000
    anchors: Natural = 4_000
    reader: Count = 32
    dropout: Dropped = 0.5

    def fit(self, problem: Problem) -> Answer:
        embed = self.pretrain(problem)
        if problem.pairwise:
            return problem.probe(embed, self)
        x = beside(problem.graph.x, embed(problem.graph))
        streams = problem.streams("MotifRGC", self.backbone)
        encoder = Encoder(
            self.backbone, x.shape[1], self.reader, problem.n_classes, dropout=self.dropout, generator=streams.init
        )
        return problem.fit(Reader(encoder, x), self, streams)

    def pretrain(self, problem: Problem) -> Embed:
        """Embeddings that are learned from the problem's graph."""
        views = self.views(problem).to(problem.device)
        weights = [*views.f.parameters(), *views.g.parameters()]
        groups = [{"params": weights, "lr": self.pretrain_lr}, {"params": [views.space.kappa], "lr": self.points_lr}]
        euclidean, riemannian = Adam(groups), RiemannianAdam(views.space, self.points_lr)
        triples, rng = Triples(problem.graph.operators), problem.generator("MotifRGC", "pretrain", self.backbone)
        views.train()
        for _ in range(self.pretrain_epochs):
            euclidean.zero_grad()
            self.loss(views, problem.graph, triples, rng).backward()
            euclidean.step()
            riemannian.step()
        return views.requires_grad_(False).embed

    def loss(self, views: Views, graph: Graph, triples: Triples, rng: torch.Generator) -> Tensor:
        """Contrast + motif."""
        z = views.space()
        x, *curved = views(graph, z, rng)
        if 0 < self.anchors < graph.n_nodes:
            some = at_most(torch.arange(graph.n_nodes, device=graph.device), max(2, self.anchors), rng)
            x, curved = x[some], [one[some] for one in curved]
        contrasts = torch.stack([contrast(x, one, self.temperature) for one in curved])
        return contrasts.mean() + motif_loss(torch.cat(tuple(z), dim=1), triples, self.triples, rng)

    def views(self, problem: Problem) -> Views:
        """Points and networks as they begin."""
        init, graph = problem.init("MotifRGC", self.backbone), problem.graph
        space = Space(self.factors, graph.n_nodes, self.dim, self.kernels, self.curvature, init)
        f, g = (
            Backbone(self.backbone, n_in, self.hidden, self.width, self.heads, self.drop_edge, init)
            for n_in in (graph.n_features, self.kernels)
        )
        return Views(space, f, g)
