"""The paper's experiments as declarative grids, by the names that `bes bench` takes."""

from __future__ import annotations

from collections.abc import Callable

from bes.bench.model import Suite
from bes.bench.suites import comparisons, pictures, variants

SUITES: dict[str, Callable[[], Suite]] = {
    "table1": comparisons.table1,
    "f1-auc-nc": comparisons.f1_auc_nc,
    "f1-auc-lp": comparisons.f1_auc_lp,
    "challenging-nc": comparisons.challenging_nc,
    "challenging-lp": comparisons.challenging_lp,
    "topology-vs-embedding": variants.topology_vs_embedding,
    "pairwise-vs-centers": variants.pairwise_vs_centers,
    "ablation-nc": variants.ablation_nc,
    "ablation-lp": variants.ablation_lp,
    "boundary-nodes": variants.boundary_nodes,
    "sensitivity": variants.sensitivity,
    "shaping-process": pictures.shaping_process,
    "encoders": pictures.encoders,
    "final-embeddings": pictures.final_embeddings,
    "convergence": pictures.convergence,
    "binary-vs-multiclass": pictures.binary_vs_multiclass,
}
