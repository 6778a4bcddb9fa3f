"""IGCL (Chen et al., UAI 2025, "Improving Graph Contrastive Learning with Community Structure").

The graph is cut into M = round(ratio N) parts, P is N x M with P_ic = 1 / |c| for i in c, B the row-normalised
A + 2I, and G = P^T B P. An encoder e(x) = norm(x W + b) without activation, a copy e' of it that gets no gradient, and
a predictor g are trained without any message passing. With H = P^T e(X), cosines over a temperature t,

    pos_c = mean_{i in c} cos(g(H_c), e'(x_i)) / t,    sim_cd = cos(H_c, H_d) / t,
    L = mean_c [-(pos_c + lambda sum_d G_cd sim_cd) + log(exp(pos_c) + sum_d exp(sim_cd))],

and after each step e' <- momentum e' + (1 - momentum) e. Nodes are ReLU(B^hops e(X)), read by a linear map.

Settled:
- The released code differs from these equations in two ways, which `released` repeats: the loss is the mean over all
  pairs (i, j) of -(pos_i + lambda (G sim)_ij) + log(exp(pos_i) + sum_d exp(sim_jd)), as a column is added to a row; and
  the average is taken the wrong way round, so that e' stays as it was drawn and e is pulled back to it. Earlier
  versions of it add exponentials in the first term too; the last one is meant here.
- Parts are METIS's in the released code, in the settings of `igcl-released` and in the official ones of `igcl`. The
  default `communities` needs no package (`bes.scale.partition`). On Cora that makes no difference to the equations
  above, and is worse for the code as released, by about two standard errors: `bes run cora --method igcl-released --set
  igcl-released.partition=communities --seeds 0-9` and the same without.
- The released code reports the best test accuracy among the epochs that improve on validation. Here, as for all
  methods, validation alone chooses, for `released` too.
- It says 100 epochs and takes one step more, and it drops parts that METIS left empty. Neither is repeated.
- Under batch normalisation b has no effect and is left out. Weights and b are drawn as torch's linear layers draw them.
- `average="features"` is the released variant for ogbn-arxiv: it encodes P^T X, and the predictor has ELU.

Expected: BES paper, Table 1: Cora 88.60, CiteSeer 77.30, PubMed 87.32. The figures of the method's own paper were not
at hand.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- igcl, the paper's settings: Cora 87.46 ± 0.28 (10), Chameleon 64.07 ± 0.50 (10), Chameleon (filtered) 40.56 ± 1.11
  (10), Cornell 47.30 ± 1.86 (10), Texas 57.14 ± 0.95 (10).
- igcl, tuned: Cora 88.04 ± 0.36 (10), CiteSeer 75.42 ± 0.36 (10), PubMed 87.79 ± 0.12 (10), Chameleon (filtered) 40.73
  ± 1.12 (10), Squirrel (filtered) 35.95 ± 0.33 (10), Cornell 66.76 ± 2.35 (10), Texas 74.00 ± 1.88 (10), Wisconsin
  75.60 ± 0.83 (10), Actor 34.59 ± 0.52 (10), Amazon Photo 92.07 ± 0.27 (10).
- igcl, without labels: Cora 87.48 ± 0.30 (20), CiteSeer 74.57 ± 0.38 (20), Amazon Photo 91.44 ± 0.14 (20).
- igcl-released, tuned: Cora 87.43 ± 0.55 (10), CiteSeer 75.71 ± 0.30 (10), PubMed 86.23 ± 0.31 (10), Chameleon
  (filtered) 45.14 ± 1.07 (10), Squirrel (filtered) 37.59 ± 0.49 (10), Cornell 72.97 ± 2.35 (10), Texas 83.43 ± 2.16
  (10), Wisconsin 82.60 ± 1.12 (10), Actor 36.62 ± 0.55 (10), Amazon Photo 90.88 ± 0.23 (10).
- the paper prints over 2 points more: igcl Cornell 14.3, Texas 15.1. Of the paper's figures 14 of 17 for Cornell and 12
  of 17 for Texas are whole shares of 37 nodes, a test part of usual splits: single runs, by their look, and no means.

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- igcl, the paper's settings: Cora 81.17 ± 1.14 (5), CiteSeer 82.61 ± 0.42 (5), PubMed 85.99 ± 0.14 (5).
- igcl, tuned: Cora 81.76 ± 0.29 (10), CiteSeer 82.39 ± 0.23 (10), PubMed 85.92 ± 0.10 (10), Amazon Photo 90.55 ± 0.06
  (10).
- igcl-released, tuned: Cora 77.20 ± 1.11 (10), CiteSeer 80.66 ± 0.74 (10), PubMed 84.32 ± 0.34 (10), Amazon Photo 90.05
  ± 0.52 (10).
- the paper prints over 2 points more: igcl Cora 11.2, CiteSeer 13.0, PubMed 10.9. The paper does not publish how it
  predicts links. With the test edges left to pass messages a GCN goes beyond what is printed for it (Cora 96.74 ± 0.16
  (5), printed 92.30, CiteSeer 96.65 ± 0.20 (5), printed 95.30, PubMed 98.04 ± 0.02 (5), printed 93.70): a leak would
  explain such a gap.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators, Sparse
from bes.models.base import project
from bes.models.baselines.blocks import BLOCK, row_logsumexp
from bes.models.baselines.method import SelfSupervised
from bes.models.baselines.options import Count, Natural, NonNegative, Positive, Share
from bes.models.baselines.problem import Embed, Problem
from bes.optim import Adam
from bes.products import linear
from bes.scale.partition import Partitioner, added_up, partition

Norm = Literal["layer", "batch", "none"]


class LinearEncoder(nn.Module):
    """e(x) = norm(x W + b)."""

    def __init__(self, n_in: int, width: int, norm: Norm, generator: torch.Generator) -> None:
        super().__init__()
        bound = n_in**-0.5
        self.weight = nn.Parameter(torch.empty(n_in, width).uniform_(-bound, bound, generator=generator))
        bias = torch.empty(width).uniform_(-bound, bound, generator=generator)
        self.bias = None if norm == "batch" else nn.Parameter(bias)
        kinds = {"layer": nn.LayerNorm, "batch": nn.BatchNorm1d, "none": nn.Identity}
        self.norm: nn.Module = kinds[norm](width)

    def mapped(self, x: Features) -> Tensor:
        """x W + b."""
        (z,) = project(x, (self.weight.t(),))
        return z if self.bias is None else z.add_(self.bias)

    def forward(self, x: Features) -> Tensor:
        out: Tensor = self.norm(self.mapped(x))
        return out


class Predictor(nn.Module):
    """g: linear maps of one width with an activation between them."""

    def __init__(self, width: int, layers: int, *, elu: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.utils.skip_init(nn.Linear, width, width) for _ in range(layers))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(width**-0.5), width**-0.5, generator=generator)
        self.elu = elu

    def forward(self, h: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            if i:
                h = F.elu(h) if self.elu else h.relu()
            h = linear(h, layer.get_parameter("weight"), layer.get_parameter("bias"))
        return h


@dataclass(frozen=True)
class IGCL(SelfSupervised):
    """Contrast of the parts of a graph with each other and with their own nodes.

    Args:
        released: The loss and the average of the released code, not those of the equations.
        partition: Who cuts the graph; `metis` needs the package pymetis.
        ratio: Parts as a share of the nodes; there are at least two.
        hops: How often embeddings are averaged over neighbours in the end.
        hidden: Width of the embeddings.
        predictor: Layers of g.
        temperature: t, what cosines are divided by.
        momentum: What is kept of e' after each step; 1 keeps all.
        neighbors: lambda, the weight of parts that share edges.
        norm: What follows the linear map of e.
        average: Whether a part is the mean of its nodes' embeddings, or the embedding of its mean features.
    """

    epochs: Count = 100
    lr: Positive = 0.005
    weight_decay: NonNegative = 1e-6
    probe_weight_decay: NonNegative = 1e-6
    released: bool = False
    partition: Partitioner = "communities"
    ratio: Share = 0.02
    hops: Natural = 3
    hidden: Count = 1024
    predictor: Count = 1
    temperature: Positive = 0.1
    momentum: Share = 0.95
    neighbors: NonNegative = 0.0
    norm: Norm = "layer"
    average: Literal["embeddings", "features"] = "embeddings"

    def embed(self, problem: Problem) -> Embed:
        encoder = self._pretrained(problem).eval()

        def embedded(graph: Graph) -> Tensor:
            b = smoother(graph.operators)
            with torch.no_grad():
                z: Tensor = encoder(graph.x)
                for _ in range(self.hops):
                    z = b @ z
            return z.relu_()

        return embedded

    def _pretrained(self, problem: Problem) -> LinearEncoder:
        graph = problem.graph
        n_parts = min(graph.n_nodes, max(2, round(self.ratio * graph.n_nodes)))
        part = partition(graph, n_parts, self.partition, problem.generator("partition"))
        mean = means(part, n_parts)
        coarse = coarsened(smoother(graph.operators), part, n_parts)
        init, elu = problem.init("igcl"), self.average == "features"
        encoder = LinearEncoder(graph.n_features, self.hidden, self.norm, init).to(problem.device)
        predictor = Predictor(self.hidden, self.predictor, elu=elu, generator=init).to(problem.device)
        target = copy.deepcopy(encoder).requires_grad_(False)
        parameters = [*encoder.parameters(), *predictor.parameters()]
        optimizer = Adam(parameters, lr=self.lr, weight_decay=self.weight_decay, fused=True)
        # a linear map may follow the mean
        pooled = averaged(graph.x, part, n_parts) if self.average == "features" or self.norm == "none" else None
        follows = not self.released and self.momentum < 1
        slow = goal = torch.empty(0)
        for epoch in range(self.epochs):
            z = encoder.mapped(graph.x if pooled is None else pooled)
            h = mean @ encoder.norm(z) if pooled is None else encoder.norm(z)
            if epoch and follows:
                blend(target, encoder, self.momentum)
            if epoch == 0 or follows:
                # x W' + b' follows x W + b as W' and b' follow W and b: no product of its own
                if epoch and pooled is None:
                    slow.lerp_(z.detach(), 1 - self.momentum)
                else:
                    slow = target.mapped(graph.x)
                goal = targets(target, slow, mean)
            pos = (F.normalize(predictor(h)) * goal).sum(1) / self.temperature
            optimizer.zero_grad()
            self.loss(pos, F.normalize(h), coarse).backward()
            optimizer.step()
            if self.released:
                blend(encoder, target, self.momentum)
        return encoder

    def loss(self, pos: Tensor, h: Tensor, coarse: Sparse) -> Tensor:
        """L from `pos` `[M]`, the parts' embeddings of length one `[M, D]`, and G."""
        total = row_logsumexp(h, h, 1 / self.temperature)
        near = self.neighbors / self.temperature * (coarse @ h)
        if self.released:
            mixed = torch.cat([torch.logaddexp(few[:, None], total).mean(1) for few in pos.split(BLOCK // len(pos))])
            return (mixed - pos).mean() - near.mean(0) @ h.mean(0)
        return (torch.logaddexp(pos, total) - pos - (near * h).sum(1)).mean()


def smoother(ops: Operators) -> Sparse:
    """B: A + 2I with rows that sum to one."""
    row, col = ops.looped
    weight = torch.where(row == col, 2.0, 1.0) / (ops.degree + 2)[row]
    return Sparse.from_coo(row, col, weight, (ops.n_nodes, ops.n_nodes))


def means(part: Tensor, n_parts: int) -> Sparse:
    """P^T: from nodes to the means of their parts."""
    node = torch.argsort(part, stable=True)
    return Sparse.from_coo(part[node], node, shares(part)[node], (n_parts, len(part)))


def shares(part: Tensor) -> Tensor:
    """1 / |c| for each node of c `[N]`."""
    return 1 / torch.bincount(part)[part]


def coarsened(b: Sparse, part: Tensor, n_parts: int) -> Sparse:
    """G = P^T B P."""
    row, col, value = b.coo()
    share = shares(part)
    return summed(part[row], part[col], value * share[row] * share[col], (n_parts, n_parts))


def averaged(x: Features, part: Tensor, n_parts: int) -> Features:
    """P^T X, sparse where X is."""
    if not isinstance(x, Sparse):
        return means(part, n_parts) @ x
    node, col, value = x.coo()
    return summed(part[node], col, value * shares(part)[node], (n_parts, x.shape[1]))


def summed(row: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]) -> Sparse:
    """A matrix from entries in any order, those of the same place added up."""
    return Sparse.from_coo(*added_up(row, col, value, shape[1]), shape)


@torch.no_grad()
def targets(target: LinearEncoder, mapped: Tensor, mean: Sparse) -> Tensor:
    """The means over parts of e'(X) with rows of length one; times a g(H_c) of length one they are mean cosines.

    Args:
        mapped: X W' + b', which is not changed.
    """
    z: Tensor = target.norm(mapped)
    unit: Tensor = z / z.norm(dim=1, keepdim=True).clamp_min(1e-12)
    return mean @ unit


@torch.no_grad()
def blend(kept: nn.Module, other: nn.Module, share: float) -> None:
    """Move the parameters of `kept` towards those of `other`, `share` of their own remaining."""
    for own, new in zip(kept.parameters(), other.parameters(), strict=True):
        own.lerp_(new, 1 - share)
