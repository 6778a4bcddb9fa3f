"""The map of the embedding as plain data for the page: positions by stage, classes, predictions, boundary."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from bes.graph.arrays import Array
from bes.outcomes import OUTCOMES, outcome_codes
from bes.planes import plane
from bes.report.figures import COLORS, class_style
from bes.report.outcomes import ARMS, class_names, edge_class_names
from bes.stored import StoredRun

#: Points of a map, at most; and positions of all maps of a page, which bound its size.
POINTS, POSITIONS = 20_000, 600_000

#: Seeds that can be looked at, at most.
SEEDS = 10

#: Parts of the split in a map, by their place.
PARTS = ("train", "val", "test")


def map_data(run: StoredRun, seeds: int = SEEDS) -> dict[str, Any]:
    """The maps of the run's first seeds, as many as keep the page light.

    Every array is base64 of little-endian numbers; `names` are the nodes that occur, to which `at` refers.
    """
    found: list[dict[str, Any]] = []
    total = 0
    for seed in run.seeds[:seeds]:
        one = seed_map(run, seed)
        total += one["stages"].shape[0] * one["stages"].shape[1]
        if found and total > POSITIONS:
            break
        found.append(one)
    used = np.unique(np.concatenate([one["at"].ravel() for one in found]))
    ids = run.graph.ids
    names = row_class_names(run)
    top = max([len(names), *(int(one["label"].max(initial=-1)) + 1 for one in found)])
    return {
        "names": [ids[node] for node in used],
        "classes": [names[c] if c < len(names) else str(c) for c in range(top)],
        "styles": [class_style(c) for c in range(top)],
        "colors": COLORS,
        "outcomes": OUTCOMES,
        "line": found[0]["line"],
        "what": "pair" if found[0]["at"].shape[1] == 2 else "node",
        "seeds": [_encoded(one, used) for one in found],
    }


def seed_map(run: StoredRun, seed: int) -> dict[str, Any]:
    """One seed's map as arrays of the points drawn: `at` (their nodes), `stages` `[L + 1, n, 2]`, `rings`, and so on.

    `line` says that there is one direction only, and that the other axis spreads the points.
    """
    rows = run.rows(seed)
    split = run.split(seed)
    of_nodes = run.config.task == "node"
    train = split["train"] if of_nodes else np.flatnonzero(rows["label"] >= 0)
    by_class = of_nodes or run.records[0]["boundary_mode"] == "classes"  # the shaper saw those of training nodes only
    label = run.graph.y.cpu().numpy() if by_class else rows["label"]
    stages = [rows["before"], *rows["between"], rows["after"]] if rows["boundaries"].any() else [rows["before"]]
    rings = rows["boundaries"]
    drawn = sample(np.asarray(rings.any(0)), label, POINTS)
    flat = np.stack(plane(stages, label, train))[:, drawn]
    at = rows["pair"] if "pair" in rows else np.arange(len(label))[:, None]
    one: dict[str, Any] = {"seed": seed, "total": len(label), "at": at[drawn], "label": label[drawn], "stages": flat}
    one["line"] = len(np.unique(label[train])) < 3 or stages[0].shape[1] == 1
    one["rings"] = [np.flatnonzero(layer[drawn]) for layer in rings]
    return one | (_predicted(run, seed, split, drawn) if of_nodes else {})


def sample(boundary: Array, y: Array, limit: int) -> Array:
    """Indices of at most `limit` rows, in order: those at the boundary first, of the others a share of each class.

    Where the boundary alone is too large, it is sampled in the same way.
    """
    if len(y) <= limit:
        return np.arange(len(y))
    first = np.flatnonzero(boundary)
    if len(first) >= limit:
        return np.sort(first[_stratified(y[first], limit)])
    rest = np.flatnonzero(~boundary)
    chosen = rest[_stratified(y[rest], limit - len(first))]
    return np.sort(np.concatenate([first, chosen]))


def _stratified(y: Array, limit: int) -> Array:
    """Indices of `limit` of the rows, each class by its share, to within one row."""
    order = np.random.default_rng(0).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    _, start, size = np.unique(y[order], return_index=True, return_counts=True)
    rank = np.arange(len(y)) - np.repeat(start, size)
    place = (rank + 0.5) / np.repeat(size, size)
    found: Array = order[np.argsort(place, kind="stable")[:limit]]
    return found


def row_class_names(run: StoredRun) -> Sequence[str]:
    """What the classes are called by which rows of the embedding are coloured: those that the shaper saw."""
    mode = run.records[0].get("boundary_mode", "node")
    if mode == "clusters":
        return [f"cluster {c}" for c in range(run.config.links.n_clusters)]
    if mode == "classes":
        return run.graph.class_names
    if mode == "pairs" and run.config.task == "edge":
        return edge_class_names(run)
    return class_names(run)


def _predicted(run: StoredRun, seed: int, split: dict[str, Array], drawn: Array) -> dict[str, Any]:
    """Of the nodes drawn: their part of the split, and each arm's prediction with its probability in percent.

    With both arms also `outcome`, what shaping did to those of the test part.
    """
    part = np.full(run.graph.n_nodes, len(PARTS))
    for place, name in enumerate(PARTS):
        part[split[name]] = place
    arms, guess = {}, {}
    for arm in (r["arm"] for r in run.records if r["seed"] == seed and r["arm"] in ARMS):
        prob = run.predictions(seed, arm)["prob"]
        guess[arm] = prob.argmax(1)
        arms[arm] = {"guess": guess[arm][drawn], "sure": np.rint(100 * prob[drawn].max(1))}
    found = {"part": part[drawn], "arms": arms}
    if set(ARMS) <= guess.keys():
        y, test = run.graph.y.cpu().numpy(), split["test"]
        codes = outcome_codes(y, guess["control"], guess["bes"], scored=test[y[test] >= 0])
        found["outcome"] = codes[drawn]
    return found


def _encoded(one: dict[str, Any], used: Array) -> dict[str, Any]:
    """The arrays of `seed_map` as text, positions in 65,536 steps of each axis."""
    low = one["stages"].min((0, 1))
    step = np.where(np.ptp(one["stages"], (0, 1)) > 0, np.ptp(one["stages"], (0, 1)), 1.0) / 65_535
    text: dict[str, Any] = {
        "at": _text(np.searchsorted(used, one["at"]), "<u4"),
        "label": _text(one["label"], "<i2"),
        "rings": [_text(ring, "<u4") for ring in one["rings"]],
        "stages": [_text(np.rint((stage - low) / step), "<u2") for stage in one["stages"]],
    }
    if "part" in one:
        text["part"] = _text(one["part"], "<u1")
        arms = one["arms"].items()
        text["arms"] = {
            arm: {"guess": _text(said["guess"], "<i2"), "sure": _text(said["sure"], "<u1")} for arm, said in arms
        }
    if "outcome" in one:
        text["outcome"] = _text(one["outcome"], "<i1")
    numbers = {"seed": one["seed"], "total": one["total"], "drawn": len(one["label"])}
    return {**numbers, "low": low.tolist(), "step": step.tolist(), **text}


def _text(array: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode("ascii")
