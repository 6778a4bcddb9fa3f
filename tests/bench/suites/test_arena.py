"""The arena: every method on every graph, on the same splits, with one budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bes.bench.model import Cell, Sheet, Suite
from bes.bench.suites import arena
from bes.bench.suites.settings import DATASETS
from bes.bench.units import units_of
from bes.models.baselines import METHODS
from bes.models.heuristics import HEURISTICS


@pytest.fixture(scope="module", params=["nodes", "links"])
def suite(request: pytest.FixtureRequest) -> Suite:
    return {"nodes": arena.arena_nodes, "links": arena.arena_links}[request.param]()


def cells(suite: Suite) -> list[Cell]:
    return [cell for sheet in suite.sheets for cell in sheet.cells]


def methods(suite: Suite) -> list[Sheet]:
    """The sheets of all methods."""
    return [sheet for sheet in suite.sheets if sheet.name != "arena-smoothing"]


def test_what_correct_and_smooth_adds_is_of_the_same_runs() -> None:
    whole, added = arena.arena_nodes().sheets
    own = [cell.ask for cell in whole.cells if cell.row == "correct-and-smooth"]
    assert [cell.ask for cell in added.cells] == [replace(ask, metric=arena.GAIN) for ask in own if ask]


def test_every_method_that_can_stands_in_it(suite: Suite) -> None:
    expected = set(METHODS) - arena.ELSEWHERE
    if suite.name == "arena-links":
        expected = {name for name in expected if METHODS[name].kind.pairs} | set(HEURISTICS)
    assert {cell.ask.arm for cell in cells(suite) if cell.ask} == expected
    for sheet in methods(suite):
        assert len(sheet.rows) == len(expected), "no two methods share a row"
        assert sheet.reference == "BES"
        assert {"BES", "BES without shaping", "GCN", "H2GCN", "igcl-released"} <= set(sheet.rows)


def test_all_have_the_same_budget_and_splits(suite: Suite) -> None:
    slow = arena.SLOW["NC" if suite.name == "arena-nodes" else "LP"]
    for cell in cells(suite):
        assert cell.ask is not None
        config, arm = cell.ask.config, cell.ask.arm
        assert config.tune == (arena.TRIALS if arm in METHODS else 0)
        assert config.split == "random"
        assert config.selection == "validation"
        assert tuple(config.methods) == (arm,)
        assert config.dataset == DATASETS[cell.column]
        assert cell.ask.seeds == tuple(range(3 if arm in slow.get(cell.column, ()) else 10))


def test_graphs_are_those_that_it_names() -> None:
    assert arena.arena_nodes().sheets[0].columns == list(arena.NODES)
    assert len(arena.NODES) == 10
    assert arena.arena_links().sheets[0].columns == ["Cora", "CiteSeer", "PubMed", "Amazon Photo"]


def test_the_papers_figures_stand_beside(suite: Suite) -> None:
    printed = {(cell.row, cell.column): cell.printed for cell in methods(suite)[-1].cells}
    of_bes = {column: found.value for (row, column), found in printed.items() if row == "BES" and found}
    task = {"arena-nodes": "nodes", "arena-links": "links"}[suite.name]
    assert (
        of_bes
        == {
            "nodes": {"Cora": 89.46, "CiteSeer": 78.4, "PubMed": 91.03, "Cornell": 89.19, "Texas": 89.19},
            "links": {"Cora": 94.45, "CiteSeer": 96.27, "PubMed": 97.89},
        }[task]
    )
    assert printed["mlp", "Cora"] is None


def test_a_unit_is_a_method_on_a_split_and_tuned_ones_go_together(suite: Suite) -> None:
    units = units_of([suite])
    first = [unit for unit in units if unit.arms == ("gcn",) and unit.config.dataset == "cora"]
    assert [unit.seed for unit in first] == list(range(10))
    assert len({unit.group for unit in first}) == 1, "one study serves all its splits"
