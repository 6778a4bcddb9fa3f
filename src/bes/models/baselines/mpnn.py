"""MPNN-GCN, -SAGE and -GAT: classic networks with residuals, norms, dropout and depth well chosen.

Luo, Shi, Wu, "Classic GNNs are strong baselines" (tunedGNN, NeurIPS 2024). With H_0 = X, or dropout(X W + b) where a
linear map comes first, and for l = 1..L

    H_l = dropout(relu(norm(conv_l(H_l-1) [+ H_l-1 V_l + c_l])))        logits = (H_L, or H_1 + ... + H_L) U + u

the convolutions are on the graph with a self-loop at every node: GCN; SAGE, whose mean is over N(i) and i itself beside
the node's own term; GAT with one head and no bias. Trained by cross-entropy on the training nodes with Adam, the epoch
chosen on validation. For pairs, embeddings are H_L (or the sum) without the last map.

Settled: the paper's table of settings names width, rate, depth and weight decay alone; what else a network has there is
taken from the official line whose other values it repeats (`configs/mpnn-*.yaml`). On Chameleon, Cornell, Texas,
Roman-empire and ogbn-arxiv it repeats none for GCN, and has some of its own elsewhere: there the rest is that of
another line, PubMed's for GCN and SAGE and Cora's for GAT, as the files have it. The official network for ogbn-arxiv
differs from the others by dropout of the features only, which is `in_dropout`.

Expected: on Cora / CiteSeer / PubMed with 20 training nodes a class the authors print GCN 85.10 / 73.14 / 81.12, SAGE
83.88 / 72.26 / 79.72, GAT 84.46 / 72.22 / 80.28. Table 1 of the paper, with 60 % of the nodes, prints MPNN-GCN 85.52 /
76.04 / 89.76, MPNN-SAGE 86.20 / 75.19 / 89.99, MPNN-GAT 86.14 / 75.44 / 87.29.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- mpnn-gcn, the paper's settings: Cora 87.57 ± 0.39 (10), CiteSeer 76.85 ± 0.41 (10), Chameleon 66.53 ± 0.55 (10),
  Chameleon (filtered) 44.92 ± 0.74 (10), Cornell 41.35 ± 1.93 (10), Texas 54.86 ± 1.46 (10).
- mpnn-gcn, tuned: Cora 87.48 ± 0.24 (10), CiteSeer 76.85 ± 0.41 (10), PubMed 89.72 ± 0.06 (3), Chameleon (filtered)
  43.13 ± 0.87 (10), Squirrel (filtered) 41.24 ± 0.66 (10), Cornell 62.43 ± 2.15 (10), Texas 73.43 ± 3.76 (10),
  Wisconsin 76.20 ± 2.20 (10), Actor 35.32 ± 0.41 (10), Amazon Photo 95.36 ± 0.46 (2).
- mpnn-gat, the paper's settings: Cora 87.85 ± 0.30 (10), CiteSeer 76.13 ± 0.44 (10), Chameleon 63.23 ± 0.71 (10),
  Chameleon (filtered) 42.74 ± 0.72 (10), Cornell 57.03 ± 2.40 (10), Texas 75.14 ± 2.45 (10).
- mpnn-gat, tuned: Cora 87.85 ± 0.29 (10), CiteSeer 76.54 ± 0.34 (10), PubMed 89.81 ± 0.07 (3), Chameleon (filtered)
  42.01 ± 0.66 (10), Squirrel (filtered) 37.59 ± 0.71 (10), Cornell 55.14 ± 3.02 (10), Texas 71.14 ± 2.31 (10),
  Wisconsin 69.20 ± 2.74 (10), Actor 36.19 ± 0.47 (10), Amazon Photo 96.01 ± 0.51 (3).
- mpnn-sage, the paper's settings: Cora 87.00 ± 0.25 (10), CiteSeer 75.60 ± 0.39 (10), Chameleon 62.00 ± 0.69 (10),
  Chameleon (filtered) 42.63 ± 0.73 (10), Cornell 55.95 ± 3.02 (10), Texas 74.86 ± 2.40 (10).
- mpnn-sage, tuned: Cora 87.91 ± 0.36 (10), Chameleon (filtered) 41.51 ± 0.83 (10), Squirrel (filtered) 37.66 ± 0.46
  (10), Cornell 66.76 ± 2.17 (10), Texas 83.14 ± 1.56 (10), Wisconsin 82.00 ± 1.07 (10), Actor 36.22 ± 0.37 (10), Amazon
  Photo 95.86 ± 0.21 (10).
- the paper prints over 2 points more: mpnn-gat Texas 5.9. Of the paper's figures 14 of 17 for Cornell and 12 of 17 for
  Texas are whole shares of 37 nodes, a test part of usual splits: single runs, by their look, and no means.

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- mpnn-gcn, the paper's settings: Cora 78.62 ± 0.19 (5), CiteSeer 74.08 ± 0.52 (5), PubMed 90.81 ± 0.18 (5).
- mpnn-gcn, tuned: Cora 79.23 ± 0.29 (10), CiteSeer 73.96 ± 0.32 (10), PubMed 90.51 ± 0.15 (10), Amazon Photo 91.62 ±
  0.11 (10).
- mpnn-gat, the paper's settings: Cora 78.81 ± 0.66 (5).
- mpnn-gat, tuned: Cora 79.88 ± 0.53 (10), CiteSeer 71.26 ± 0.70 (10), PubMed 84.91 ± 0.42 (10), Amazon Photo 92.29 ±
  0.17 (10).
- mpnn-sage, the paper's settings: Cora 77.03 ± 0.19 (5), CiteSeer 73.60 ± 0.46 (5), PubMed 88.50 ± 0.11 (5).
- mpnn-sage, tuned: Cora 79.02 ± 0.44 (10), CiteSeer 74.75 ± 0.53 (10), PubMed 89.96 ± 0.20 (10), Amazon Photo 93.56 ±
  0.09 (10).
- the paper prints over 2 points more: mpnn-gcn Cora 11.7, CiteSeer 19.8; mpnn-gat Cora 9.6, CiteSeer 18.7; mpnn-sage
  Cora 8.5, CiteSeer 15.0. The paper does not publish how it predicts links. With the test edges left to pass messages a
  GCN goes beyond what is printed for it (Cora 96.74 ± 0.16 (5), printed 92.30, CiteSeer 96.65 ± 0.20 (5), printed
  95.30): a leak would explain such a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from bes.graph.graph import Graph
from bes.graph.sparse import Features, Operators
from bes.models.base import Conv, FilterConv, dropout
from bes.models.baselines.feature_dropout import drop_features
from bes.models.baselines.method import Supervised
from bes.models.baselines.options import Count, Dropped, Positive
from bes.models.baselines.problem import Network, Problem, Staged
from bes.models.convs import GATConv, GCNConv, Linear, SAGEConv


class LoopedSAGEConv(SAGEConv):
    """(D + I)^-1 (A + I) X W_l + X W_r + b: the mean of the neighbours and the node, beside the node itself."""

    def propagate(self, x: Tensor, ops: Operators) -> Tensor:
        return super().propagate(x, ops.with_loops)

    def gather(self, parts: Sequence[Tensor], ops: Operators) -> Tensor:
        return super().gather(parts, ops.with_loops)


class BareGATConv(GATConv):
    """GAT without a bias."""

    def build(self, generator: torch.Generator | None) -> None:
        super().build(generator)
        del self.bias
        self.register_buffer("bias", torch.zeros(self.out_channels), persistent=False)


KINDS: dict[str, type[Conv]] = {"gcn": GCNConv, "sage": LoopedSAGEConv, "gat": BareGATConv}


class Layer(nn.Module):
    """relu(norm(conv(H) + H V + c)) `[N, n_out]`; what is not asked for is left out."""

    def __init__(self, options: MPNN, n_in: int, generator: torch.Generator) -> None:
        super().__init__()
        width = options.hidden
        self.conv = KINDS[options.conv](n_in, width, generator=generator)
        self.residual = Linear(n_in, width, generator=generator) if options.residual else None
        kinds = {"none": nn.Identity, "layer": nn.LayerNorm, "batch": nn.BatchNorm1d}
        self.norm = kinds[options.norm](width)
        self._kept: WeakKeyDictionary[Operators, tuple[Tensor, Tensor]] = WeakKeyDictionary()

    def forward(self, h: Features, ops: Operators) -> Tensor:
        return self.bent(self.mixed(h, ops))

    def bent(self, out: Tensor) -> Tensor:
        """What follows the convolution."""
        normed: Tensor = self.norm(out)
        return normed.relu()

    def mixed(self, h: Features, ops: Operators, *, constant: bool = False) -> Tensor:
        """conv(H) + H V + c; `constant`: `h` is the same in each call, so that it is propagated once if it is dense."""
        out = self._constant(h, ops) if constant and isinstance(h, Tensor) else self.conv(h, ops)
        if self.residual is not None:
            out = out + self.residual(h, ops)
        return out

    def _constant(self, h: Tensor, ops: Operators) -> Tensor:
        if not isinstance(self.conv, FilterConv):
            out: Tensor = self.conv(h, ops)
            return out
        found = self._kept.get(ops)
        if found is None or found[0] is not h:
            found = self._kept[ops] = (h, self.conv.propagate(h, ops))
        return self.conv.transform(found[1])


class MPNNNetwork(Staged):
    """The layers of `MPNN` with its last map; `n_out = 0` leaves that out."""

    def __init__(self, options: MPNN, n_features: int, n_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.options = options
        width = options.hidden
        self.first = Linear(n_features, width, generator=generator) if options.pre_linear else None
        widths = [width if options.pre_linear else n_features] + [width] * (options.layers - 1)
        self.layers = nn.ModuleList(Layer(options, n_in, generator) for n_in in widths)
        self.last = Linear(width, n_out, generator=generator) if n_out else None

    def begin(self, graph: Graph) -> Tensor:
        """The first map, or the first convolution before its norm; nothing where the features are dropped out."""
        return graph.operators.degree.new_empty(0) if self.options.in_dropout else self._entered(graph.x, graph)

    def _entered(self, x: Features, graph: Graph) -> Tensor:
        if self.first is not None:
            entered: Tensor = self.first(x, graph.operators)
            return entered
        first = self.layers[0]
        assert isinstance(first, Layer)
        return first.mixed(x, graph.operators, constant=x is graph.x)

    def finish(self, begun: Tensor, graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        given, ops = self.options, graph.operators
        if given.in_dropout:
            dropped = drop_features(graph.x, given.in_dropout, rng) if self.training else graph.x
            begun = self._entered(dropped, graph)
        layers = list(self.layers)
        if self.first is None:
            layer = layers.pop(0)
            assert isinstance(layer, Layer)
            begun = layer.bent(begun)
        h = self._drop(begun, rng)
        outs = [h] if self.first is None else []
        for layer in layers:
            h = self._drop(layer(h, ops), rng)
            outs = [*outs, h] if given.jk else [h]
        total = torch.stack(outs).sum(0) if given.jk else outs[-1]
        return total if self.last is None else self.last(total, ops)

    def _drop(self, h: Tensor, rng: torch.Generator | None) -> Tensor:
        return dropout(h, self.options.dropout, rng) if self.training else h


@dataclass(frozen=True)
class MPNN(Supervised):
    """A tuned classic network.

    Args:
        conv: The convolution.
        hidden: Width of every layer.
        layers: Convolutions, before the last linear map.
        dropout: Share of the units that training drops after each layer.
        norm: What normalises each layer before its ReLU.
        residual: Whether a linear map of its input is added to each convolution.
        jk: Whether the last map reads the sum of all layers, not the last.
        pre_linear: Whether a linear map comes before the first convolution.
        in_dropout: Share of the features that training drops.
    """

    epochs: Count = 500
    lr: Positive = 0.001
    conv: Literal["gcn", "sage", "gat"] = "gcn"
    hidden: Count = 512
    layers: Count = 3
    dropout: Dropped = 0.5
    norm: Literal["none", "layer", "batch"] = "none"
    residual: bool = False
    jk: bool = False
    pre_linear: bool = False
    in_dropout: Dropped = 0.0

    @property
    def stream(self) -> str:
        return f"mpnn-{self.conv}"

    def network(self, problem: Problem, generator: torch.Generator) -> Network:
        n_out = 0 if problem.pairwise else problem.n_classes
        return MPNNNetwork(self, problem.graph.n_features, n_out, generator)
