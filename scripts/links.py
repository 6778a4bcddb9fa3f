"""Write docs/results/links.md from recorded runs, running first what is not recorded yet.

python scripts/links.py              run what is missing (needs BES_DATA), then write
python scripts/links.py --write      write from the committed records alone
"""

from __future__ import annotations

from recorded import ROOT, keep, stamped

from bes.config import RunConfig
from bes.graph.catalog import load
from bes.runs import run
from bes.summary import difference

RECORDS = ROOT / "results" / "links.jsonl.gz"
DATASETS = ["cora", "citeseer", "pubmed", "amazon_photo"]
SEEDS = list(range(10))
#: Name of the cell, boundary of arm `bes`, the other arms. Under `classes` all arms get the training nodes' labels.
CELLS = {
    "labels": ("classes", ()),
    "plain": ("pairs", ("bes-clusters", "gcn", "sage", "cheb", "mlp", "cn", "aa", "ra", "pa", "cosine")),
}


def measure() -> None:
    """Run every cell that is not complete; each seed is recorded as it ends."""
    kept = []
    for dataset in DATASETS:
        graph = load(dataset)
        for name, (boundary, rivals) in CELLS.items():
            given = {"task": "link", "rivals": rivals, "links": {"boundary": boundary}}
            config = RunConfig.build(dataset, given=given)
            directory = run(config, graph, SEEDS, ROOT / "runs" / "links" / f"{dataset}-{name}", jobs=2)
            print(dataset, name, difference(directory.records, "auroc").text(signed=True), flush=True)
            kept += stamped(name, directory.records)
    keep(RECORDS, kept)


if __name__ == "__main__":
    measure()
