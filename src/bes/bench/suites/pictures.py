"""The paper's figures: runs that are kept whole, and what is drawn from them."""

from __future__ import annotations

from bes.bench.model import Picture, Suite
from bes.bench.suites.settings import DATASETS, link_config, node_config
from bes.bench.suites.variants import ONE_LAYER
from bes.config import RunConfig

SHOWN = ("Cora", "CiteSeer", "WikiCS")
CONVERGING = ("Cora", "CiteSeer", "PubMed", "WikiCS")


def _nodes(dataset: str) -> Picture:
    return Picture(f"{dataset} NC L1+2", node_config(DATASETS[dataset]))


def shaping_process() -> Suite:
    title = "Figures 3 (1), 6 and 7: embeddings before shaping and after each layer"
    return Suite("shaping-process", title, pictures=tuple(map(_nodes, SHOWN)), figure="shaping-process")


def encoders() -> Suite:
    title = "Figure 4: embeddings of different encoders and their combination"
    pair = {"encoders": {"names": ("gcn", "gatv2")}}
    pictures = [Picture(f"{dataset} GCN and GATv2", node_config(DATASETS[dataset], pair)) for dataset in SHOWN]
    return Suite("encoders", title, pictures=tuple(pictures), figure="encoders")


def final_embeddings() -> Suite:
    title = "Figure 3 (3): embeddings of the decoder, without and with shaping"
    return Suite("final-embeddings", title, pictures=tuple(map(_nodes, SHOWN)), figure="final-embeddings")


def convergence() -> Suite:
    title = "Figures 8 and 9: convergence by the second"
    pictures = []
    for dataset in CONVERGING:
        name = DATASETS[dataset]
        pictures += [
            Picture(f"{dataset} NC L1", node_config(name, {"shaper": ONE_LAYER})),
            _nodes(dataset),
            Picture(f"{dataset} LP L1", link_config(name, {"shaper": ONE_LAYER})),
            Picture(f"{dataset} LP L1+2", link_config(name)),
        ]
    return Suite("convergence", title, pictures=tuple(pictures), figure="convergence")


def binary_vs_multiclass() -> Suite:
    title = "Figure 5: the slab and the hyperplane, for two classes and for all"
    pictures = []
    for dataset in ("Cora", "CiteSeer"):
        many = node_config(DATASETS[dataset])
        two = many.model_copy(update={"dataset": f"{many.dataset}#binary"})
        pictures += [Picture(f"{dataset} binary", RunConfig.model_validate(two.model_dump())), _nodes(dataset)]
    return Suite("binary-vs-multiclass", title, pictures=tuple(pictures), figure="binary-vs-multiclass")
