"""Links and edges from the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, make_link_split

Call = Callable[..., Any]

QUICK = [
    word
    for pair in ("encoders.epochs=4", "encoders.channels=8", "decoder.epochs=4", "n_iter=3", "n_layers=1")
    for word in ("--set", pair)
]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]


def test_a_link_run_prints_every_arm_and_leaves_the_contract(
    tmp_path: Path, graph_file: Path, small_graph: Graph, command: Call
) -> None:
    out = tmp_path / "out"
    words = ("run", graph_file, "--task", "link", "--seeds", "0-1", "--out", out, *QUICK)
    called = command(*words)
    assert called.code == 0, called.err
    for word in ("small: link, boundary classes", "every arm on the test part", "cosine", "AUC -", "Hits@50"):
        assert word in called.out, called.out
    assert "Shaping changed test AUC by" in called.out
    kept = records(out)
    arms = ["control", "bes", "cn", "aa", "ra", "pa", "cosine", "mlp"]
    assert [(r["seed"], r["arm"]) for r in kept] == [(seed, arm) for seed in (0, 1) for arm in arms]
    for record in kept:
        assert (record["task"], record["split"], record["selection"]) == ("link", "random", "validation")
        assert (record["boundary_mode"], record["message_graph"]) == ("classes", "train")
        assert {"acc", "f1", "auroc", "ap", "hits@50"} <= set(record["metrics"]["test"])
        assert {"val", "test", "test_boundary", "test_hard"} <= set(record["metrics"])
        assert set(record["seconds"]) == {"encoders", "shaping", "decoder", "evaluate"}
        assert (out / "predictions" / f"{record['seed']}-{record['arm']}.npz").exists()
    assert len({record["run_id"] for record in kept}) == len(kept)
    saved = LinkSplit.load(out / "splits" / "1.npz", small_graph)
    assert saved.held().keys() == make_link_split(small_graph, "random", 1).held().keys()
    for key, pairs in make_link_split(small_graph, "random", 1).held().items():
        assert pairs.equal(saved.held()[key])
    page = (out / "report.html").read_text()
    for words_ in ("Every arm on the test part", "training edges only", "Hard negatives", "AUC"):
        assert words_ in page
    before = (out / "records.jsonl").read_bytes()
    assert command(*words).code == 0
    assert (out / "records.jsonl").read_bytes() == before, "a finished run is not run again"


@pytest.mark.parametrize("boundary", ["clusters", "pairs"])
def test_other_boundaries_decoders_splits_and_no_rivals(
    boundary: str, tmp_path: Path, graph_file: Path, command: Call
) -> None:
    out = tmp_path / "out"
    words = ("--boundary", boundary, "--decoder", "dot", "--split", "random:85/5/10", "--rivals", "none")
    called = command("run", graph_file, "--task", "link", "--seeds", "0", "--out", out, *words, *QUICK)
    assert called.code == 0, called.err
    assert [r["arm"] for r in records(out)] == ["control", "bes"]
    assert {r["boundary_mode"] for r in records(out)} == {boundary}
    assert {r["split"] for r in records(out)} == {"random:85/5/10"}
    assert "every arm" not in called.out
    with np.load(out / "embeddings" / "0.npz") as file:
        assert len(file["label"]) == len(file["before"]) == len(file["after"])


def test_edges_of_csv_files(tmp_path: Path, small_graph: Graph, command: Call, refused: Call) -> None:
    nodes, edges, out = tmp_path / "people.csv", tmp_path / "knows.csv", tmp_path / "out"
    rows = [",".join(["who", "team", *(f"f{i}" for i in range(8))])]
    rows += [
        f"p{i},team {int(y)},{','.join(map(str, x.tolist()))}"
        for i, (x, y) in enumerate(zip(small_graph.x, small_graph.y, strict=True))
    ]
    nodes.write_text("\n".join(rows) + "\n")
    pairs = [(u, v) for u, v in small_graph.edge_index.T.tolist() if u < v]
    edges.write_text("from,to,how\n" + "".join(f"p{u},p{v},{'work' if u % 2 else 'family'}\n" for u, v in pairs))
    given = ("run", "--nodes", nodes, "--edges", edges, "--label", "team", "--seeds", "0", *QUICK)
    called = command(*given, "--edge-label", "how", "--task", "edge", "--out", out)
    assert called.code == 0, called.err
    assert "people: edge, boundary pairs" in called.out
    assert [r["arm"] for r in records(out)] == ["control", "bes", "mlp"]
    with np.load(out / "predictions" / "0-bes.npz") as kept:
        truth = {(u, v): u % 2 for u, v in pairs}  # "family" is class 0, "work" class 1
        assert [truth[tuple(p)] for p in kept["pair"].tolist()] == kept["label"].tolist()
    derived = command(*given, "--task", "edge", "--out", tmp_path / "derived")
    assert derived.code == 0, derived.err
    assert command(*given, "--task", "node", "--out", tmp_path / "node").code == 0
    refused(command(*given, "--edge-label", "what", "--task", "edge", "--out", tmp_path / "x"), "what", "knows.csv")
    refused(command("run", "--nodes", nodes), "give --edges")
    refused(command("run", "cora", "--nodes", nodes, "--edges", edges), "leave out")
    refused(command("run", "cora", "--label", "team"), "--nodes and --edges")
    refused(command("run"), "No graph was given")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--task", "links"), ("task", "'links'")),
        (("--task", "link", "--split", "random:90/20/10"), ("random:90/20/10", "random:85/5/10")),
        (("--task", "link", "--boundary", "middle"), ("boundary", "'middle'")),
        (("--task", "link", "--rivals", "katz"), ("arm 'katz' is not known",)),
        (("--rivals", "cn"), ("arm 'cn' is not known",)),
        (("--task", "link", "--decoder", "sage"), ("decoder 'sage' is not known",)),
        (("--task", "link", "--set", "lr=1e30", "--set", "encoders.lr=1e30"), ("could be",)),
    ],
)
def test_bad_words_are_refused_and_leave_nothing(
    words: tuple[str, ...], said: tuple[str, ...], tmp_path: Path, graph_file: Path, command: Call, refused: Call
) -> None:
    refused(command("run", graph_file, "--seeds", "0", "--out", tmp_path / "out", *words), *said)
    assert not (tmp_path / "out").exists()


def test_training_that_diverges_says_so(tmp_path: Path, graph_file: Path, command: Call, refused: Call) -> None:
    called = command(
        "run",
        "--quiet",
        graph_file,
        "--task",
        "link",
        "--seeds",
        "0",
        "--out",
        tmp_path / "out",
        *QUICK,
        "--set",
        "encoders.lr=1e30",
    )
    refused(called, "diverged", "encoders.lr")
