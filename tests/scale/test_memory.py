"""The estimate of memory: within a factor of two of what a process of its own takes, and it knows its limits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.synthetic import sbm
from bes.scale.memory import BASE, Estimate, Layers, estimate

#: A seed in a process of its own, whose records say what was estimated and the peak of the whole process.
SEED = """
import json, sys
from dataclasses import replace
from pathlib import Path
from bes.config import RunConfig
from bes.graph.like import LIKE, generate
from bes.runs import run

name, task, batching, nodes, out = sys.argv[1:]
like = replace(LIKE[name], nodes=int(nodes), edges=7 * int(nodes))
settings = ["encoders.epochs=1", "decoder.epochs=1", "n_iter=2", "rivals="]
settings += ["split=low:20"] if task == "node" else []  # few labels: their neighbours are not what is measured
config = RunConfig.build(name, given={"task": task, "batching": batching}, settings=settings)
records = run(config, generate(name, like), [0], Path(out)).records
# not getrusage: there a process begins with the peak of the one that started it
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps([records[-1]["batching"], records[-1]["memory_estimate_mib"], int(peak.split()[1]) / 1024]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one process")
@pytest.mark.parametrize(
    ("name", "task", "batching", "nodes"),
    [
        ("arxiv-like", "node", "full", 15_000),
        ("arxiv-like", "node", "full", 60_000),
        ("arxiv-like", "node", "parts", 60_000),
        ("collab-like", "link", "full", 15_000),
    ],
)
def test_the_estimate_is_within_a_factor_of_two_of_the_peak(name, task, batching, nodes, tmp_path: Path):
    words = [sys.executable, "-c", SEED, name, task, batching, str(nodes), str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    how, estimated, peak = json.loads(done.stdout.splitlines()[-1])
    assert how == batching
    assert peak / 2 < estimated < 2 * peak


def layers(kind: str = "gcn") -> tuple[Layers, Layers]:
    return Layers([kind], (64, 16, 4)), Layers(["cheb"], (16, 64, 4))


def test_the_peak_is_what_stays_and_the_largest_stage():
    found = Estimate({"data": 10.0, "encoders": 5.0, "decoder": 7.0})
    assert found.peak == BASE + 17.0


def test_wider_networks_more_edges_and_attention_need_more():
    small = sbm(n_nodes=2_000, n_features=64)
    dense = sbm(n_nodes=2_000, n_features=64, degree=40.0)
    at_first = estimate(small, *layers(), 2).stages
    assert estimate(dense, *layers(), 2).stages["encoders"] > at_first["encoders"]
    assert estimate(small, *layers("gatv2"), 2).stages["encoders"] > at_first["encoders"]
    assert estimate(small, *layers(), 6).stages["shaping"] > at_first["shaping"]
    words = Graph(Sparse.from_dense((torch.rand(2_000, 64) < 0.01).float()), small.edge_index, small.y)
    assert estimate(words, *layers(), 2).stages["data"] < at_first["data"]


def test_parts_bound_what_a_step_holds():
    graph = sbm(n_nodes=40_000, n_features=8, degree=4.0)
    wide = Layers(["gatv2"], (8, 256, 256)), Layers(["cheb"], (256, 64, 4))
    full, parts = (estimate(graph, *wide, 2, parts=given).stages["encoders"] for given in (None, (40, 2)))
    assert parts < full / 2


def test_features_that_are_propagated_once_are_counted_where_they_are_kept():
    found = layers()[0]
    assert found.kept(100, 400) == 64  # 64 columns against 16 along each of four arcs
    assert found.kept(100, 399) == 0
    assert layers("cheb")[0].kept(100, 1200) == 3 * 64
    assert layers("gat")[0].kept(100, 10_000) == 0
    dense = sbm(n_nodes=2_000, n_features=64, degree=20.0)
    few, many = (
        Graph(Sparse.from_dense(x), dense.edge_index, dense.y)
        for x in (dense.x * (dense.x > 2), torch.as_tensor(dense.x))
    )
    more = [estimate(graph, *layers(), 2).stages["encoders"] for graph in (dense, few, many)]
    assert more[0] - more[1] == pytest.approx(4 * 2_000 * 64 / 2**20, abs=0.1)
    assert more[2] == more[0]  # so many words are held dense
