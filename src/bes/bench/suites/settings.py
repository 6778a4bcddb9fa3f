"""What the suites share: data sets and methods by their names in the paper, protocols, configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bes.bench.model import Protocol
from bes.config import RunConfig
from bes.graph.datasets import CATALOG
from bes.pipeline.methods import resolved

#: Data sets by what the paper calls them.
DATASETS = {
    "Cora": "cora",
    "CiteSeer": "citeseer",
    "PubMed": "pubmed",
    "WikiCS": "wikics",
    "Chameleon": "chameleon",
    "Chameleon (filtered)": "chameleon_filtered",
    "Cornell": "cornell",
    "Texas": "texas",
    "Roman-empire": "roman_empire",
    "Squirrel (filtered)": "squirrel_filtered",
    "Wisconsin": "wisconsin",
    "Actor": "actor",
    "Amazon Photo": "amazon_photo",
    "Amazon Computers": "amazon_computers",
    "Coauthor CS": "coauthor_cs",
    "Twitch ES": "twitch_es",
    "Minesweeper": "minesweeper",
    "ogbn-arxiv": "ogbn-arxiv",
    "ogbl-collab": "ogbl-collab",
}

#: The row of our own control in tables where the paper has none.
CONTROL = "BES without shaping"

#: Arms by what the paper calls the method.
METHODS = {
    "KGNN": "kgnn",
    "GCN": "gcn",
    "Cheb": "cheb",
    "GAT": "gat",
    "SGC": "sgc",
    "SSGC": "ssgc",
    "GraphSAGE": "sage",
    "GATv2": "gatv2",
    "H2GCN": "h2gcn",
    "SGNN": "sgnn",
    "NodeImport-GCN": "nodeimport-gcn",
    "NodeImport-GAT": "nodeimport-gat",
    "NodeImport-SAGE": "nodeimport-sage",
    "MotifRGC-GCN": "motifrgc-gcn",
    "MotifRGC-GAT": "motifrgc-gat",
    "MotifRGC-SAGE": "motifrgc-sage",
    "MPNN-GCN": "mpnn-gcn",
    "MPNN-GAT": "mpnn-gat",
    "MPNN-SAGE": "mpnn-sage",
    "GraphECL": "graphecl",
    "IGCL": "igcl",
    "w/o BES": "control",
    CONTROL: "control",
    "BES": "bes",
}

HONEST = Protocol(
    "validation", True, "Epochs and thresholds are chosen on validation; the test part is opened once a run."
)
PEEK = Protocol(
    "test-peek", False, "As the authors' code does it, the epoch with the best *test* accuracy is reported: optimistic."
)
LEAK = Protocol(
    "leaky messages",
    False,
    "Messages pass over the test edges too. The paper does not say how it predicts links; this says what a leak gains.",
)

#: Settings by section, such as `{"shaper": {"tau": 2.0}}`.
Sections = Mapping[str, Mapping[str, Any]]


def node_config(dataset: str, sections: Sections | None = None, protocol: Protocol = HONEST) -> RunConfig:
    """A run on nodes: random 60/20/20 splits but for OGB's own, as in the paper."""
    selection = "test-peek" if protocol is PEEK else "validation"
    return RunConfig.build(
        dataset, given={"task": "node", "split": _split(dataset), "selection": selection, **(sections or {})}
    )


def link_config(dataset: str, sections: Sections | None = None, protocol: Protocol = HONEST) -> RunConfig:
    """A run on links: 60/20/20 of the edges but for OGB's own."""
    links = {"message": "all"} if protocol is LEAK else {}
    given = {"task": "link", "rivals": (), "links": links, **(sections or {})}
    return RunConfig.build(dataset, given=given)


def method_config(
    config: RunConfig,
    method: str,
    *,
    source: str | None = None,
    tune: int = 0,
    options: Mapping[str, Any] | None = None,
) -> RunConfig:
    """The run of one method by itself, with every option of its settings, so that records name them all."""
    own = {"methods": {method: dict(options or {})}, "settings": source, "tune": tune}
    return resolved(config.model_copy(update=own))


def _split(dataset: str) -> str | None:
    return None if CATALOG[dataset].kind == "ogb" else "random"
