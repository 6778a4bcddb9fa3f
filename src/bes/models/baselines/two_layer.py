"""The eight classic convolutions, and the network without a graph, as the paper stacks them.

logits = conv2(dropout(relu(conv1(X)))), F -> hidden -> C, trained by cross-entropy on the training nodes.

Settled: the paper stacks SGC and SSGC twice with a ReLU between, one hop each, which their authors do not; `sgc1l` and
`ssgc1l` are the models of their own papers (`linear.py`). KGNN sums messages without normalising them, so that it
suffers where degrees are large (the paper prints 28 % on WikiCS). On Amazon Photo, whose nodes have hundreds of
words, the first steps of Adam move each hidden unit by several times its size, and units that land below zero for every
node never come back: of GCN, as tuning chose it on split 0, too few are left on one or two others (the research log has
more), and KGNN is poor there on nearly all. What was tuned is kept all the same, as for every method.

Expected: Table 1 of the paper prints for Cora, CiteSeer and PubMed KGNN 87.49, 76.14, 89.35; GCN 87.74, 75.74, 87.36;
Cheb 87.31, 74.69, 89.80; GAT 87.18, 76.24, 86.81; SGC 88.29, 77.99, 87.71; SSGC 87.86, 78.10, 88.33; GraphSAGE 87.74,
76.79, 88.86; GATv2 86.32, 75.74, 87.11.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- kgnn, the paper's settings: Cora 86.59 ± 0.23 (10), CiteSeer 75.27 ± 0.48 (10), PubMed 89.03 ± 0.13 (10), Chameleon
  34.90 ± 1.80 (10), Chameleon (filtered) 38.27 ± 1.06 (10), Cornell 54.86 ± 1.93 (10), Texas 72.29 ± 2.09 (10).
- kgnn, tuned: Cora 86.59 ± 0.33 (10), CiteSeer 75.57 ± 0.51 (10), PubMed 89.51 ± 0.09 (10), Chameleon (filtered) 38.27
  ± 1.06 (10), Squirrel (filtered) 39.64 ± 0.53 (10), Cornell 71.08 ± 3.10 (10), Texas 78.57 ± 1.96 (10), Wisconsin
  75.60 ± 1.88 (10), Actor 31.61 ± 0.94 (10), Amazon Photo 56.59 ± 6.01 (10).
- gcn, the paper's settings: Cora 87.80 ± 0.29 (10), CiteSeer 76.52 ± 0.40 (10), PubMed 87.21 ± 0.11 (10), Chameleon
  64.68 ± 0.61 (10), Chameleon (filtered) 43.07 ± 1.05 (10), Cornell 46.49 ± 1.84 (10), Texas 57.71 ± 1.52 (10).
- gcn, tuned: Cora 88.04 ± 0.19 (10), CiteSeer 77.21 ± 0.40 (10), PubMed 87.53 ± 0.09 (10), Chameleon (filtered) 44.92 ±
  0.79 (10), Squirrel (filtered) 41.49 ± 0.46 (10), Cornell 52.70 ± 1.52 (10), Texas 65.43 ± 1.56 (10), Wisconsin 58.80
  ± 0.95 (10), Actor 30.61 ± 0.34 (10), Amazon Photo 84.21 ± 6.23 (10).
- gcn, 64 wide: Cora 88.70 ± 0.26 (20), CiteSeer 77.09 ± 0.33 (20), PubMed 88.32 ± 0.16 (10), Chameleon (filtered) 40.61
  ± 0.73 (20), Squirrel (filtered) 37.89 ± 0.56 (20), Cornell 55.95 ± 1.02 (20), Texas 54.14 ± 1.18 (20), Wisconsin
  53.00 ± 0.92 (20), Actor 31.22 ± 0.20 (20), Amazon Photo 93.40 ± 0.13 (20).
- cheb, the paper's settings: Cora 87.07 ± 0.36 (10), CiteSeer 74.79 ± 0.47 (10), PubMed 89.31 ± 0.08 (10), Chameleon
  46.48 ± 0.66 (10), Chameleon (filtered) 36.82 ± 0.80 (10), Cornell 60.27 ± 2.28 (10), Texas 75.71 ± 2.22 (10).
- cheb, tuned: Cora 88.06 ± 0.23 (10), CiteSeer 76.88 ± 0.39 (10), PubMed 89.31 ± 0.08 (10), Chameleon (filtered) 36.82
  ± 0.80 (10), Squirrel (filtered) 32.86 ± 0.73 (10), Cornell 69.73 ± 2.24 (10), Texas 75.71 ± 2.22 (10), Wisconsin
  81.00 ± 1.47 (10), Actor 35.67 ± 0.54 (10), Amazon Photo 94.30 ± 0.16 (10).
- gat, the paper's settings: Cora 87.04 ± 0.24 (10), CiteSeer 75.69 ± 0.55 (10), PubMed 86.56 ± 0.09 (10), Chameleon
  62.81 ± 0.94 (10), Chameleon (filtered) 42.35 ± 1.27 (10), Cornell 43.24 ± 1.97 (10), Texas 59.14 ± 1.28 (10).
- gat, tuned: Cora 87.04 ± 0.24 (10), CiteSeer 75.95 ± 0.38 (10), PubMed 87.38 ± 0.05 (10), Chameleon (filtered) 41.56 ±
  1.18 (10), Squirrel (filtered) 33.45 ± 0.58 (10), Cornell 44.05 ± 1.51 (10), Texas 59.14 ± 1.28 (10), Wisconsin 50.20
  ± 1.80 (10), Actor 28.82 ± 0.30 (10), Amazon Photo 94.10 ± 0.20 (10).
- sgc, the paper's settings: Cora 87.96 ± 0.24 (10), CiteSeer 76.81 ± 0.50 (10), PubMed 87.11 ± 0.12 (10), Chameleon
  64.02 ± 0.31 (10), Chameleon (filtered) 43.41 ± 0.66 (10), Cornell 47.57 ± 2.42 (10), Texas 56.00 ± 1.82 (10).
- sgc, tuned: Cora 88.09 ± 0.37 (10), CiteSeer 76.61 ± 0.36 (10), PubMed 88.51 ± 0.11 (10), Chameleon (filtered) 42.68 ±
  1.02 (10), Squirrel (filtered) 34.62 ± 0.64 (10), Cornell 47.03 ± 2.39 (10), Texas 57.14 ± 1.81 (10), Wisconsin 55.20
  ± 1.27 (10), Actor 31.32 ± 0.42 (10), Amazon Photo 94.06 ± 0.17 (10).
- ssgc, the paper's settings: Cora 87.83 ± 0.33 (10), CiteSeer 76.78 ± 0.38 (10), PubMed 87.54 ± 0.11 (10), Chameleon
  61.67 ± 0.66 (10), Chameleon (filtered) 42.74 ± 1.25 (10), Cornell 44.05 ± 2.39 (10), Texas 54.29 ± 1.48 (10).
- ssgc, tuned: Cora 87.85 ± 0.31 (10), CiteSeer 76.91 ± 0.43 (10), PubMed 89.01 ± 0.12 (10), Chameleon (filtered) 42.18
  ± 0.98 (10), Squirrel (filtered) 35.97 ± 0.80 (10), Cornell 44.05 ± 2.39 (10), Texas 57.71 ± 0.38 (10), Wisconsin
  55.00 ± 0.80 (10), Actor 31.56 ± 0.30 (10), Amazon Photo 94.19 ± 0.17 (10).
- sage, the paper's settings: Cora 87.56 ± 0.42 (10), CiteSeer 76.13 ± 0.47 (10), PubMed 88.43 ± 0.10 (10), Chameleon
  63.65 ± 0.77 (10), Chameleon (filtered) 42.12 ± 0.63 (10), Cornell 68.65 ± 1.08 (10), Texas 78.57 ± 1.66 (10).
- sage, tuned: Cora 87.91 ± 0.37 (10), CiteSeer 76.40 ± 0.43 (10), PubMed 89.31 ± 0.13 (10), Chameleon (filtered) 42.68
  ± 0.39 (10), Squirrel (filtered) 36.13 ± 0.81 (10), Cornell 68.65 ± 1.08 (10), Texas 78.57 ± 1.66 (10), Wisconsin
  79.40 ± 1.30 (10), Actor 35.59 ± 0.36 (10), Amazon Photo 94.51 ± 0.19 (10).
- gatv2, the paper's settings: Cora 86.83 ± 0.42 (10), CiteSeer 75.32 ± 0.48 (10), PubMed 86.59 ± 0.08 (10), Chameleon
  62.48 ± 0.87 (10), Chameleon (filtered) 41.06 ± 1.01 (10), Cornell 48.11 ± 2.12 (10), Texas 56.00 ± 1.36 (10).
- gatv2, tuned: Cora 86.69 ± 0.35 (10), CiteSeer 75.20 ± 0.34 (10), PubMed 87.15 ± 0.16 (10), Chameleon (filtered) 41.62
  ± 1.05 (10), Squirrel (filtered) 33.60 ± 0.48 (10), Cornell 46.22 ± 2.53 (10), Texas 57.43 ± 3.20 (10), Wisconsin
  52.40 ± 1.33 (10), Actor 29.47 ± 0.34 (10), Amazon Photo 94.30 ± 0.21 (10).
- mlp, tuned: Cora 74.76 ± 0.48 (10), CiteSeer 73.21 ± 0.30 (10), PubMed 88.50 ± 0.09 (10), Chameleon (filtered) 36.59 ±
  1.05 (10), Squirrel (filtered) 36.06 ± 0.57 (10), Cornell 77.84 ± 2.12 (10), Texas 85.14 ± 1.26 (10), Wisconsin 85.60
  ± 1.15 (10), Actor 36.23 ± 0.43 (10), Amazon Photo 92.45 ± 0.25 (10).
- the paper prints over 2 points more: kgnn Chameleon 15.6, Cornell 18.1; cheb Cornell 11.4, Texas 2.7; gat Cornell 7.3,
  Texas 5.7; sgc Texas 2.3; sage Cornell 15.1, Texas 7.9; gatv2 Texas 2.0. Of the paper's figures 14 of 17 for Cornell
  and 12 of 17 for Texas are whole shares of 37 nodes, a test part of usual splits: single runs, by their look, and no
  means.

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- kgnn, the paper's settings: Cora 71.90 ± 0.80 (5), CiteSeer 67.96 ± 1.02 (5), PubMed 74.49 ± 3.06 (5).
- kgnn, tuned: Cora 73.06 ± 0.65 (10), CiteSeer 68.11 ± 0.79 (10), PubMed 72.65 ± 2.08 (10), Amazon Photo 69.38 ± 0.39
  (10).
- gcn, the paper's settings: Cora 82.87 ± 0.51 (5), CiteSeer 81.91 ± 0.26 (5), PubMed 92.36 ± 0.10 (5).
- gcn, tuned: Cora 82.03 ± 0.35 (10), CiteSeer 81.60 ± 0.30 (10), PubMed 92.25 ± 0.07 (10), Amazon Photo 92.78 ± 0.08
  (10).
- cheb, the paper's settings: Cora 75.85 ± 0.21 (5), CiteSeer 71.91 ± 0.18 (5), PubMed 79.20 ± 0.63 (5).
- cheb, tuned: Cora 76.16 ± 0.17 (10), CiteSeer 72.06 ± 0.14 (10), PubMed 79.48 ± 0.22 (10), Amazon Photo 91.51 ± 0.19
  (10).
- gat, the paper's settings: Cora 80.25 ± 0.29 (5), CiteSeer 81.33 ± 0.25 (5), PubMed 88.06 ± 0.11 (5).
- gat, tuned: Cora 80.80 ± 0.30 (10), CiteSeer 81.37 ± 0.25 (10), PubMed 87.81 ± 0.18 (10), Amazon Photo 94.60 ± 0.05
  (10).
- sgc, the paper's settings: Cora 79.62 ± 0.21 (5), CiteSeer 79.88 ± 0.27 (5), PubMed 91.90 ± 0.10 (5).
- sgc, tuned: Cora 81.28 ± 0.32 (10), CiteSeer 79.20 ± 1.26 (10), PubMed 92.04 ± 0.11 (10), Amazon Photo 93.02 ± 0.10
  (10).
- ssgc, the paper's settings: Cora 80.42 ± 0.66 (5), CiteSeer 80.67 ± 0.23 (5), PubMed 92.49 ± 0.06 (5).
- ssgc, tuned: Cora 81.08 ± 0.30 (10), CiteSeer 79.69 ± 0.56 (10), PubMed 92.32 ± 0.05 (10), Amazon Photo 92.72 ± 0.16
  (10).
- sage, the paper's settings: Cora 81.41 ± 0.59 (5), CiteSeer 78.91 ± 0.33 (5), PubMed 84.38 ± 0.79 (5).
- sage, tuned: Cora 81.85 ± 0.35 (10), CiteSeer 78.25 ± 0.59 (10), PubMed 86.94 ± 0.14 (10), Amazon Photo 93.22 ± 0.11
  (10).
- gatv2, the paper's settings: Cora 81.05 ± 0.49 (5), CiteSeer 81.64 ± 0.46 (5), PubMed 87.28 ± 0.20 (5).
- gatv2, tuned: Cora 81.56 ± 0.28 (10), CiteSeer 80.46 ± 0.30 (10), PubMed 88.24 ± 0.12 (10), Amazon Photo 93.72 ± 0.07
  (10).
- mlp, tuned: Cora 84.57 ± 0.39 (10), CiteSeer 82.65 ± 0.76 (10), PubMed 92.13 ± 0.19 (6), Amazon Photo 91.30 ± 0.10
  (10).
- the paper prints over 2 points more: kgnn Cora 12.1, CiteSeer 19.5, PubMed 11.3; gcn Cora 9.4, CiteSeer 13.4; cheb
  Cora 14.3, CiteSeer 17.1, PubMed 7.9; gat Cora 9.6, CiteSeer 11.0; sgc Cora 10.4, CiteSeer 14.4; ssgc Cora 10.4,
  CiteSeer 13.6; sage Cora 8.8, CiteSeer 12.7; gatv2 Cora 7.8, CiteSeer 11.5. The paper does not publish how it predicts
  links. With the test edges left to pass messages a GCN goes beyond what is printed for it (Cora 96.74 ± 0.16 (5),
  printed 92.30, CiteSeer 96.65 ± 0.20 (5), printed 95.30, PubMed 98.04 ± 0.02 (5), printed 93.70): a leak would explain
  such a gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.models.baselines.method import Supervised
from bes.models.baselines.options import Count, Dropped
from bes.models.baselines.problem import Network, Problem, Staged
from bes.models.encoders import Encoder


class EncoderNetwork(Staged):
    """`bes.models.encoders.Encoder` on a graph."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def begin(self, graph: Graph) -> Tensor:
        return self.encoder.embed(graph.x, graph.operators)

    def finish(self, begun: Tensor, graph: Graph, rng: torch.Generator | None = None) -> Tensor:
        return self.encoder.read(begun, graph.operators, rng)


@dataclass(frozen=True)
class TwoLayer(Supervised):
    """Two convolutions of one kind.

    Args:
        conv: A name of `bes.models.convs.CONVS`.
        hidden: Width of the hidden layer.
        dropout: Share of the hidden units that training drops.
    """

    conv: str = "gcn"
    hidden: Count = 16
    dropout: Dropped = 0.5

    @property
    def stream(self) -> str:
        return self.conv

    def network(self, problem: Problem, generator: torch.Generator) -> Network:
        return EncoderNetwork(
            Encoder(
                self.conv,
                problem.graph.n_features,
                self.hidden,
                problem.n_out(self.hidden),
                dropout=self.dropout,
                generator=generator,
            )
        )
