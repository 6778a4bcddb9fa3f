"""BES itself as a method of the arena, and the same without its shaping, so that both are tuned like all others.

Z = [relu(conv1_1(X)), relu(conv1_2(X))] of two encoders; Z^ = shaper(Z) by the classes of the training nodes; a decoder
reads Z^ (`shaped`) or Z (`unshaped`). Where pairs are predicted, the encoders are those for pairs, shaping is by the
classes of the training nodes too, and the run's decoder reads the pairs.

Settled: a run of `bes` and `control` is paired, with one setting for both. Here each is tuned for itself, as rivals.

Expected: the BES paper's table 1 prints 89.46 on Cora, 78.40 on CiteSeer and 91.03 on PubMed. Its code keeps the epoch
that is best on test. Chosen on validation this stays about two points below on Cora and CiteSeer, chosen on test about
one: the page of table 1 has both. So selection explains half of it; the rest is not explained.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- shaped, tuned: Cora 87.26 ± 0.35 (10), CiteSeer 76.05 ± 0.52 (10), PubMed 89.69 ± 0.09 (10), Chameleon (filtered)
  41.45 ± 1.00 (10), Squirrel (filtered) 38.40 ± 0.52 (10), Cornell 70.00 ± 2.19 (10), Texas 80.29 ± 2.06 (10),
  Wisconsin 81.20 ± 1.00 (10), Actor 35.24 ± 0.51 (10), Amazon Photo 94.94 ± 0.20 (10).
- unshaped, tuned: Cora 87.50 ± 0.35 (10), CiteSeer 76.58 ± 0.44 (10), PubMed 89.66 ± 0.12 (10), Chameleon (filtered)
  42.35 ± 1.18 (10), Squirrel (filtered) 36.10 ± 0.84 (10), Cornell 70.54 ± 2.11 (10), Texas 80.00 ± 2.04 (10),
  Wisconsin 81.40 ± 1.03 (10), Actor 34.85 ± 0.49 (10), Amazon Photo 94.87 ± 0.21 (10).
- the paper prints over 2 points more: shaped Cora 2.2, CiteSeer 2.3, Cornell 19.2, Texas 8.9. Of the paper's figures 14
  of 17 for Cornell and 12 of 17 for Texas are whole shares of 37 nodes, a test part of usual splits: single runs, by
  their look, and no means.

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- shaped, tuned: Cora 83.31 ± 0.27 (10), CiteSeer 83.12 ± 0.28 (10), PubMed 92.02 ± 0.19 (10), Amazon Photo 93.47 ± 0.09
  (10).
- unshaped, tuned: Cora 83.82 ± 0.20 (10), CiteSeer 83.03 ± 0.31 (10), PubMed 92.08 ± 0.18 (10), Amazon Photo 93.48 ±
  0.09 (10).
- the paper prints over 2 points more: shaped Cora 11.1, CiteSeer 13.1, PubMed 5.9. The paper does not publish how it
  predicts links. With the test edges left to pass messages a GCN goes beyond what is printed for it (Cora 96.74 ± 0.16
  (5), printed 92.30, CiteSeer 96.65 ± 0.20 (5), printed 95.30, PubMed 98.04 ± 0.02 (5), printed 93.70): a leak would
  explain such a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.models.baselines.method import Method
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.options import Count, Dropped
from bes.models.baselines.pair_problem import PairProblem
from bes.models.baselines.problem import Answer, Embed, Problem
from bes.models.baselines.shaping_options import ShapingOptions
from bes.models.decoders import Decoder
from bes.models.encoders import EncoderEnsemble
from bes.models.pair_encoders import PairEncoders
from bes.models.shaping import fit_quietly


@dataclass(frozen=True)
class Shaped(Method, ShapingOptions):
    """Frozen encoders, boundary shaping and a decoder: BES, tuned like its rivals.

    Args:
        shape: Whether embeddings are shaped.
        encoders: Names of `bes.models.convs.CONVS`.
        channels: Width of each encoder's embedding.
        dropout: Of encoders and decoder.
        decoder: `cheb`, `sage` or `mlp`, for nodes.
        hidden: Width of that decoder's hidden layer.
    """

    shape: bool = True
    encoders: tuple[str, ...] = ("gcn", "cheb")
    channels: Count = 16
    dropout: Dropped = 0.5
    decoder: str = "cheb"
    hidden: Count = 64

    @property
    def learns_classes(self) -> bool:
        return self.shape

    def fit(self, problem: Problem) -> Answer:
        if isinstance(problem, PairProblem):
            return self._fit_pairs(problem)
        assert isinstance(problem, NodeProblem)
        graph, split, selection = problem.graph, problem.split, problem.selection
        phi = EncoderEnsemble(self.encoders, self.channels, **self._trained(problem), dropout=self.dropout)
        z = phi.fit(graph, split, problem.steps).transform(graph)
        embed, notes = self._shaped(problem, z, lambda _: z)
        z_hat = embed(graph)
        trained = self._trained(problem)
        decoder = Decoder(self.decoder, hidden=self.hidden, **trained, dropout=self.dropout, selection=selection)
        decoder.fit(graph, z_hat, split, problem.steps)
        prob = decoder.predict_proba(graph, z_hat)
        return Answer(decoder.log_.best_score, prob, log=decoder.log_, notes=notes)

    def _fit_pairs(self, problem: PairProblem) -> Answer:
        made = problem.decoder()
        phi = PairEncoders(
            self.encoders,
            self.channels,
            **self._trained(problem),
            dropout=self.dropout,
            decoder=made.kind,
            hidden=made.hidden,
            batch=made.batch,
        ).fit(problem.split, problem.steps)
        embed, notes = self._shaped(problem, phi.transform(problem.graph), phi.transform)
        answer = problem.probe(embed, self)
        answer.notes += notes
        return answer

    def _trained(self, problem: Problem) -> dict[str, Any]:
        """How encoders and decoder are trained."""
        return {
            "epochs": self.epochs,
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "patience": self.patience,
            "random_state": problem.seed,
            "device": problem.device,
        }

    def _shaped(self, problem: Problem, z: Tensor, embed: Embed) -> tuple[Embed, list[str]]:
        """`embed` with shaping after it, by the classes of the training nodes."""
        if not self.shape:
            return embed, []
        problem.need_labels("shaped")
        labels = torch.full((problem.graph.n_nodes,), -1, device=z.device)
        labels[problem.train] = problem.labels
        shaper = self.shaper(problem, len(self.encoders))
        notes = fit_quietly(shaper, z, labels, problem.graph.edge_index)

        def shaped(graph: Graph) -> Tensor:
            z: Tensor = shaper.transform(embed(graph), graph.edge_index)
            return z

        return shaped, notes
