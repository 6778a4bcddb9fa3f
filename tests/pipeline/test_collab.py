"""ogbl-collab's protocol on a small graph in OGB's files: by years, Hits@50, with and without validation edges."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.graph.readers import read_npz, read_ogb, write_npz
from bes.graph.synthetic import sbm
from bes.pipeline import check
from bes.records import RunDirectory
from bes.runs import run

Command = Callable[..., object]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 authors; two of the later collaborations repeat an earlier one, as in the published data."""
    path = tmp_path_factory.mktemp("ogb") / "collab"
    whole = sbm(n_nodes=200, n_classes=2, n_features=4, degree=10, noise=0.1, separation=1.0)
    edges = whole.edge_index[:, whole.edge_index[0] < whole.edge_index[1]].T.numpy()
    edges = np.random.default_rng(0).permutation(edges)
    train, valid, test = edges[:700], np.vstack([edges[700:850], edges[:1]]), np.vstack([edges[850:], edges[1:2]])
    for name, rows in (("num-node-list", [[200]]), ("node-feat", whole.x.tolist()), ("edge", train.tolist())):
        (path / "raw").mkdir(parents=True, exist_ok=True)
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        (path / "raw" / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    linked = {(int(u), int(v)) for u, v in edges}
    others = np.array([(u, v) for u in range(40) for v in range(u + 1, 200) if (u, v) not in linked])
    others = np.random.default_rng(1).permutation(others)
    (path / "split" / "time").mkdir(parents=True)
    parts = {"train": (train, None), "valid": (valid, others[:300]), "test": (test, others[300:600])}
    for part, (edge, negative) in parts.items():
        content = {"edge": edge, "weight": np.ones(len(edge)), "year": np.full(len(edge), 2018)}
        content |= {} if negative is None else {"edge_neg": negative}
        torch.save(content, path / "split" / "time" / f"{part}.pt", _use_new_zipfile_serialization=False)
    return path


def config(message: str = "train") -> RunConfig:
    quick = {"encoders": {"epochs": 10, "channels": 8}, "shaper": {"n_iter": 3}, "rivals": "cn,aa"}
    return RunConfig.build(
        "ogbl-collab", given={"task": "link", **quick, "links": {"message": message, "n_clusters": 3}}
    )


@pytest.fixture(scope="module")
def graph(folder: Path) -> Graph:
    return read_ogb(folder, "ogbl-collab")


@pytest.fixture(scope="module", params=["train", "train+val"])
def done(request: pytest.FixtureRequest, graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return run(config(request.param), graph, [0], tmp_path_factory.mktemp("collab") / "run")


def test_the_protocol_is_the_default_of_the_data_set() -> None:
    chosen = config()
    assert (chosen.split, chosen.links.select, chosen.decoder.kind) == ("official", "hits@50", "dot")
    assert chosen.encoders.names == ("sage",)


def test_hits_are_taken_against_the_given_negatives(done: RunDirectory, graph: Graph) -> None:
    """Naive: a positive counts when it is strictly above the fiftieth best of OGB's own negatives."""
    assert {record["arm"] for record in done.records} == {"control", "bes", "cn", "aa"}
    for record in done.records:
        with np.load(done.path / "predictions" / f"0-{record['arm']}.npz") as kept:
            here = kept["part"] == "test"
            score, label, pair = kept["score"][here, 0], kept["label"][here], kept["pair"][here]
        given = {tuple(sorted(p)) for p in graph.pairs["test_negatives"].T.tolist()}
        assert {tuple(p) for p in pair[label == 0].tolist()} == given
        best = np.sort(score[label == 0])[::-1][49]
        assert record["metrics"]["test"]["hits@50"] == pytest.approx((score[label == 1] > best).mean())
        assert record["split"] == "official"
        assert record["boundary_mode"] == "clusters"


def test_validation_edges_are_input_only_when_asked(done: RunDirectory, graph: Graph) -> None:
    """Common neighbours of the test pairs, counted by hand over the edges that may be seen."""
    with_val = done.config.links.message == "train+val"
    assert {record["message_graph"] for record in done.records} == {done.config.links.message}
    near: dict[int, set[int]] = {}
    edges = graph.edge_index.T.tolist() + (graph.pairs["val_edges"].T.tolist() if with_val else [])
    for u, v in edges:
        near.setdefault(u, set()).add(v)
        near.setdefault(v, set()).add(u)
    with np.load(done.path / "predictions" / "0-cn.npz") as kept:
        for (u, v), part, score in zip(kept["pair"].tolist(), kept["part"], kept["score"][:, 0], strict=True):
            if part == "test":
                assert score == len(near.get(u, set()) & near.get(v, set()))


def test_the_split_survives_the_npz_of_this_project(graph: Graph, tmp_path: Path) -> None:
    write_npz(graph, tmp_path / "collab.npz")
    check(config(), read_npz(tmp_path / "collab.npz"), [0])
