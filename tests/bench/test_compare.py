"""Rows against a reference: paired on common splits, corrected over data sets, ranked where that means something."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bes.bench.compare import Comparison, compare, ranked
from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.model import ACCURACY, CONVERGENCE, F1, Ask, Cell, Metric, Protocol, Sheet
from bes.bench.stats import holm, signed_rank
from bes.config import RunConfig

CONFIG = RunConfig.build("small")
HONEST = Protocol("validation", True, "")

#: Values by seed, by row and column.
Given = Mapping[tuple[str, str], Mapping[int, float]]


def filled(
    given: Given, *, reference: str = "BES", metrics: Mapping[str, Metric] | None = None, seeds: int = 5
) -> FilledSheet:
    """A sheet; `metrics` names the metric of a column that is not accuracy."""
    cells = []
    for (row, column), values in given.items():
        ask = Ask(CONFIG, "bes", (metrics or {}).get(column, ACCURACY), tuple(range(seeds)))
        problem = "" if len(values) == seeds else f"{len(values)} of {seeds} splits"
        cells.append(FilledCell(Cell(row, column, ask), dict(values), dict.fromkeys(values, "run"), problem))
    sheet = Sheet("nodes", "Nodes", HONEST, tuple(cell.cell for cell in cells), "", reference)
    return FilledSheet(sheet, tuple(cells))


def spread(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def found(sheet: FilledSheet) -> dict[tuple[str, str], Comparison]:
    return {(one.row, one.column): one for one in compare(sheet)}


def test_pairs_are_the_common_splits_alone() -> None:
    """GCN has splits 0, 1 and 4, BES 1, 2 and 4: a split that only one has would turn the sign."""
    one = found(filled({("GCN", "a"): {0: 0.0, 1: 70.0, 4: 73.0}, ("BES", "a"): {1: 72.0, 2: 1.0, 4: 74.0}}))
    paired = one["GCN", "a"].paired
    assert (paired.n, paired.mean) == (2, -1.5)


def test_values_of_different_seeds_are_not_paired_by_place() -> None:
    sheet = filled({("GCN", "a"): {0: 70.0, 1: 90.0}, ("BES", "a"): {1: 91.0, 0: 71.0}})
    assert found(sheet)["GCN", "a"].paired.mean == -1.0


def test_without_a_common_split_there_is_no_comparison() -> None:
    assert compare(filled({("GCN", "a"): {0: 1.0}, ("BES", "a"): {1: 2.0}})) == []
    assert compare(filled({("GCN", "a"): {}, ("BES", "a"): spread(1, 2)})) == []
    assert compare(filled({("GCN", "a"): spread(1, 2), ("BES", "b"): spread(1, 2)})) == []


def test_without_a_reference_nothing_is_compared() -> None:
    assert compare(filled({("GCN", "a"): spread(1, 2), ("BES", "a"): spread(3, 4)}, reference="")) == []


def test_cells_that_nothing_is_asked_of_are_passed_over() -> None:
    sheet = filled({("BES", "a"): spread(1, 2, 3)})
    nothing = FilledCell(Cell("MLP", "a", None, why="method not built yet"), {}, {}, "method not built yet")
    whole = replace(sheet.sheet, cells=(*sheet.sheet.cells, nothing.cell))
    assert compare(FilledSheet(whole, (*sheet.cells, nothing))) == []


BES = spread(80, 80, 80, 80, 80)
BELOW, MIXED, ABOVE = spread(75, 76, 77, 78, 79), spread(82, 79, 83, 78, 85), spread(81, 82, 83, 84, 85)


def differences(values: dict[int, float]) -> list[float]:
    return [value - 80 for value in values.values()]


def test_holm_is_within_a_row_and_over_its_data_sets() -> None:
    columns = {"a": BELOW, "b": MIXED, "c": ABOVE}
    sheet = filled(
        {("BES", column): BES for column in columns}
        | {("GCN", column): values for column, values in columns.items()}
        | {("GAT", "a"): BELOW}
    )
    one = found(sheet)
    raw = [signed_rank(differences(values)) for values in columns.values()]
    assert [one["GCN", column].paired.p for column in columns] == raw
    assert [one["GCN", column].p for column in columns] == holm(raw)
    assert one["GCN", "a"].p == 3 * 0.0625
    assert one["GAT", "a"].p == one["GAT", "a"].paired.p == 0.0625, "another row's tests are not counted"


def test_metrics_are_families_of_their_own() -> None:
    columns = ("a acc", "b acc", "a F1", "a time")
    sheet = filled(
        {("BES", column): BES for column in columns} | {("GCN", column): BELOW for column in columns},
        metrics={"a F1": F1, "a time": CONVERGENCE},
    )
    one = found(sheet)
    assert len(one) == 5
    assert ("GCN", "mean of all, accuracy") in one
    assert [one["GCN", column].p for column in columns] == [0.125, 0.125, 0.0625, 0.0625]


def test_the_reference_is_subtracted_and_not_compared_with_itself() -> None:
    one = found(filled({("BES", "a"): BES, ("GCN", "a"): ABOVE, ("GAT", "a"): BELOW}))
    assert set(one) == {("GCN", "a"), ("GAT", "a")}
    assert (one["GCN", "a"].paired.mean, one["GAT", "a"].paired.mean) == (3, -3)


@pytest.mark.parametrize(("values", "clear"), [(ABOVE, True), (BELOW, True), (MIXED, False), ({0: 99.0}, False)])
def test_clear_is_an_interval_without_zero(values: dict[int, float], clear: bool) -> None:
    assert found(filled({("BES", "a"): BES, ("GCN", "a"): values}))["GCN", "a"].clear is clear


def three(*columns: str) -> dict[tuple[str, str], dict[int, float]]:
    return {(row, c): values for row, values in {"GCN": BELOW, "GAT": ABOVE, "BES": BES}.items() for c in columns}


def test_ranks_of_complete_methods() -> None:
    ranks = ranked(filled(three("a", "b")), ACCURACY)
    assert ranks is not None
    assert (ranks.n_datasets, ranks.average) == (2, {"GAT": 1.0, "BES": 2.0, "GCN": 3.0})


def test_lower_is_better_where_the_metric_says_so() -> None:
    sheet = filled(three("a", "b"), metrics={"a": CONVERGENCE, "b": CONVERGENCE})
    ranks = ranked(sheet, CONVERGENCE)
    assert ranks is not None
    assert ranks.methods == ("GCN", "BES", "GAT")


def test_too_few_methods_or_data_sets_have_no_ranks() -> None:
    assert ranked(filled(three("a")), ACCURACY) is None
    assert ranked(filled({at: values for at, values in three("a", "b").items() if at[0] != "GCN"}), ACCURACY) is None
    assert ranked(filled(three("a", "b")), F1) is None
    assert ranked(filled(three("a", "b"), metrics={"b": F1}), ACCURACY) is None
    assert ranked(filled({}), ACCURACY) is None


def test_a_method_that_lacks_a_split_or_a_data_set_is_not_ranked() -> None:
    partial, absent = three("a", "b"), three("a", "b")
    partial["SGC", "a"], partial["SGC", "b"] = ABOVE, spread(99, 99)
    absent["SGC", "a"] = ABOVE
    for given in (partial, absent):
        ranks = ranked(filled(given), ACCURACY)
        assert ranks is not None
        assert "SGC" not in ranks.average
        assert len(ranks.average) == 3
    partial["GCN", "b"] = spread(1)
    assert ranked(filled(partial), ACCURACY) is None, "two complete methods are left"


def test_a_method_with_another_data_set_does_not_remove_the_others() -> None:
    given = three("a", "b")
    given["GAT", "c"] = ABOVE
    ranks = ranked(filled(given), ACCURACY)
    assert ranks is not None
    assert (ranks.n_datasets, len(ranks.methods)) == (2, 3)


def test_without_the_reference_nothing_is_ranked() -> None:
    given = three("a", "b")
    given["SGC", "a"], given["SGC", "b"] = ABOVE, ABOVE
    given["BES", "a"], given["BES", "b"] = spread(1), spread(1)
    assert ranked(filled(given), ACCURACY) is None


def test_the_mean_of_all_is_by_split_over_data_sets() -> None:
    """Split 1 is not on all data sets and does not count."""
    bes = {("BES", "a"): {0: 70.0, 1: 10.0, 2: 72.0}, ("BES", "b"): {0: 50.0, 2: 51.0}}
    gcn = {("GCN", "a"): {0: 71.0, 1: 90.0, 2: 75.0}, ("GCN", "b"): {0: 53.0, 2: 50.0}}
    paired = found(filled(bes | gcn))["GCN", "mean of all, accuracy"].paired
    assert (paired.n, paired.mean) == (2, 1.5)  # (1 + 3) / 2 and (3 - 1) / 2
    assert paired.error == pytest.approx(0.5)
    alone = filled({("BES", "a"): {0: 70.0, 2: 72.0}, ("GCN", "a"): {0: 71.0, 2: 75.0}})
    assert list(found(alone)) == [("GCN", "a")]
