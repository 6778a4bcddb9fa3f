"""NodeImport (KDD 2025): train on labelled, synthetic and pseudo-labelled nodes whose gradient agrees with a meta-set.

The meta-set holds a few medoids of each class's training nodes, by their propagated features (`nodeimport_context.py`,
`nodeimport_medoids.py`); they leave the training nodes. From the second epoch on, new nodes even the classes out
(`nodeimport_synthesis.py`), every node's importance is taken from the network's own S = softmax(logits),

    importance(i) = sum_{j in meta} <P_i, P_j> <S_i - Y_i, S_j - Y_j>,

with the true Y of training nodes, the mixed Y of new ones and the one-hot argmax S of all others, and the loss is

    CE(training, importance > 0) + synthetic CE(new, > 0) + unlabelled cos(pi t / 2 T) CE(others, > 0)

with means over what is kept; the last term is gone after T epochs. The first epoch is plain cross-entropy.

Settled: the authors' GCN divides by the degree of the receiving node alone, that is, it takes the mean over a node and
its neighbours, and so does this one. A^ of the propagation counts the edges that enter a node, so that new nodes do not
change it for others. Medoids use the same kind of propagation and are looked for among 2,000 random training nodes of a
class at most. The importances' S have a dropout of their own. A class gives at most half of its training nodes to the
meta-set, and terms without nodes are 0. The authors halve the learning rate where the validation loss stalls and select
by the mean of accuracy and macro-F1; here the protocol of all methods selects and the rate is constant. Their splits
are made long-tailed first; ours are left as they are. Data sets without settings of the authors get those of PubMed
with 5 medoids.

Links: the method is not defined for them. The network learns the classes of the training nodes to the last epoch,
without selection, and pairs are read from its frozen hidden layer. As every method it then has those classes among its
features too.

Expected: the authors' figures are for long-tailed splits and do not compare. The BES paper's Table 1 prints for cora,
citeseer and pubmed 82.14, 67.73 and 84.22 (GCN), 81.18, 66.05 and 84.17 (GAT), 79.96, 68.36 and 86.84 (SAGE), below a
plain GCN; it is not known whether its splits were long-tailed.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- nodeimport-gcn, the paper's settings: Cora 87.13 ± 0.19 (10), CiteSeer 74.91 ± 0.30 (10).
- nodeimport-gcn, tuned: Cora 87.81 ± 0.45 (10), CiteSeer 75.63 ± 0.43 (10), PubMed 85.18 ± 0.16 (10), Chameleon
  (filtered) 41.12 ± 0.96 (10), Squirrel (filtered) 33.81 ± 0.14 (10), Cornell 45.14 ± 0.58 (10), Texas 52.86 ± 1.72
  (10), Wisconsin 45.20 ± 1.47 (10), Actor 26.79 ± 0.51 (10), Amazon Photo 91.74 ± 0.31 (10).
- nodeimport-gat, the paper's settings: Cora 85.83 ± 0.46 (10), CiteSeer 75.35 ± 0.53 (10).
- nodeimport-gat, tuned: Cora 86.31 ± 0.21 (10), CiteSeer 75.78 ± 0.36 (10), PubMed 86.13 ± 0.33 (10), Chameleon
  (filtered) 38.99 ± 1.04 (10), Squirrel (filtered) 34.10 ± 0.09 (10), Cornell 45.68 ± 1.48 (10), Texas 55.71 ± 1.15
  (10), Wisconsin 47.20 ± 2.67 (10), Actor 26.12 ± 0.27 (10), Amazon Photo 94.05 ± 0.46 (3).
- nodeimport-sage, the paper's settings: Cora 86.61 ± 0.35 (10), CiteSeer 75.05 ± 0.42 (10).
- nodeimport-sage, tuned: Cora 87.85 ± 0.28 (10), CiteSeer 76.79 ± 0.34 (10), PubMed 88.12 ± 0.18 (4), Chameleon
  (filtered) 40.45 ± 0.75 (10), Squirrel (filtered) 32.86 ± 0.46 (10), Cornell 70.81 ± 1.79 (10), Texas 73.43 ± 1.91
  (10), Wisconsin 80.00 ± 1.23 (10), Actor 35.44 ± 0.52 (10), Amazon Photo 94.90 (1).

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- nodeimport-gcn, the paper's settings: Cora 81.55 ± 0.39 (5).
- nodeimport-gcn, tuned: Cora 81.93 ± 0.37 (10), CiteSeer 81.54 ± 0.42 (10), PubMed 80.61 ± 0.16 (10), Amazon Photo
  89.68 ± 0.09 (10).
- nodeimport-gat, the paper's settings: Cora 79.45 ± 1.04 (5), CiteSeer 76.99 ± 0.40 (5), PubMed 81.19 ± 0.40 (5).
- nodeimport-gat, tuned: Cora 82.57 ± 0.27 (10), CiteSeer 79.46 ± 0.53 (10), PubMed 81.49 ± 0.14 (10), Amazon Photo
  88.45 ± 0.11 (10).
- nodeimport-sage, the paper's settings: Cora 77.54 ± 0.78 (5).
- nodeimport-sage, tuned: Cora 78.98 ± 0.33 (10), CiteSeer 76.99 ± 0.50 (10), PubMed 77.29 ± 0.18 (10), Amazon Photo
  87.52 ± 0.21 (10).
- the paper prints over 2 points more: nodeimport-gcn Cora 5.3, CiteSeer 3.9, PubMed 4.5; nodeimport-gat Cora 4.4,
  CiteSeer 3.5, PubMed 3.2. The paper does not publish how it predicts links. With the test edges left to pass messages
  a GCN goes beyond what is printed for it (Cora 96.74 ± 0.16 (5), printed 92.30, CiteSeer 96.65 ± 0.20 (5), printed
  95.30, PubMed 98.04 ± 0.02 (5), printed 93.70): a leak would explain such a gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.models.baselines.method import Method
from bes.models.baselines.nodeimport_context import Context, Importance, Kind
from bes.models.baselines.nodeimport_medoids import Metric, class_medoids
from bes.models.baselines.nodeimport_networks import Backbone, ImportNetwork
from bes.models.baselines.nodeimport_synthesis import Added, Synthesis
from bes.models.baselines.options import Count, Dropped, NonNegative, Share
from bes.models.baselines.problem import Answer, Problem, Streams
from bes.optim import Adam


@dataclass(frozen=True)
class NodeImport(Method):
    """A two-layer network that learns from the nodes that matter.

    Args:
        heads: Of attention in the first layer of `gat`, which share its `hidden` units.
        medoids: Nodes of each class in the meta-set.
        meta_drop: Share of them that an epoch leaves out.
        context, context_hops, context_alpha: The propagation that nodes are judged by.
        medoid_hops, medoid_alpha, medoid_metric: The propagation and the distance that medoids are found by.
        synthetic: Weight of the new nodes.
        unlabelled, unlabelled_epochs: Weight of the nodes without a label, and when it has fallen to 0.
    """

    backbone: Backbone = "gcn"
    hidden: Count = 256
    heads: Count = 4
    dropout: Dropped = 0.5
    medoids: Count = 5
    meta_drop: Dropped = 0.5
    context: Kind = "appnp"
    context_hops: Count = 8
    context_alpha: Share = 0.1
    medoid_hops: Count = 4
    medoid_alpha: Share = 0.1
    medoid_metric: Metric = "manhattan"
    synthetic: NonNegative = 0.5
    unlabelled: NonNegative = 0.5
    unlabelled_epochs: Count = 1000

    @property
    def learns_classes(self) -> bool:
        return True

    def fit(self, problem: Problem) -> Answer:
        name = f"nodeimport-{self.backbone}"
        problem.need_labels(name)
        if self.backbone == "gat" and self.hidden % self.heads:
            raise InputError(
                f"The option {name}.hidden={self.hidden} is no multiple of its {self.heads} heads: change one of them."
            )
        streams = problem.streams(name)
        network = ImportNetwork(
            self.backbone,
            problem.graph.n_features,
            self.hidden,
            problem.n_classes,
            heads=self.heads,
            dropout=self.dropout,
            generator=streams.init,
        ).to(problem.device)
        loss = ImportLoss(self, problem, network, streams)
        if not problem.pairwise:
            return problem.fit(network, self, streams, loss=loss)
        self._train(network, loss, problem.graph, streams)
        answer = problem.probe(lambda graph: _embedded(network, graph), self)
        answer.notes.append(
            "The embeddings are the hidden layer of a network that learned the classes of the training nodes: the "
            "method has none for links."
        )
        return answer

    def _train(self, network: ImportNetwork, loss: ImportLoss, graph: Graph, streams: Streams) -> None:
        """All epochs, without selection."""
        optimizer = Adam(network.groups(self.weight_decay), lr=self.lr, fused=True)
        network.train()
        for _ in range(self.epochs):
            optimizer.zero_grad()
            loss(network(graph, streams.dropout)).backward()
            optimizer.step()
        network.eval()


def _embedded(network: ImportNetwork, graph: Graph) -> Tensor:
    with torch.no_grad():
        return network.embed(graph)


class ImportLoss:
    """The loss of an epoch, from the network's outputs; after it the network has the new nodes of the next epoch."""

    def __init__(self, options: NodeImport, problem: Problem, network: ImportNetwork, streams: Streams) -> None:
        graph, train, labels = problem.graph, problem.train, problem.labels
        self.options, self.graph, self.network, self.streams = options, graph, network, streams
        self.truth = problem.one_hot
        self.unlabelled = problem.unlabelled
        self.synthesis = Synthesis(graph, train, labels, problem.n_classes)
        points = Context(options.context, options.medoid_hops, options.medoid_alpha).of_features(graph)[train]
        at = class_medoids(
            points, labels, problem.n_classes, options.medoids, options.medoid_metric, problem.generator("medoids")
        )
        meta, self.meta_labels = train[at], labels[at]
        self.importance = Importance(graph, Context(options.context, options.context_hops, options.context_alpha), meta)
        kept = torch.ones_like(train, dtype=torch.bool)
        kept[at] = False
        self.train = train[kept]
        self.epoch = 0

    def __call__(self, logits: Tensor) -> Tensor:
        self.epoch += 1
        added = self.network.added
        with torch.no_grad():
            if added is None:
                target, weight = self.truth, self._mean(self.train, len(logits))
            else:
                target, weight = self._weighed(added)
            if self.meta_labels.numel():  # nothing to judge by is left where no class has two training nodes
                self.network.added = self.synthesis.draw(self.streams.draw)
        return -(weight[:, None] * target * F.log_softmax(logits, 1)).sum()

    def _weighed(self, added: Added) -> tuple[Tensor, Tensor]:
        """Targets `[N + S, C]`, and what the cross-entropy of each node counts `[N + S]`."""
        guess = self.network.again(self.graph, self.streams.dropout).softmax(1)
        target = self._targets(guess, added)
        important = self.importance(guess - target, self._chosen(), added) > 0
        n, total = self.graph.n_nodes, len(target)
        new = torch.arange(n, total, device=target.device)
        weight = self._mean(self.train[important[self.train]], total)
        weight += self.options.synthetic * self._mean(new[important[n:]], total)
        weight += self._fading() * self._mean(self.unlabelled[important[self.unlabelled]], total)
        return target, weight

    def _targets(self, guess: Tensor, added: Added) -> Tensor:
        target = torch.cat([self.truth, added.mix(self.truth)])
        others = guess[self.unlabelled].argmax(1)
        target[self.unlabelled, others] = 1.0
        return target

    def _chosen(self) -> Tensor:
        """Positions of the medoids that this epoch uses: a random part of each class's, one at the least."""
        labels, size = self.meta_labels, torch.bincount(self.meta_labels)
        take = (size * (1 - self.options.meta_drop) + 1e-6).long().clamp_min(1)
        order = torch.argsort(
            labels + 0.5 * torch.rand(labels.numel(), generator=self.streams.draw, device=labels.device)
        )
        place = torch.arange(labels.numel(), device=labels.device) - (size.cumsum(0) - size)[labels]
        return order[place < take[labels]]

    def _fading(self) -> float:
        """Weight of the nodes without a label."""
        part = self.epoch / self.options.unlabelled_epochs
        return self.options.unlabelled * math.cos(math.pi / 2 * part) if part < 1 else 0.0

    @staticmethod
    def _mean(nodes: Tensor, total: int) -> Tensor:
        """Weights `[total]` of the mean over some nodes; all 0 where there are none."""
        weight = torch.zeros(total, device=nodes.device)
        weight[nodes] = 1 / max(1, nodes.numel())
        return weight
