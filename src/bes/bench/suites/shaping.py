"""Where shaping pays: few labels, edges added between classes, features left out, full labels.

One preset for all of it, `strong`, beside the controls that it must beat, on splits that no choice was made on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bes.bench.model import ACCURACY, Ask, Cell, Metric, Sheet, Suite
from bes.bench.suites.arena import NODES
from bes.bench.suites.settings import CONTROL, DATASETS, HONEST, Sections, method_config
from bes.config import RunConfig

#: Splits that nothing was chosen on, and how many of them a graph of more than 10,000 nodes gets.
FRESH = tuple(range(100, 120))
FEWER = FRESH[:10]
LARGE = frozenset({"pubmed", "coauthor_cs"})

FEW_LABELS = {
    **{name: DATASETS[name] for name in ("Cora", "CiteSeer", "PubMed", "Amazon Photo")},
    "Coauthor CS": "coauthor_cs",
}
NOISY = ("Cora", "CiteSeer", "Amazon Photo")

#: From the same encoders, in the same epochs, with the same guard: shaping with one of its parts or none.
PARTS: dict[str, Mapping[str, Any]] = {
    "more epochs": {"weight": 0.0, "gravity": 0.0},
    "prototypes": {"weight": 0.0, "pulled": "labelled"},
    "pseudo-labels": {
        "teacher": "smooth",
        "steps": 2,
        "restart": 0.0,
        "first": 0.5,
        "last": 0.5,
        "weight": 1.0,
        "balance": 0.0,
        "gravity": 0.0,
    },
    "without gravity": {"gravity": 0.0},
}

#: The same where edges are noisy: the controls take the graph as it is, under the same guard as it knows of the noise;
#: two more rows say what trust alone is worth, and the rest without it.
NOISY_PARTS: dict[str, Mapping[str, Any]] = {
    **{row: {**parts, "trust": 1.0} for row, parts in PARTS.items() if row != "without gravity"},
    "without gravity": PARTS["without gravity"],
    "without trusted edges": {"trust": 1.0},
    "trusted edges alone": {"weight": 0.0, "gravity": 0.0},
}

#: Methods of the arena that use the same nodes otherwise: a GCN from the start, of the same width and features.
ALONE = {"GCN": "gcn", "GCN, prototypes": "prototypes", "GCN, pseudo-labels": "pseudo-label"}

NMI = Metric("NMI", "clusters.nmi")
ARI = Metric("ARI", "clusters.ari")

#: How embeddings are judged, by metric.
_READ = {"accuracy": "test accuracy of a linear map", "NMI": "NMI of k-means", "ARI": "ARI of k-means"}

_NO_LABELS = (
    "IGCL's embeddings, as they are and shaped by their own clusters: no label has a part in either. A linear map on "
    "60% of the labels reads the classes; NMI and ARI hold k-means, five starts, against all labels. "
)

_ABOUT = (
    "Preset `strong`, one setting for all graphs. BES and the rows from `more epochs` to `without gravity` start from "
    f"the encoders that `{CONTROL}` is, and train them on for as many epochs, under the same guard: with the labelled "
    "nodes alone (`more epochs`), with gravity on all labelled nodes (`prototypes`), with the clearest half of the "
    "other nodes by predictions smoothed twice (`pseudo-labels`), and as BES but without gravity at the boundary. The "
    "rows of a GCN are methods of the arena with features of the same length. Splits from 100 on, which nothing was "
    "chosen on. "
)


def few_labels() -> Suite:
    title = "Few labels a class: shaping with unlabelled nodes"
    sheets = [
        Sheet(
            f"few-labels-{count}",
            f"{count} labels a class, test accuracy",
            HONEST,
            tuple(_cells({name: DATASETS[name] for name in FEW_LABELS}, f"low:{count}")),
            _ABOUT,
            "BES",
        )
        for count in (20, 5)
    ]
    return Suite("few-labels", title, tuple(sheets))


def noisy_graphs() -> Suite:
    title = "Noise: edges added between classes, and features left out"
    doubled = {f"{name}": f"{DATASETS[name]}#edges:1" for name in NOISY}
    shares = {f"+{100 * share:.0f}%": share for share in (0.25, 0.5, 1, 2)}
    more = {
        f"{name} {text}": f"{DATASETS[name]}#edges:{share:g}" for name in NOISY[:2] for text, share in shares.items()
    }
    less = {
        f"{name} -{100 * share:.0f}%": f"{DATASETS[name]}#features:{share:g}"
        for name in NOISY[:2]
        for share in (0.5, 0.9)
    }
    note = (
        "Edges: as many random ones between different classes are added as the graph has, before anything is split. "
        "Where likeness tells edges within a class from those across, BES counts edges by it (`bes.models.trust`); "
        "`more epochs`, `prototypes`, `pseudo-labels` and `without trusted edges` take the graph as it is, and "
        "`trusted edges alone` trains on with the labelled nodes on the weighted graph. "
    )
    some = ("BES", CONTROL)
    return Suite(
        "noisy-graphs",
        title,
        (
            Sheet(
                "noisy-edges",
                "As many edges between classes again",
                HONEST,
                tuple(_cells(doubled, "random", rows=("BES", CONTROL, *NOISY_PARTS), parts=NOISY_PARTS)),
                _ABOUT + note,
                "BES",
            ),
            Sheet(
                "noise-by-amount",
                "Edges between classes, by how many of the graph's are added",
                HONEST,
                tuple(_cells(more, "random", rows=some, alone=("GCN",), seeds=FEWER)),
                _ABOUT,
                "BES",
            ),
            Sheet(
                "features-left-out",
                "Features left out, by the share set to zero",
                HONEST,
                tuple(_cells(less, "random", rows=some, alone=("GCN",), seeds=FEWER)),
                _ABOUT,
                "BES",
            ),
        ),
    )


def full_labels() -> Suite:
    title = "Full labels: preset strong"
    graphs = {name: DATASETS[name] for name in NODES}
    cells = tuple(_cells(graphs, "random", rows=("BES", CONTROL, *list(PARTS)[:3]), alone=()))
    note = f"{_ABOUT}Random 60/20/20 splits."
    return Suite("full-labels", title, (Sheet("full-labels", f"{title}, test accuracy", HONEST, cells, note, "BES"),))


def no_labels() -> Suite:
    title = "No labels: clusters of self-supervised embeddings as classes"
    graphs = {name: DATASETS[name] for name in NOISY}
    sheets = []
    for metric in (ACCURACY, NMI, ARI):
        cells = tuple(
            Cell(row, name, Ask(method_config(_config(graph, "random"), method), method, metric, FEWER))
            for row, method in {"IGCL, shaped": "igcl-shaped", "IGCL": "igcl"}.items()
            for name, graph in graphs.items()
        )
        name, heading = f"no-labels-{metric.name.lower()}", f"{title}, {_READ[metric.name]}"
        sheets.append(Sheet(name, heading, HONEST, cells, _NO_LABELS, "IGCL"))
    return Suite("no-labels", title, tuple(sheets))


def _cells(
    graphs: Mapping[str, str],
    split: str,
    *,
    rows: Sequence[str] = ("BES", CONTROL, *PARTS),
    alone: Sequence[str] = tuple(ALONE),
    seeds: tuple[int, ...] = FRESH,
    parts: Mapping[str, Mapping[str, Any]] = PARTS,
) -> list[Cell]:
    """Rows of `strong` and of methods alone, on graphs by their titles."""
    found = []
    for row in (*rows, *alone):
        for title, graph in graphs.items():
            splits = FEWER if graph in LARGE else seeds
            found.append(Cell(row, title, _ask(row, graph, split, splits, parts)))
    return found


def _ask(
    row: str, graph: str, split: str, seeds: tuple[int, ...], parts: Mapping[str, Mapping[str, Any]] = PARTS
) -> Ask:
    if row in ALONE:
        method = ALONE[row]
        config = method_config(_config(graph, split), method, options={"features": "unit", "hidden": 64})
        return Ask(config, method, ACCURACY, seeds)
    own: Sections = {"encoder_shaper": parts[row]} if row in parts else {}
    return Ask(_config(graph, split, own), "control" if row == CONTROL else "bes", ACCURACY, seeds)


def _config(graph: str, split: str, sections: Sections | None = None) -> RunConfig:
    return RunConfig.build(graph, preset="strong", given={"split": split, **(sections or {})})
