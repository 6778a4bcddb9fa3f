"""Neighbourhoods of fixed and broken nodes, against a loop over nodes and neighbours."""

from __future__ import annotations

from statistics import fmean, median

import numpy as np
import pytest
import torch

from bes.graph.graph import Graph
from bes.report.content import content
from bes.report.neighborhoods import GROUPS, neighborhoods
from bes.report.outcomes import Outcome, outcomes
from bes.stored import StoredRun


def naive(found: list[Outcome], run: StoredRun, name: str) -> tuple[int, float, float, float]:
    row, col = run.graph.edge_index.tolist()
    near: dict[int, list[int]] = {i: [] for i in range(run.graph.n_nodes)}
    for a, b in zip(row, col, strict=True):
        near[a].append(b)
    y = run.graph.y.tolist()
    degrees, alike, known = [], [], []
    for outcome in found:
        train = set(run.split(outcome.seed)["train"].tolist())
        for i, node in enumerate(outcome.items[:, 0].tolist()):
            right = tuple(bool(outcome.guess[arm][i] == outcome.truth[i]) for arm in ("control", "bes"))
            if right == GROUPS[name]:
                others = near[node]
                degrees.append(len(others))
                if others:
                    alike.append(fmean(y[other] == y[node] for other in others))
                    known.append(fmean(other in train for other in others))
    return len(degrees), median(degrees), fmean(alike), fmean(known)


def test_groups_are_those_of_a_loop(stored: StoredRun) -> None:
    found = outcomes(stored)
    rows = neighborhoods(found, stored.graph, lambda seed: stored.split(seed)["train"])
    assert [row["name"] for row in rows] == list(GROUPS)
    assert sum(row["nodes"] for row in rows) == sum(len(outcome.truth) for outcome in found)
    some = 0
    for row in rows:
        if row["nodes"]:
            expected = naive(found, stored, row["name"])
            got = (row["nodes"], row["neighbors"], row["alike"], row["known"])
            assert got == pytest.approx(expected)
            some += 1
    assert some >= 3, "or this shows little"


def test_groups_without_nodes_or_neighbours_say_so() -> None:
    graph = Graph(torch.eye(4), torch.tensor([[0], [1]]), torch.tensor([0, 1, 0, 1]))
    prob = np.array([[0.9, 0.1]])
    guess = {"control": np.array([0]), "bes": np.array([0])}
    alone = Outcome(0, np.array([[2]]), np.array([0]), {"control": prob, "bes": prob}, guess)
    rows = {row["name"]: row for row in neighborhoods([alone], graph, lambda _: np.array([0, 1]))}
    nothing = {"alike": None, "known": None}
    assert rows["right in both"] == {"name": "right in both", "nodes": 1, "neighbors": 0.0, **nothing}
    assert rows["fixed"] == {"name": "fixed", "nodes": 0, "neighbors": None, **nothing}


def test_the_report_has_them(stored: StoredRun) -> None:
    assert len(content(stored, with_map=False)["around"]) == 4
