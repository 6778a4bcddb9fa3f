"""The paper's experiments, the arena of all methods, and where preset `strong` pays: declarative grids by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path

from bes.bench.model import Suite
from bes.bench.suites import arena, comparisons, pictures, shaping, variants
from bes.bench.suites.own import read_suite
from bes.errors import InputError, did_you_mean

SUITES: dict[str, Callable[[], Suite]] = {
    "table1": comparisons.table1,
    "f1-auc-nc": comparisons.f1_auc_nc,
    "f1-auc-lp": comparisons.f1_auc_lp,
    "challenging-nc": comparisons.challenging_nc,
    "challenging-lp": comparisons.challenging_lp,
    "topology-vs-embedding": variants.topology_vs_embedding,
    "pairwise-vs-centers": variants.pairwise_vs_centers,
    "ablation-nc": variants.ablation_nc,
    "ablation-lp": variants.ablation_lp,
    "boundary-nodes": variants.boundary_nodes,
    "sensitivity": variants.sensitivity,
    "arena-nodes": arena.arena_nodes,
    "arena-links": arena.arena_links,
    "few-labels": shaping.few_labels,
    "noisy-graphs": shaping.noisy_graphs,
    "full-labels": shaping.full_labels,
    "unseen-graphs": shaping.unseen_graphs,
    "no-labels": shaping.no_labels,
    "shaping-process": pictures.shaping_process,
    "encoders": pictures.encoders,
    "final-embeddings": pictures.final_embeddings,
    "convergence": pictures.convergence,
    "binary-vs-multiclass": pictures.binary_vs_multiclass,
}

#: Every suite.
ALL = "all"


def listed() -> list[tuple[str, str]]:
    """Name and title of each suite."""
    return [(name, make().title) for name, make in SUITES.items()]


def chosen_suites(names: Sequence[str]) -> list[Suite]:
    """The suites of the names, `all`, or files."""
    found: dict[str, Suite] = {}
    source: dict[str, str] = {}
    for name in names:
        for suite in _suites(name):
            origin = "" if name == ALL or name in SUITES else name
            if source.setdefault(suite.name, origin) != origin:
                raise InputError(f"Two suites are called '{suite.name}': rename the file of one of them.")
            found[suite.name] = suite
    return list(found.values())


def _suites(name: str) -> list[Suite]:
    if name == ALL:
        return [make() for make in SUITES.values()]
    if name in SUITES:
        return [SUITES[name]()]
    if Path(name).suffix in (".yaml", ".yml", ".json"):
        return [read_suite(Path(name))]
    near = difflib.get_close_matches(name, SUITES)
    hint = did_you_mean(near, f"use {', '.join(SUITES)}, all, or a .yaml file.")
    raise InputError(f"The suite '{name}' is not known: {hint}")
