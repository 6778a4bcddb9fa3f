"""Sheets filled from what was recorded, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bes.bench.data import Data
from bes.bench.fill import FilledCell, fill, read, shared_means
from bes.bench.model import ACCURACY, CONVERGENCE, Ask, Cell, Metric, Printed, Protocol, Sheet
from bes.bench.store import Store
from bes.bench.units import Unit, failed
from bes.config import RunConfig
from bes.records import library_version

Quick = Callable[..., RunConfig]

HASH = "d" * 64
HERE = {"small": Data("small", HASH)}
ABSENT = {"small": Data("small", None, "It is not here.")}
UNKNOWN = {"small": Data("small", None)}
HONEST = Protocol("validation", True, "")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, library_version())


def add(store: Store, config: RunConfig, seed: int, arm: str, acc: float | None, **more: Any) -> str:
    record = failed(Unit(config, seed, (arm,)), arm, "", HASH)
    record = {**record, "status": "done", "metrics": {"test": {"acc": acc}}, **more}
    store.add([record])
    return str(record["run_id"])


def filled(store: Store, cell: Cell, data: dict[str, Data] = HERE) -> FilledCell:
    sheet = Sheet("s", "S", HONEST, (cell,))
    found = fill(sheet, store, data)
    assert found.sheet is sheet
    assert found.at(cell.row, cell.column) is found.cells[0]
    assert found.at(cell.row, "elsewhere") is None
    return found.cells[0]


def cell(config: RunConfig, arm: str = "bes", metric: Metric = ACCURACY, text: str = "89.46", n: int = 3) -> Cell:
    value = None if text == "OOM" else float(text)
    return Cell("BES", "Cora", Ask(config, arm, metric, tuple(range(n))), Printed(text, value, None, "T", "r", "c"))


def test_values_are_by_seed_and_scaled(store: Store, quick: Quick) -> None:
    runs = {seed: add(store, quick(), seed, "bes", 0.9 + seed / 100) for seed in (2, 0, 1)}
    found = filled(store, cell(quick()))
    assert found.values == pytest.approx({0: 90.0, 1: 91.0, 2: 92.0})
    assert found.runs == runs
    assert found.problem == ""
    assert (found.summary.n, found.summary.mean) == (3, pytest.approx(91.0))
    assert found.difference == pytest.approx(91.0 - 89.46)


def test_a_metric_has_its_own_place_and_scale(store: Store, quick: Quick) -> None:
    add(store, quick(), 0, "bes", 0.9, convergence={"seconds": 2.5})
    assert filled(store, cell(quick(), metric=CONVERGENCE, n=1)).values == {0: 2.5}
    assert read({"metrics": {"test": {"f1": 0.5}}}, Metric("F1", "metrics.test.f1")) == 50.0
    assert read({"metrics": {"test": {}}}, ACCURACY) is None
    assert read({"metrics": None}, ACCURACY) is None
    assert read({"metrics": {"test": {"acc": 0.0}}}, ACCURACY) == 0.0, "nothing right is not nothing"


def test_each_arm_and_configuration_has_its_own_values(store: Store, quick: Quick) -> None:
    add(store, quick(), 0, "bes", 0.9)
    add(store, quick(), 0, "control", 0.8)
    add(store, quick(selection="test-peek"), 0, "bes", 0.99)
    add(store, quick(), 7, "bes", 0.1)
    assert filled(store, cell(quick(), n=1)).values == {0: pytest.approx(90.0)}
    assert filled(store, cell(quick(), "control", n=1)).values == {0: pytest.approx(80.0)}
    assert filled(store, cell(quick(), "gcn", n=1)).problem == "not measured yet"
    assert filled(store, cell(quick(shaper={"tau": 9.0}), n=1)).problem == "not measured yet"


def test_what_is_missing_is_said(store: Store, quick: Quick) -> None:
    nothing = filled(store, cell(quick()))
    assert (nothing.values, nothing.problem, nothing.difference) == ({}, "not measured yet", None)
    add(store, quick(), 1, "bes", 0.5)
    partial = filled(store, cell(quick()))
    assert (partial.values, partial.problem) == ({1: 50.0}, "1 of 3 splits")


def test_failures_are_said_and_leave_no_value(store: Store, quick: Quick) -> None:
    store.add([failed(Unit(quick(), 1), "bes", "Out of memory.", HASH)])
    found = filled(store, cell(quick()))
    assert (found.values, found.runs, found.problem) == ({}, {}, "failed: Out of memory.")
    add(store, quick(), 0, "bes", 0.5)
    assert filled(store, cell(quick())).problem == "1 of 3 splits, 1 failed: Out of memory."
    add(store, quick(), 1, "bes", 0.75)
    assert filled(store, cell(quick(), n=2)).problem == "", "it was tried again"


def test_methods_without_code_say_so(store: Store) -> None:
    found = filled(store, Cell("IGCL", "Cora", None, None, "method not built yet"), {})
    assert (found.values, found.problem, found.difference) == ({}, "method not built yet", None)


def test_data_that_are_not_here(store: Store, quick: Quick) -> None:
    """They stay empty, also where something was recorded once under that name."""
    assert filled(store, cell(quick()), ABSENT).problem == "data set absent"
    add(store, quick(), 0, "bes", 0.5)
    found = filled(store, cell(quick()), ABSENT)
    assert (found.values, found.problem) == ({}, "data set absent")


def test_data_that_nothing_says_are_not_here(store: Store, quick: Quick) -> None:
    found = filled(store, cell(quick()), UNKNOWN)
    assert (found.values, found.problem) == ({}, "not measured yet")


def test_times_that_are_not_what_they_are_called_are_counted(store: Store, quick: Quick) -> None:
    for seed, converged in enumerate((True, False, False)):
        add(store, quick(), seed, "bes", 0.5)
        record = {**store.records()[-1], "run_id": f"{seed}", "convergence": {"seconds": seed, "converged": converged}}
        store._note(record)
    asked = cell(quick())
    assert asked.ask is not None
    found = filled(store, replace(asked, ask=replace(asked.ask, metric=CONVERGENCE)))
    assert (found.values, found.problem) == ({0: 0.0, 1: 1.0, 2: 2.0}, "2 of 3 not converged")


def test_means_are_ordered_over_the_splits_that_all_have(quick: Quick) -> None:
    many, few = (FilledCell(cell(quick()), values, {}) for values in ({0: 1.0, 1: 5.0, 2: 9.0}, {1: 6.0, 0: 0.0}))
    assert shared_means({"many": many, "few": few}) == {"many": 3.0, "few": 3.0}
    assert shared_means({"many": many, "none": FilledCell(cell(quick()), {7: 1.0}, {})}) == {}
    assert shared_means({}) == {}


def test_records_of_other_data_are_not_shown(store: Store, quick: Quick) -> None:
    add(store, quick(), 0, "bes", 0.5)
    found = filled(store, cell(quick()), {"small": Data("small", "e" * 64)})
    assert (found.values, found.problem) == ({}, "not measured yet")


def test_without_a_printed_number_there_is_no_difference(store: Store, quick: Quick) -> None:
    add(store, quick(), 0, "bes", 0.5)
    assert filled(store, cell(quick(), text="OOM", n=1)).difference is None
    assert filled(store, Cell("BES", "Own", cell(quick(), n=1).ask)).difference is None
