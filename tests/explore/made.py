"""Run folders written by hand, of any size and with any names, without training."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bes.config import RunConfig
from bes.explore.server import Server, make_server
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.graph.readers import write_npz
from bes.graph.synthetic import sbm
from bes.stored import StoredRun

#: Width of the embeddings.
WIDTH = 16


def made_graph(n_nodes: int, n_classes: int = 4, ids: list[str] | None = None, classes: tuple[str, ...] = ()) -> Graph:
    """A block graph; every seventh node without a class, called by `ids` if given."""
    plain = sbm(n_nodes, n_classes, n_features=max(16, n_classes), degree=6.0)
    y = plain.y.clone()
    y[::7] = -1
    names = Names(tuple(ids), classes=classes) if ids else None
    return Graph(plain.x, plain.edge_index, y, "made", names=names)


def made_run(
    folder: Path,
    graph: Graph,
    *,
    seeds: tuple[int, ...] = (0,),
    task: str = "node",
    selection: str = "validation",
    **rows: Any,
) -> StoredRun:
    """What `bes run` would leave of a graph, with random predictions; `rows` are put into the embeddings' file."""
    for part in ("embeddings", "predictions", "splits", "history"):
        (folder / part).mkdir(parents=True)
    config = RunConfig.build("made", given={"task": task, "selection": selection}).model_dump(mode="json")
    (folder / "config.json").write_text(json.dumps({"config": config, "data_hash": "", "bes": "0"}))
    write_npz(graph, folder / "graph.npz")
    records = []
    for seed in seeds:
        _write_seed(folder, graph, seed, rows)
        for arm, score in (("control", 0.5), ("bes", 0.75)):
            records.append({"seed": seed, "arm": arm, "task": task, "metrics": {"test": {"acc": score}}})
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return StoredRun(folder)


def part_of_split(run: StoredRun) -> StoredRun:
    """The run with half of its training nodes in no part, as public splits have it."""
    file = run.path / "splits" / "0.npz"
    with np.load(file) as arrays:
        split = dict(arrays)
    np.savez(file, **{**split, "train": split["train"][::2]})
    return run


def serving(run: StoredRun) -> Iterator[Server]:
    """A server of the run, for a fixture."""
    server, _ = make_server(run)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _write_seed(folder: Path, graph: Graph, seed: int, more: dict[str, Any]) -> None:
    rng, n = np.random.default_rng(seed), graph.n_nodes
    y, c = graph.y.numpy(), graph.n_classes
    centres = 3 * rng.normal(size=(c, WIDTH))
    before = (centres[np.maximum(y, 0)] + 1.5 * rng.normal(size=(n, WIDTH))).astype(np.float32)
    pull = 0.15 * (centres[np.maximum(y, 0)] - before) + 0.3 * rng.normal(size=(n, WIDTH))
    scores = rng.random((2, n), dtype=np.float32)
    scores[:, rng.random(n) < 0.5] = np.nan
    rows = {
        "before": before,
        "between": (before + pull)[None].astype(np.float32),
        "after": (before + 2 * pull).astype(np.float32),
        "boundaries": np.nan_to_num(scores) > 0.9,
        "boundary": np.flatnonzero(np.nan_to_num(scores[0]) > 0.9),
        "shift_scores": scores,
    }
    np.savez(folder / "embeddings" / f"{seed}.npz", **{**rows, **more})  # type: ignore[arg-type]
    for arm in ("control", "bes"):
        prob = rng.gamma(0.3, size=(n, c)) + 0.7 * (y[:, None] == np.arange(c)) + 1e-3
        prob = (prob / prob.sum(1, keepdims=True)).astype(np.float32)
        np.savez(folder / "predictions" / f"{seed}-{arm}.npz", node=np.arange(n), prob=prob)
    known = rng.permutation(np.flatnonzero(y >= 0))
    train, val, test = np.split(known, [int(0.6 * len(known)), int(0.8 * len(known))])
    np.savez(folder / "splits" / f"{seed}.npz", train=train, val=val, test=test, name=np.array("random"))
    (folder / "history" / f"{seed}.json").write_text("[]")
