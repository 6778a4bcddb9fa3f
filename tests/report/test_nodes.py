from dataclasses import replace

import numpy as np
import pytest

from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.report.nodes import NEIGHBORS, ROWS, Around, changes, tally
from bes.report.outcomes import Outcome, outcomes
from bes.stored import StoredRun


@pytest.fixture(scope="module")
def named(small_graph: Graph) -> Graph:
    ids = tuple(f"node {i}" for i in range(small_graph.n_nodes))
    y = small_graph.y.clone()
    y[::7] = -1
    return replace(small_graph, y=y, names=Names(ids, classes=("red", "green", "blue")))


def naive(found: list[Outcome], fixed: bool) -> dict[int, set[int]]:
    """Seed to the nodes that bes put right, or wrong, node by node."""
    result: dict[int, set[int]] = {}
    for outcome in found:
        result[outcome.seed] = set()
        for i, node in enumerate(outcome.items[:, 0].tolist()):
            before = outcome.prob["control"][i].argmax() == outcome.truth[i]
            after = outcome.prob["bes"][i].argmax() == outcome.truth[i]
            if before != after and after == fixed:
                result[outcome.seed].add(node)
    return result


def test_fixed_and_broken_are_those_of_a_loop(stored: StoredRun) -> None:
    found = outcomes(stored)
    count, around = tally(found, stored.graph.n_nodes), Around(stored.graph)
    some = 0
    for what, fixed in (("fixed", True), ("broken", False)):
        expected = naive(found, fixed)
        for outcome in found:
            table = changes(outcome, count, around, ["0", "1", "2"])[what]
            assert {int(row["id"]) for row in table["rows"]} == expected[outcome.seed]
            assert table["total"] == len(expected[outcome.seed])
            some += table["total"]
    assert some, "a run in which nothing changes tests nothing"


def made(seed: int, n: int = 60) -> Outcome:
    """An outcome of random predictions for some of the small graph's nodes: many are fixed and many broken."""
    rng = np.random.default_rng(seed)
    prob = {arm: rng.dirichlet(np.ones(3), n) for arm in ("control", "bes")}
    items = np.sort(rng.permutation(150)[:n])[:, None]
    return Outcome(seed, items, rng.integers(0, 3, n), prob, {arm: p.argmax(1) for arm, p in prob.items()})


@pytest.mark.parametrize(("what", "right", "wrong"), [("fixed", "bes", "control"), ("broken", "control", "bes")])
def test_rows_say_truth_predictions_and_how_often(small_graph: Graph, what: str, right: str, wrong: str) -> None:
    found = [made(seed) for seed in range(4)]
    count, around = tally(found, small_graph.n_nodes), Around(small_graph)
    outcome = found[0]
    rows = changes(outcome, count, around, ["a", "b", "c"])[what]["rows"]
    assert len(rows) > 5
    for row in rows:
        node = int(row["id"])
        i = outcome.items[:, 0].tolist().index(node)
        assert row["truth"] == row[right]["name"] == "abc"[outcome.truth[i]]
        assert row["truth"] != row[wrong]["name"] == "abc"[outcome.prob[wrong][i].argmax()]
        for arm in (right, wrong):
            assert row[arm]["prob"] == pytest.approx(outcome.prob[arm][i].max())
        tested = sum(node in other.items[:, 0] for other in found)
        fixed, broken = (sum(node in nodes for nodes in naive(found, f).values()) for f in (True, False))
        assert row["over_seeds"].startswith(f"fixed {fixed}, broken {broken} of {tested} seed")


def test_the_neighbourhood_is_that_of_a_loop(named: Graph) -> None:
    around = Around(named)
    edges = named.edge_index.T.tolist()
    names = {-1: "unknown", 0: "red", 1: "green", 2: "blue"}
    for node in range(0, named.n_nodes, 5):
        near = sorted(col for row, col in edges if row == node)
        found = around.of(node)
        assert found["total"] == len(near)
        by_class = {one["name"]: one["n"] for one in found["by_class"]}
        kinds = [names[int(named.y[other])] for other in near]
        assert by_class == {name: kinds.count(name) for name in set(kinds)}
        assert list(by_class.values()) == sorted(by_class.values(), reverse=True)
        first = [(f"node {other}", names[int(named.y[other])]) for other in near[:NEIGHBORS]]
        assert [(one["id"], one["name"]) for one in found["first"]] == first
        assert found["more"] == max(0, len(near) - NEIGHBORS)


def test_long_lists_are_cut_and_say_so_with_the_largest_change_first(small_graph: Graph) -> None:
    n = 120
    truth = np.zeros(n, dtype=np.int64)
    sure = np.linspace(0.51, 0.99, n)
    prob = {"control": np.tile([0.4, 0.6], (n, 1)), "bes": np.stack([sure, 1 - sure], axis=1)}
    outcome = Outcome(0, np.arange(n)[:, None], truth, prob, {arm: p.argmax(1) for arm, p in prob.items()})
    found = changes(outcome, tally([outcome], 150), Around(small_graph), ["a", "b"])
    assert (found["fixed"]["total"], len(found["fixed"]["rows"]), found["fixed"]["more"]) == (n, ROWS, n - ROWS)
    assert [row["id"] for row in found["fixed"]["rows"]] == [str(i) for i in range(n - 1, n - 1 - ROWS, -1)]
    assert found["broken"] == {"total": 0, "rows": [], "more": 0}


def test_pairs_are_named_by_both_ends_and_counted_over_seeds(pair_runs: dict[str, StoredRun]) -> None:
    run = pair_runs["pairs"]
    found = outcomes(run)
    count = tally(found, run.graph.n_nodes)
    assert count.tested.sum() == sum(len(outcome.truth) for outcome in found)
    rows = [
        row
        for outcome in found
        for part in ("fixed", "broken")
        for row in changes(outcome, count, Around(run.graph), ["no", "yes"])[part]["rows"]
    ]
    assert rows
    for row in rows:
        assert len(row["id"].split(" \N{EN DASH} ")) == 2
        assert row["neighbors"] is None
