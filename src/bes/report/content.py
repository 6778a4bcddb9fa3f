"""What the report of one run says, as plain data: the template only lays it out."""

from __future__ import annotations

import json
from typing import Any

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.predict import PREDICTIONS, choose_arm
from bes.report import calibration, methods, tables, training
from bes.report.confusion import matrices
from bes.report.maps import SEEDS, map_data
from bes.report.neighborhoods import neighborhoods
from bes.report.nodes import Around, changes, tally
from bes.report.outcomes import Outcome, class_names, outcomes
from bes.stored import StoredRun
from bes.summary import headline, verdict

#: What "at the boundary" means, by task or by what was shaped.
AT_BOUNDARY = {
    "node": "the test nodes whose five nearest training nodes, in the unshaped embedding, do not all have one class",
    "classes": "the test pairs with an end whose five nearest labelled nodes (itself among them), in the unshaped "
    "embedding, do not all have one class",
    "clusters": "the test pairs with an end whose five nearest nodes (itself among them), in the unshaped "
    "embedding, are not all in one cluster",
    "pairs": "the test pairs whose five nearest training pairs, in the unshaped embedding, do not all have one class",
}

#: What messages passed over, for pairs.
MESSAGES = {
    "train": "training edges only",
    "train+val": "training edges, and over validation edges when test pairs are scored",
    "all": "all edges, whose classes are what is predicted",
    "leak": "all edges, the held-out ones too: a leak",
}


def content(run: StoredRun, *, seeds: int = SEEDS, with_map: bool = True) -> dict[str, Any]:
    """Every section of a run's report.

    Args:
        seeds: Seeds that can be looked at one by one, at most.
        with_map: Whether the map of the embedding is among them.
    """
    found = outcomes(run)
    drawn = map_data(run, seeds) if with_map else None
    shown = [one["seed"] for one in drawn["seeds"]] if drawn else run.seeds[:seeds]
    return {
        **opening(run),
        "map": drawn,
        "seeds": shown,
        "left_out": len(run.seeds) - len(shown),
        "confusion": matrices(found, class_names(run)),
        "changes": _changes(run, found, shown),
        "around": _around(run, found),
        "curves": _curves(run, shown),
        "calibration": _calibration(run, found),
        "times": training.times(run.records),
        "runs": sorted(run.records, key=lambda r: (r["seed"], r["arm"])),
        "notes": notes(run),
        **closing(run),
    }


def methods_content(run: StoredRun) -> dict[str, Any]:
    """Every section of the report of a run of methods alone."""
    records = methods.complete(run.records)
    order = methods.ranked(records)
    return {
        "name": run.name,
        "config": run.config,
        "counts": counts(run.graph),
        "seeds": run.seeds,
        "peeked": run.config.selection == "test-peek",
        "verdict": methods.verdict(records),
        "headline": headline(records),
        "rows": methods.rows(records),
        "titles": methods.TITLES,
        "by_chance": methods.by_chance(records),
        "messages": MESSAGES.get(messages(records[0])),
        "labels_as_features": records[0].get("labels_as_features", False),
        "methods": [methods.about(run, name) for name in order],
        "times": methods.times(run.records),
        "runs": sorted(run.records, key=lambda r: (r["seed"], order.index(r["arm"]))),
        "notes": methods.notes(run.records),
        **closing(run),
    }


def closing(run: StoredRun) -> dict[str, Any]:
    """What was noticed in the data, and under what settings and versions it was run."""
    return {
        "data_notes": list(run.graph.names.notes) if run.graph.names else [],
        "settings": json.dumps(run.config.model_dump(mode="json"), ensure_ascii=False, indent=1),
        "versions": versions(run),
    }


def counts(graph: Graph) -> dict[str, int]:
    """How large a graph is."""
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "classes": graph.n_classes,
    }


def opening(run: StoredRun) -> dict[str, Any]:
    """What was run and what came of it."""
    records = run.records
    first = records[0]
    return {
        "name": run.name,
        "config": run.config,
        "counts": counts(run.graph),
        "what": "nodes" if run.config.task == "node" else "pairs",
        "peeked": run.config.selection == "test-peek",
        "verdict": verdict(records),
        "headline": headline(records),
        "figures": figures(run),
        "paired": tables.paired(records),
        "arms": tables.arms(records),
        "at_boundary": AT_BOUNDARY[first.get("boundary_mode", "node")],
        "boundary_mode": first.get("boundary_mode"),
        "messages": MESSAGES.get(messages(first)),
        "labels_as_features": first.get("labels_as_features", False),
        "predicted": predicted(run),
    }


def predicted(run: StoredRun) -> str | None:
    """Where a class for every node is, and by which arm; None for tasks on pairs, and before any seed has both arms."""
    if run.config.task != "node":
        return None
    try:
        _, chosen = choose_arm(run.records)
    except InputError:
        return None
    unknown = int((run.graph.y < 0).sum())
    without = f", the {unknown:,} without a label among them" if unknown else ""
    return f"{PREDICTIONS} has a class for every node{without}. {chosen}"


def figures(run: StoredRun) -> dict[str, str]:
    """The headline metric on the test part: control, bes, and the paired difference."""
    return tables.pair(run.records, headline(run.records)[0])


def notes(run: StoredRun) -> list[str]:
    """What there is to remark on the seeds."""
    each = [f"Seed {record['seed']}: {note}" for record in run.records for note in record["notes"]]
    return list(dict.fromkeys(each))


def versions(run: StoredRun) -> dict[str, list[dict[str, Any]]]:
    """By name, the versions under which records were made, each with its seeds: more than one where they differ."""
    found: dict[str, dict[str, set[int]]] = {}
    for record in run.records:
        for name, version in record["versions"].items():
            found.setdefault(name, {}).setdefault(version or "unknown", set()).add(record["seed"])
    return {
        name: [{"version": version, "seeds": sorted(seeds)} for version, seeds in by_version.items()]
        for name, by_version in found.items()
        if set(by_version) != {"unknown"}
    }


def _changes(run: StoredRun, found: list[Outcome], shown: list[int]) -> list[dict[str, Any]]:
    """Fixed and broken items of the seeds shown; a seed alone where there is nothing to compare."""
    if not found:
        return []
    count, around, names = tally(found, run.graph.n_nodes), Around(run.graph), class_names(run)
    by_seed = {outcome.seed: outcome for outcome in found}
    return [
        changes(by_seed[seed], count, around, names) if seed in by_seed else {"seed": seed, "fixed": None}
        for seed in shown
    ]


def _around(run: StoredRun, found: list[Outcome]) -> list[dict[str, Any]]:
    """What the neighbourhoods of fixed and broken nodes look like; empty for pairs, and where nothing changed."""
    if run.config.task != "node" or not any(one.fixed().any() or one.broken().any() for one in found):
        return []
    return neighborhoods(found, run.graph, lambda seed: run.split(seed)["train"])


def _curves(run: StoredRun, shown: list[int]) -> list[dict[str, Any]]:
    """How shaping went in the seeds shown, a seed alone where it was not shaped; empty where none was."""
    every = {seed: training.curves(run.history(seed)) for seed in shown}
    if not any(every.values()):
        return []
    told = {record["seed"]: training.told(record) for record in run.records if record["arm"] == "bes"}
    return [{"seed": seed, "told": told.get(seed, ""), **(one or {"layers": []})} for seed, one in every.items()]


def _calibration(run: StoredRun, found: list[Outcome]) -> dict[str, Any] | None:
    """Of the predicted class, and for links of the link: no threshold has a part in it."""
    if run.config.task != "link":
        return calibration.diagram(calibration.by_arm(found))
    return calibration.diagram(calibration.by_arm(found, of=1), calibration.LINK_AXES)


def messages(record: dict[str, Any]) -> str:
    """The key in `MESSAGES` of what a record's messages passed over."""
    message = str(record.get("message_graph", ""))
    return "leak" if (record["task"], message) == ("link", "all") else message
