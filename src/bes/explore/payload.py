"""What the page is given: a description of the run, an array a column of its nodes, and one node's details."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bes.errors import InputError
from bes.explore.neighbors import Adjacency, nearest
from bes.graph.arrays import Array
from bes.outcomes import outcome_codes
from bes.planes import plane
from bes.stored import StoredRun
from bes.summary import headline

#: The parts of a split, by the number they have in the array `part`.
PARTS = ("train", "validation", "test", "in no part", "unlabelled")

#: How many neighbours in embedding space are shown.
NEAREST = 10

#: How many neighbours in the graph are sent: beyond it a node's edges are a blot.
MOST_NEIGHBORS = 1000

#: Share of the nodes on either side that may lie outside the first view, so that a few far ones do not shrink it.
OUTSIDE = 0.0005


class Nodes:
    """One seed of a run, node by node.

    Args:
        run: The run's folder.
        seed: Which; the first one where none is given.

    Attributes:
        about: What `run.json` says: names, counts, bounds of the plane, and what there is to colour by.
        arrays: Columns for the page, an entry a node: `stage0` ... `[N, 2]` float32, `class`, `group`, `before` and
            `after` int32 (-1: none), `part` and `boundary0` ... uint8, `margin_before` and `margin_after` float32,
            `outcome` int8 of the test nodes (see `bes.outcomes`; -1: not in test).
        ids: What each node is called; None where nodes are called by their numbers.
    """

    def __init__(self, run: StoredRun, seed: int | None = None) -> None:
        if not run.config.paired:
            raise InputError(
                f"The run in {run.path} is of methods alone and left no embedding to explore: look at its report.html, "
                "or run it with bes among its --method."
            )
        self.seed = run.seeds[0] if seed is None else seed
        if self.seed not in run.seeds:
            known = ", ".join(map(str, run.seeds))
            raise InputError(f"The run in {run.path} has no seed {seed}: use one of {known}.")
        self._rows = run.rows(self.seed)
        if "pair" in self._rows:
            raise InputError(
                f"The run in {run.path} shaped pairs of nodes, which the explorer cannot show: "
                "run it with --boundary clusters."
            )
        self._graph = graph = run.graph
        _check(self._rows, graph.n_nodes, run)
        self._around = Adjacency(graph.edge_index.numpy(), graph.n_nodes)
        self._prob = _probabilities(run, self.seed, graph.n_nodes)
        self.ids = list(graph.ids) if graph.names else None
        self.arrays = self._columns(run)
        self.about = self._describe(run)

    @property
    def n_nodes(self) -> int:
        return int(self._graph.n_nodes)

    def node(self, node: int) -> dict[str, Any]:
        """All that the panel shows of one node."""
        around = self._around.of(node)
        scores = self._rows["shift_scores"][:, node]
        return {
            "node": node,
            "prob": {arm: _plain(prob[node]) for arm, prob in self._prob.items()},
            "shift": [None if np.isnan(score) else float(score) for score in scores],
            "boundary": [bool(at) for at in self._rows["boundaries"][:, node]],
            "degree": len(around),
            "neighbors": around[:MOST_NEIGHBORS].tolist(),
            "nearest": {side: _near(self._rows[side], node) for side in ("before", "after")},
        }

    def probabilities(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        """Of these nodes, before and after side by side `[n, 2 C]`."""
        both = [prob[nodes] for prob in self._prob.values()]
        return np.hstack(both) if both else np.empty((len(nodes), 0), np.float32)

    def _columns(self, run: StoredRun) -> dict[str, Array]:
        y = self._graph.y.numpy()
        label, split = self._rows.get("label"), run.split(self.seed)
        turning, train = (y, split["train"]) if label is None else (label, np.flatnonzero(label >= 0))
        stages = [self._rows["before"], *self._rows["between"], self._rows["after"]]
        columns = {f"stage{i}": flat.astype("<f4") for i, flat in enumerate(plane(stages, turning, train))}
        columns["class"] = y.astype("<i4")
        if label is None:
            columns["part"] = _parts(split, y)
        else:
            columns["group"] = label.astype("<i4")
        for i, at in enumerate(self._rows["boundaries"]):
            columns[f"boundary{i}"] = at.astype(np.uint8)
        for side, prob in self._prob.items():
            columns[side] = prob.argmax(1).astype("<i4")
            columns[f"margin_{side}"] = _margin(prob).astype("<f4")
        if self._prob:
            columns["outcome"] = outcome_codes(y, columns["before"], columns["after"], split["test"])
        return columns

    def _describe(self, run: StoredRun) -> dict[str, Any]:
        names = list(self._graph.class_names)
        wide = max([len(names), *(prob.shape[1] for prob in self._prob.values())])
        names += [str(c) for c in range(len(names), wide)]
        stages = sum(name.startswith("stage") for name in self.arrays)
        both = np.concatenate([self.arrays[f"stage{i}"] for i in range(stages)])
        low, high = np.quantile(both, [OUTSIDE, 1 - OUTSIDE], axis=0)
        return {
            "name": run.name,
            "selection": run.config.selection,
            "seed": self.seed,
            "nodes": self.n_nodes,
            "edges": self._graph.n_edges,
            "stages": ["Before", *(f"Layer {i}" for i in range(1, stages - 1)), "After"],
            "bounds": [float(low[0]), float(high[0]), float(low[1]), float(high[1])],
            "classes": names if self._graph.n_classes else [],
            "named": bool(self._graph.names and self._graph.names.classes),
            "width": max((prob.shape[1] for prob in self._prob.values()), default=0),
            "groups": self._groups(run),
            "parts": list(PARTS),
            "arrays": {name: array.dtype.str.lstrip("<|") for name, array in self.arrays.items()},
            "accuracy": _accuracy(run, self.seed),
            "metric": headline(run.records)[1],
        }

    def _groups(self, run: StoredRun) -> list[str]:
        """What the groups are called that the shaper was told of, for pairs."""
        if "group" not in self.arrays:
            return []
        count = int(self.arrays["group"].max(initial=-1)) + 1
        clusters = any(record.get("boundary_mode") == "clusters" for record in run.records)
        return [f"Cluster {c}" for c in range(count)] if clusters else list(self._graph.class_names[:count])


def _check(rows: dict[str, Array], n_nodes: int, run: StoredRun) -> None:
    """Refuse a folder whose files do not belong together."""
    for key in ("before", "after", "between", "boundaries", "shift_scores"):
        if key not in rows:
            raise InputError(f"The run in {run.path} was left by an older bes, without '{key}': run it again.")
        if rows[key].shape[0 if key in ("before", "after") else 1] != n_nodes:
            raise InputError(f"The embeddings in {run.path} are not of its graph's {n_nodes} nodes: run it again.")


def _probabilities(run: StoredRun, seed: int, n_nodes: int) -> dict[str, NDArray[np.float32]]:
    """`[N, C]` under `before` and `after`; nothing where pairs were predicted."""
    if run.config.task != "node":
        return {}
    found = {}
    for side, arm in (("before", "control"), ("after", "bes")):
        stored = run.predictions(seed, arm)
        found[side] = np.zeros((n_nodes, stored["prob"].shape[1]), np.float32)
        found[side][stored["node"]] = stored["prob"]
    return found


def _parts(split: dict[str, Array], y: NDArray[np.integer]) -> NDArray[np.uint8]:
    """The number in `PARTS` of each node; a split may leave out nodes whose class is known."""
    part = np.where(y < 0, PARTS.index("unlabelled"), PARTS.index("in no part")).astype(np.uint8)
    for number, key in enumerate(("train", "val", "test")):
        part[split[key]] = number
    return part


def _margin(prob: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far the likeliest class is ahead of the next, `[N]`."""
    if prob.shape[1] < 2:
        return np.ones(len(prob), np.float32)
    two = np.partition(prob, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def _near(z: NDArray[np.floating], node: int) -> dict[str, list[Any]]:
    nodes, distances = nearest(z, node, NEAREST)
    return {"nodes": nodes.tolist(), "distances": _plain(distances)}


def _plain(values: NDArray[np.floating]) -> list[float]:
    """Six digits tell all that a picture can."""
    return [float(f"{value:.6g}") for value in values]


def _accuracy(run: StoredRun, seed: int) -> dict[str, float]:
    """The headline metric of both arms on the test part, where there is one."""
    arms, metric = {"control": "before", "bes": "after"}, headline(run.records)[0]
    records = [record for record in run.records if record["seed"] == seed and record["arm"] in arms]
    scores = {arms[record["arm"]]: record.get("metrics", {}).get("test", {}).get(metric) for record in records}
    return {side: score for side, score in scores.items() if score is not None}
