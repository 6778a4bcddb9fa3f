"""Tables 1 and 9 to 12: BES beside its rivals."""

from __future__ import annotations

from bes.bench import paper
from bes.bench.model import ACCURACY, AUC, F1, Metric, Protocol, Sheet, Suite
from bes.bench.suites.cells import FIVE, SLOW, TEN, method_cells, slow_note, webkb_note
from bes.bench.suites.settings import CONTROL, HONEST, LEAK, PEEK

MAIN = ("Cora", "CiteSeer", "PubMed", "WikiCS")
HARD = ("Chameleon", "Chameleon (filtered)", "Cornell", "Texas", "Roman-empire", "ogbn-arxiv")

#: The rows that are shown under test-peek: enough to see what it is worth.
PEEKED = ["KGNN", "GCN", "Cheb", "GAT", "SGC", "SSGC", "GraphSAGE", "GATv2", "w/o BES", "BES"]

#: The rows that are shown under the leak: enough to see what it is worth.
LEAKY = ["GCN", "BES"]

_NODES = "Random 60/20/20 splits by class; every method on the same ones."
_LINKS = (
    "Random 60/20/20 splits of the edges, one uniform negative for each held-out edge, the threshold from validation. "
    "Every network gets the classes of the training nodes as features, because the shaper has them. The paper does not "
    "publish its procedure."
)


def _accuracy(task: str) -> list[tuple[str, str, Metric]]:
    return [(f"{dataset} {task}", dataset, ACCURACY) for dataset in MAIN]


def _f1_auc() -> list[tuple[str, str, Metric]]:
    return [(f"{dataset} {metric.name}", dataset, metric) for dataset in MAIN for metric in (F1, AUC)]


def _node_sheets(name: str, table: int, title: str, columns: list[tuple[str, str, Metric]]) -> tuple[Sheet, Sheet]:
    def cells(protocol: Protocol, seeds: tuple[int, ...]) -> Sheet:
        shown = [column for column in columns if protocol.honest or column[0] in paper.columns(table)]
        rows = None if protocol.honest else [row for row in paper.rows(table) if row in PEEKED]
        found = method_cells(
            table, "NC", shown, protocol=protocol, seeds=seeds, rival_seeds=seeds, rows=rows, more=_extra(table)
        )
        kind = "" if protocol.honest else "-peek"
        few = slow_note(SLOW, dict.fromkeys(dataset for _, dataset, _ in columns))
        parts = (
            _NODES,
            few if protocol.honest else "Rows enough to see what the peek is worth.",
            webkb_note() if table == 11 else "",
        )
        note = " ".join(filter(None, parts))
        return Sheet(f"{name}{kind}", title, protocol, found, note, "BES")

    return cells(HONEST, TEN), cells(PEEK, FIVE)


def _extra(table: int) -> list[str]:
    return [] if table == 11 else [CONTROL]  # table 11 has a control of its own


def _link_sheets(name: str, table: int, title: str, columns: list[tuple[str, str, Metric]]) -> tuple[Sheet, Sheet]:
    honest = method_cells(table, "LP", columns, rival_seeds=FIVE, more=[CONTROL])
    leaky = method_cells(table, "LP", columns, protocol=LEAK, seeds=FIVE, rival_seeds=FIVE, rows=LEAKY, more=[CONTROL])
    return (
        Sheet(name, title, HONEST, honest, _LINKS, "BES"),
        Sheet(f"{name}-leak", title, LEAK, leaky, _LINKS, "BES"),
    )


def table1() -> Suite:
    title = "Table 1: accuracy of node classification (NC) and link prediction (LP)"
    nodes = _node_sheets("table1-nc", 1, "Table 1, node classification: test accuracy", _accuracy("NC"))
    links = _link_sheets("table1-lp", 1, "Table 1, link prediction: test accuracy", _accuracy("LP"))
    return Suite("table1", title, (*nodes, *links))


def f1_auc_nc() -> Suite:
    title = "Table 9: macro F1 and AUC of node classification"
    return Suite("f1-auc-nc", title, _node_sheets("f1-auc-nc", 9, title, _f1_auc()))


def f1_auc_lp() -> Suite:
    title = "Table 10: F1 and AUC of link prediction"
    return Suite("f1-auc-lp", title, _link_sheets("f1-auc-lp", 10, title, _f1_auc()))


def challenging_nc() -> Suite:
    title = "Table 11: node classification on heterogeneous, heterophilic and OGB graphs"
    columns = [(dataset, dataset, ACCURACY) for dataset in HARD]
    return Suite("challenging-nc", title, _node_sheets("challenging-nc", 11, title, columns))


def challenging_lp() -> Suite:
    title = "Table 12: link prediction on ogbl-collab"
    cells = method_cells(12, "LP", [("ogbl-collab", "ogbl-collab", ACCURACY)], seeds=FIVE, rival_seeds=FIVE)
    note = "The paper calls its figure accuracy and does not say over which pairs; OGB's own measure is Hits@50."
    return Suite("challenging-lp", title, (Sheet("challenging-lp", title, HONEST, cells, note, "BES"),))
