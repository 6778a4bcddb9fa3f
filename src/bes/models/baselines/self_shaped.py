"""Shaping without any label: IGCL's embeddings, their clusters as classes, a linear map behind.

Z of IGCL; k-means finds as many clusters in Z as there are classes; Z^ = shaper(Z) by the cluster of every node; nodes
are read by a linear map, as for all self-supervised methods. Runs of those also record how well k-means on what is read
finds the classes, NMI and ARI over all labelled nodes: `igcl` with the same options is the control.

Settled: the number of classes is known, as in every evaluation of clusterings, and nothing else of the labels is.
tau and alpha are in units of the clusters' spread, as embeddings differ in size.

Expected: nothing is printed anywhere. The BES paper shapes by clusters for links only.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- igcl-shaped, without labels: Cora 87.65 ± 0.32 (20), CiteSeer 74.69 ± 0.37 (20), Amazon Photo 91.43 ± 0.14 (20).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bes.core import options as core
from bes.graph.graph import Graph
from bes.models.baselines.igcl import IGCL
from bes.models.baselines.problem import Answer, Embed, Problem
from bes.models.baselines.shaping_options import ShapingOptions
from bes.models.kmeans import kmeans
from bes.models.shaping import fit_quietly


@dataclass(frozen=True)
class SelfShaped(IGCL, ShapingOptions):
    """IGCL, then boundary shaping by the clusters of its embeddings."""

    unit: core.Unit = "spread"

    def fit(self, problem: Problem) -> Answer:
        embed, notes = self._shaped(problem)
        answer = problem.probe(embed, self.probing)
        answer.notes += notes
        return answer

    def embed(self, problem: Problem) -> Embed:
        return self._shaped(problem)[0]

    def _shaped(self, problem: Problem) -> tuple[Embed, list[str]]:
        """Shaped embeddings, and what there is to remark."""
        plain = super().embed(problem)
        z, shaper = plain(problem.graph), self.shaper(problem)
        notes = fit_quietly(shaper, z, kmeans(z, problem.n_classes, seed=problem.seed), None)

        def shaped(graph: Graph) -> Tensor:
            found: Tensor = shaper.transform(plain(graph))
            return found

        return shaped, notes
