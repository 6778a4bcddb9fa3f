"""Write docs/results/links.md from recorded runs, running first what is not recorded yet.

python scripts/links.py              run what is missing (needs BES_DATA), then write
python scripts/links.py --write      write from the committed records alone
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from links_text import PAPER, README_TEXT, TEXT
from recorded import ROOT, between, cell_of, keep, stamped, table, versions, write
from scipy import stats

from bes.bench.store import unpack
from bes.config import RunConfig
from bes.graph import links, negatives
from bes.graph.catalog import load
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit
from bes.pipeline import pairs
from bes.runs import run
from bes.summary import Record, Summary, difference, headline, values

RECORDS = ROOT / "results" / "links.jsonl.gz"
PAGE = ROOT / "docs" / "results" / "links.md"
README = ROOT / "README.md"
DATASETS = ["cora", "citeseer", "pubmed", "amazon_photo"]
SEEDS = list(range(10))
#: Name of the cell, boundary of arm `bes`, the other arms. Under `classes` all arms get the training nodes' labels.
CELLS = {
    "labels": ("classes", ()),
    "plain": ("pairs", ("bes-clusters", "gcn", "sage", "cheb", "mlp", "cn", "aa", "ra", "pa", "cosine")),
}
#: The run whose split leaks on purpose: a GCN by itself.
LEAK = {"rivals": ("gcn",), "encoders": {"names": ("gcn",)}, "links": {"boundary": "pairs"}}
#: What else can be asked for, measured on one graph: other decoders, the other split, classes of edges.
SMALL = ("cora",)
SIDE = {
    "decoder cheb": {"decoder": {"kind": "cheb"}, "links": {"boundary": "classes"}},
    "decoder dot": {"decoder": {"kind": "dot"}, "links": {"boundary": "classes"}},
    "split 85-5-10": {"split": "random:85/5/10", "links": {"boundary": "pairs"}},
    "edge": {"task": "edge", "links": {"boundary": "pairs"}},
}
#: Shaped arms: what the table calls them, cell and arm.
SHAPED = {
    "bes, pairs": ("plain", "bes"),
    "bes, clusters": ("plain", "bes-clusters"),
    "bes, classes": ("labels", "bes"),
}
#: Every row of the main table: what it is called, cell and arm.
ROWS = {
    "control": ("plain", "control"),
    "bes, pairs": SHAPED["bes, pairs"],
    "bes, clusters": SHAPED["bes, clusters"],
    "control with labels": ("labels", "control"),
    "bes, classes (with labels)": SHAPED["bes, classes"],
    "GCN": ("plain", "gcn"),
    "GraphSAGE": ("plain", "sage"),
    "Cheb": ("plain", "cheb"),
    "MLP, no graph": ("plain", "mlp"),
    "common neighbours": ("plain", "cn"),
    "Adamic-Adar": ("plain", "aa"),
    "resource allocation": ("plain", "ra"),
    "preferential attachment": ("plain", "pa"),
    "feature cosine": ("plain", "cosine"),
}


def measure() -> None:
    """Run every cell that is not complete; each seed is recorded as it ends."""
    found: list[Record] = []
    for dataset in DATASETS:
        graph = load(dataset)
        for name, (boundary, rivals) in CELLS.items():
            given = {"rivals": rivals, "links": {"boundary": boundary}}
            found += stamped(name, measured(dataset, graph, name, given))
        for name, given in SIDE.items() if dataset in SMALL else ():
            found += stamped(name, measured(dataset, graph, name, {"rivals": (), **given}))
        if dataset in PAPER["GCN"]:
            with reverse_edges_ignored():
                leaky = measured(dataset, graph, "leak", LEAK, jobs=1)
            # the name of such a run would be that of an honest one
            found += stamped("leak", [{**r, "run_id": None} for r in leaky if r["arm"] == "gcn"])
    keep(RECORDS, found)


def measured(dataset: str, graph: Graph, name: str, given: dict[str, Any], jobs: int = 2) -> list[Record]:
    """The records of one cell, of which what is missing is run first."""
    config = RunConfig.build(dataset, given={"task": "link", **given})
    records = run(config, graph, SEEDS, ROOT / "runs" / "links" / f"{dataset}-{name}", jobs=jobs).records
    print(dataset, name, difference(records, headline(records)[0]).text(signed=True), flush=True)
    return records


@contextmanager
def reverse_edges_ignored() -> Iterator[None]:
    """(u, v) and (v, u) are two edges, and one may train while the other tests, as in much published code.

    Message graphs stay undirected, so that the reverse of a test edge passes messages both ways. The library
    refuses such a split, so its check has to go too. Records say `leaky` in their split.
    """
    honest = pairs.make_link_split

    def leaky(*args: Any, **options: Any) -> LinkSplit:
        return replace(honest(*args, **options), name="leaky: reverse edges ignored")

    with (
        patch.object(negatives, "pair_keys", lambda pairs, n: pairs[0] * n + pairs[1]),
        patch.object(links, "check_disjoint", lambda *_, **__: None),
        patch.object(pairs, "make_link_split", leaky),
    ):
        yield


def documents() -> dict[Path, str]:
    """The documents as the committed records, and nothing else, make them."""
    records = unpack(RECORDS)
    days = sorted({record["date"] for record in records})
    shaped = shaped_table(records)
    page = TEXT.format(
        date=" and ".join(days),
        machine=records[0]["machine"],
        versions=versions(records),
        overall=overall(records),
        shaped=shaped,
        main="\n\n".join(f"### {dataset}\n\n{main_table(records, dataset)}" for dataset in DATASETS),
        hard=hard_table(records),
        boundary=boundary_table(records),
        paper=paper_table(records),
        leak=leak_table(records),
        side=side_table(records),
        time=time_table(records),
    )
    short = README_TEXT.format(overall=overall(records), shaped=shaped)
    return {PAGE: page, README: between(README, "links", short)}


def mean(records: list[Record], row: str, dataset: str, metric: str, part: str = "test") -> str:
    cell, arm = ROWS[row]
    return Summary.of(list(values(cell_of(records, dataset, cell), arm, metric, part).values())).text()


def change(records: list[Record], dataset: str, row: str, metric: str, part: str = "test") -> Summary:
    """A shaped arm minus the control of its own run, paired by split."""
    cell, arm = SHAPED[row]
    return difference(cell_of(records, dataset, cell), metric, part, arm)


def shaped_table(records: list[Record]) -> str:
    header = ["data", "boundary", "control AUC", "AUC", "AP", "accuracy", "Hits@50", "AUC, hard", "AUC at the boundary"]
    rows = []
    for dataset in DATASETS:
        for row, (cell, _) in SHAPED.items():
            control = "control with labels" if cell == "labels" else "control"
            shown = [("auroc", "test"), ("ap", "test"), ("acc", "test"), ("hits@50", "test")]
            shown += [("auroc", "test_hard"), ("auroc", "test_boundary")]
            changes = [change(records, dataset, row, *what).text(signed=True) for what in shown]
            if row == "bes, clusters":
                changes[-1] = "-"  # the run's boundary is that of pairs
            rows.append([dataset, row.removeprefix("bes, "), mean(records, control, dataset, "auroc"), *changes])
    return table(header, rows)


def main_table(records: list[Record], dataset: str) -> str:
    metrics = {"auroc": "AUC", "ap": "AP", "acc": "accuracy", "f1": "F1"}
    metrics |= {f"hits@{k}": f"Hits@{k}" for k in (20, 50, 100)}
    rows = [[row, *(mean(records, row, dataset, metric) for metric in metrics)] for row in ROWS]
    return table(["arm", *metrics.values()], rows)


def hard_table(records: list[Record]) -> str:
    header = ["arm", *(f"{dataset}, {kind}" for dataset in DATASETS for kind in ("two hops", "degree"))]
    parts = ("test_two_hop", "test_degree")
    rows = [[row, *(mean(records, row, d, "auroc", part) for d in DATASETS for part in parts)] for row in ROWS]
    return table(header, rows)


def boundary_table(records: list[Record]) -> str:
    header = ["data", "boundary", "in the region", "boundary set", "steps kept", "test pairs at the boundary"]
    rows = []
    for dataset in DATASETS:
        for row, (cell, arm) in SHAPED.items():
            found = [r for r in cell_of(records, dataset, cell) if r["arm"] == arm]
            region, chosen = ([r["boundary"][0][key] for r in found] for key in ("region", "set"))
            steps = [sum(r["steps"][key] for r in found) for key in ("accepted", "tried")]
            test = f"{statistics.fmean(r['metrics']['test_boundary']['n'] for r in found):.0f}"
            sizes = [f"{statistics.fmean(region):.0f}", f"{statistics.fmean(chosen):.0f}"]
            shown = [*sizes, f"{steps[0]} of {steps[1]}", "-" if row == "bes, clusters" else test]
            rows.append([dataset, row.removeprefix("bes, "), *shown])
    return table(header, rows)


def paper_table(records: list[Record]) -> str:
    """Accuracy and AUC as printed beside ours, for the methods and data sets that both have."""
    header = ["method", *(f"{d}, {what}" for d in PAPER["GCN"] for what in ("paper: acc / AUC", "here: acc / AUC"))]
    rows = []
    for method, printed in PAPER.items():
        line = [method]
        for dataset, cell in printed.items():
            row = {"encoders without shaping": "control", "BES": "bes, pairs"}.get(method, method)
            ours = [mean(records, row, dataset, metric).split(" ")[0] for metric in ("acc", "auroc")]
            line += [" / ".join(cell), " / ".join(ours)]
        rows.append(line)
    return table(header, rows)


def side_table(records: list[Record]) -> str:
    rows = []
    for dataset in SMALL:
        for cell in SIDE:
            found = cell_of(records, dataset, cell)
            metrics = ("auroc", "acc")
            arms = [Summary.of(list(values(found, "control", metric).values())).text() for metric in metrics]
            changes = [difference(found, metric).text(signed=True) for metric in metrics]
            rows.append([dataset, cell.replace("-", "/"), found[0]["boundary_mode"], *arms, *changes])
    header = ["AUC", "accuracy", "AUC, bes - control", "accuracy, bes - control"]
    return table(["data", "what", "boundary", *header], rows)


def leak_table(records: list[Record]) -> str:
    """A GCN on clean splits, on leaky ones, and as printed."""
    rows = []
    for dataset, printed in PAPER["GCN"].items():
        line = [dataset]
        for cell in ("plain", "leak"):
            found = cell_of(records, dataset, cell)
            line += [Summary.of(list(values(found, "gcn", metric).values())).text() for metric in ("acc", "auroc")]
        rows.append([*line, *printed])
    header = ["accuracy", "AUC", "accuracy, leaky", "AUC, leaky", "accuracy, paper", "AUC, paper"]
    return table(["data", *header], rows)


def time_table(records: list[Record]) -> str:
    header = ["data", "run", "encoders, s", "shaping, s", "decoder, s", "shaping / encoders", "peak, MiB"]
    rows = []
    for dataset in DATASETS:
        for cell in CELLS:
            found = [r for r in cell_of(records, dataset, cell) if r["arm"] == "bes"]
            times = [statistics.median(r["seconds"][s] for r in found) for s in ("encoders", "shaping", "decoder")]
            ratio = statistics.median(r["seconds"]["shaping"] / r["seconds"]["encoders"] for r in found)
            peak = max(r["peak_mib"] for r in found)
            rows.append([dataset, cell, *(f"{t:.1f}" for t in times), f"{ratio:.2f}", f"{peak:.0f}"])
    return table(header, rows)


def overall(records: list[Record]) -> str:
    """How many cells differ from zero by more than two standard errors, counted from the records."""
    found = {(d, row): change(records, d, row, "auroc") for d in DATASETS for row in SHAPED}
    signs: dict[int, list[str]] = {-1: [], 0: [], 1: []}
    for (dataset, row), summary in found.items():
        assert summary.mean is not None
        assert summary.error is not None
        clear = abs(summary.mean) > 2 * summary.error
        sign = (1 if summary.mean > 0 else -1) if clear else 0
        signs[sign].append(f"{dataset} ({row.removeprefix('bes, ')}, {summary.text(signed=True)})")
    largest = max(abs(100 * s.mean) for s in found.values() if s.mean is not None)
    text = (
        f"Of {len(found)} cells (four graphs, three boundaries), {len(signs[0])} show no clear effect on the test AUC"
    )
    for sign, name in ((1, "a gain"), (-1, "a loss")):
        text += f", {len(signs[sign])} {name}" + (f": {', '.join(signs[sign])}" if signs[sign] else "")
    by_chance = len(found) * 2 * stats.t.sf(2, df=len(SEEDS) - 1)
    text += f". Chance alone would put {by_chance:.1f} of so many beyond two standard errors"
    text += f"; the largest change in either direction is {largest:.2f} points of AUC"
    return f"{text}, too small to matter in use." if largest < 0.5 else f"{text}."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="only write the page, from the committed records")
    if not parser.parse_args().write:
        measure()
    write(documents())
