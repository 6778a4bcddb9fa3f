"""The tables of methods, and what holds for every suite: the right run and the printed value in each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from bes.bench import paper
from bes.bench.model import ACCURACY, AUC, F1, PAIRED, Cell, Sheet, Suite
from bes.bench.suites import SUITES, arena, comparisons
from bes.bench.suites.cells import SLOW
from bes.bench.suites.settings import CONTROL, DATASETS, METHODS
from bes.bench.units import unit_of
from bes.models.convs import CONVS
from bes.pipeline.methods import resolved

MAIN = ["Cora", "CiteSeer", "PubMed", "WikiCS"]


@cache
def suite(name: str) -> Suite:
    return SUITES[name]()


def sheet(name: str) -> Sheet:
    (found,) = [sheet for key in SUITES for sheet in suite(key).sheets if sheet.name == name]
    return found


def at(name: str, row: str, column: str) -> Cell:
    (found,) = [cell for cell in sheet(name).cells if (cell.row, cell.column) == (row, column)]
    return found


def every() -> Iterator[tuple[Sheet, Cell]]:
    for name in SUITES:
        for found in suite(name).sheets:
            yield from ((found, cell) for cell in found.cells)


# Every suite


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_builds_under_its_own_name(name: str) -> None:
    made = suite(name)
    assert made.name == name
    assert made.sheets or made.pictures
    assert made.title
    assert SUITES[name]() == made, "twice the same"
    for found in made.sheets:
        assert len(found.cells) == len(found.rows) * len(found.columns), "a cell for each row and column"
        assert Counter((cell.row, cell.column) for cell in found.cells).most_common(1)[0][1] == 1
        places = [(found.rows.index(cell.row), found.columns.index(cell.column)) for cell in found.cells]
        assert places == sorted(places), "by rows"


def test_names_of_sheets_are_unique() -> None:
    names = Counter(found.name for name in SUITES for found in suite(name).sheets)
    assert names.most_common(1)[0][1] == 1


def test_honest_sheets_never_peek_or_leak_and_the_others_always_do() -> None:
    seen = set()
    for found, cell in every():
        if cell.ask is None:
            continue
        config = cell.ask.config
        dishonest = config.selection == "test-peek" or config.links.message == "all"
        assert dishonest is not found.protocol.honest, (found.name, cell.row, cell.column)
        assert config.links.message != "train+val"
        kind = {"validation": (False, False), "test-peek": (True, False), "leaky messages": (False, True)}
        assert (config.selection == "test-peek", config.links.message == "all") == kind[found.protocol.name]
        seen.add((config.task, found.protocol.name))
    assert seen == {("node", "validation"), ("node", "test-peek"), ("link", "validation"), ("link", "leaky messages")}


def test_statistics_hold_rows_against_a_row_that_runs() -> None:
    for name in SUITES:
        for found in suite(name).sheets:
            asked = {cell.row for cell in found.cells if cell.ask is not None}
            single = name == "sensitivity" or found.name == "arena-smoothing"
            assert found.reference == "" if single else found.reference in asked, found.name


def test_dishonest_sheets_are_named_apart() -> None:
    for name in SUITES:
        for found in suite(name).sheets:
            assert found.name.endswith(("-peek", "-leak")) is not found.protocol.honest


def test_a_printed_value_stands_in_the_cell_it_was_printed_in() -> None:
    for found, cell in every():
        if cell.printed is not None:
            column = cell.printed.column
            if found.name.startswith("arena"):  # whose columns are data sets alone
                column = column.removesuffix(" NC").removesuffix(" LP").removesuffix(" AUC")
            assert (cell.printed.row, column) == (cell.row, cell.column)
            number = int(cell.printed.table.removeprefix("Table "))
            assert paper.printed(number, cell.row, cell.printed.column) == cell.printed


def test_nothing_is_filled_by_another_data_set() -> None:
    """Above all Roman-empire not by the file that has its edges but not its features."""
    seen = Counter()
    for found, cell in every():
        if cell.ask is None:
            continue
        where = cell.row if found.name.startswith("sensitivity") else cell.column
        title = where if where in DATASETS else where.rsplit(" ", 1)[0] if "%" in where else where.split()[0]
        graph, _, _ = cell.ask.config.dataset.partition("#")
        assert graph == DATASETS[title], (found.name, where)
        seen[graph] += 1
    assert set(seen) == set(DATASETS.values())
    assert "roman_empire_nofeat" not in seen
    assert at("challenging-nc", "BES", "Roman-empire").ask.config.dataset == "roman_empire"  # type: ignore[union-attr]


def test_every_ask_has_splits_and_no_other_arms_in_its_configuration() -> None:
    for found, cell in every():
        if cell.ask is not None and min(cell.ask.seeds) < 100:  # those of shaping have tests of their own
            assert cell.ask.seeds == tuple(range(len(cell.ask.seeds)))
            slow = any(cell.ask.arm in arms for of in (SLOW, *arena.SLOW.values()) for arms in of.values())
            assert len(cell.ask.seeds) in ((3, 5, 10) if slow else (5, 10))
            assert cell.ask.config.rivals == (), found.name
            assert cell.ask.config.preset == "paper"


# Tables of methods

TABLES = {
    1: ["table1-nc", "table1-nc-peek", "table1-lp", "table1-lp-leak"],
    9: ["f1-auc-nc", "f1-auc-nc-peek"],
    10: ["f1-auc-lp", "f1-auc-lp-leak"],
    11: ["challenging-nc", "challenging-nc-peek"],
    12: ["challenging-lp"],
}
OF_METHODS = [(table, name) for table, names in TABLES.items() for name in names]


@pytest.mark.parametrize(("table", "name"), OF_METHODS)
def test_rows_are_the_papers_and_every_cell_is_run(table: int, name: str) -> None:
    found = sheet(name)
    own = "w/o BES" if table in (11, 12) else CONTROL
    expected = ["GCN", "BES", CONTROL] if name.endswith("-leak") else paper.rows(table)
    if name.endswith("-peek"):
        expected = [row for row in expected if row in comparisons.PEEKED]
    assert found.rows == [*expected, *([] if own in expected else [own])]
    for cell in found.cells:
        assert cell.ask is not None
        assert cell.why == ""
        assert cell.ask.arm == METHODS[cell.row]
        assert tuple(cell.ask.config.methods) in ((), (cell.ask.arm,))
    assert at(name, own, found.columns[0]).ask.arm == "control"  # type: ignore[union-attr]


@pytest.mark.parametrize(("table", "name"), OF_METHODS)
def test_the_whole_table_is_printed(table: int, name: str) -> None:
    found = sheet(name)
    task = name.split("-")[1].upper() if table == 1 else ""
    columns = [column for column in paper.columns(table) if column.endswith(task)]
    more = ["Chameleon (filtered)"] if name == "challenging-nc" else []
    assert sorted(found.columns) == sorted([*columns, *more])
    for cell in found.cells:
        in_paper = cell.row in paper.rows(table) and cell.column in columns
        assert (cell.printed == paper.printed(table, cell.row, cell.column)) if in_paper else cell.printed is None


def test_printed_values_as_the_paper_has_them() -> None:
    for name, row, column, text in [
        ("table1-nc", "BES", "Cora NC", "89.46"),
        ("table1-nc-peek", "KGNN", "WikiCS NC", "28.06"),
        ("table1-lp", "KGNN", "WikiCS LP", "-"),
        ("table1-lp-leak", "GCN", "PubMed LP", "93.70"),
        ("table1-nc", "MotifRGC-GCN", "WikiCS NC", "OOM"),
        ("f1-auc-nc", "BES", "Cora F1", "88.41±0.35"),
        ("f1-auc-nc-peek", "GCN", "CiteSeer AUC", "92.60±0.24"),
        ("f1-auc-lp", "IGCL", "Cora AUC", "99.15±0.16"),
        ("f1-auc-lp-leak", "BES", "WikiCS F1", "92.27±0.05"),
        ("challenging-nc", "w/o BES", "ogbn-arxiv", "73.05"),
        ("challenging-nc-peek", "BES", "Texas", "89.19"),
        ("challenging-lp", "w/o BES", "ogbl-collab", "62.68"),
    ]:
        printed = at(name, row, column).printed
        assert printed is not None
        assert printed.text == text


def test_metrics_are_those_of_the_columns() -> None:
    for _, name in OF_METHODS:
        for cell in sheet(name).cells:
            expected = {"F1": F1, "AUC": AUC}.get(cell.column.split()[-1], ACCURACY)
            assert cell.ask is None or cell.ask.metric == expected
    assert (ACCURACY.path, F1.path, AUC.path) == ("metrics.test.acc", "metrics.test.f1", "metrics.test.auroc")


def test_tasks_are_those_of_the_sheets() -> None:
    for _, name in OF_METHODS:
        task = "link" if "-lp" in name else "node"
        assert {cell.ask.config.task for cell in sheet(name).cells if cell.ask} == {task}


def test_bes_has_ten_splits_where_it_is_compared_and_the_rows_of_a_sheet_the_same_runs() -> None:
    for name in ("table1-nc", "table1-lp", "f1-auc-nc", "f1-auc-lp", "challenging-nc"):
        for cell in sheet(name).cells:
            if cell.ask is not None and cell.ask.arm in PAIRED:
                assert cell.ask.seeds == tuple(range(10)), (name, cell.row)
    for name in ("table1-nc-peek", "table1-lp-leak", "challenging-lp"):
        assert {len(cell.ask.seeds) for cell in sheet(name).cells if cell.ask} == {5}
    for dataset in MAIN:
        bes, control = at("table1-nc", "BES", f"{dataset} NC").ask, at("table1-nc", CONTROL, f"{dataset} NC").ask
        assert bes is not None
        assert control is not None
        assert unit_of(bes) == unit_of(control), "one run has both"
        f1 = at("f1-auc-nc", "BES", f"{dataset} F1").ask
        assert f1 is not None
        assert unit_of(f1) == unit_of(bes), "the tables share their runs"


def test_a_rival_is_trained_by_itself_with_the_settings_of_all() -> None:
    for _, name in OF_METHODS:
        for cell in sheet(name).cells:
            if cell.ask is None or cell.ask.arm in PAIRED:
                continue
            assert cell.ask.arms == (cell.ask.arm,)
            bes = at(name, "BES", cell.column).ask
            assert bes is not None
            if cell.ask.arm not in CONVS:
                own = {"methods": cell.ask.config.methods, "settings": "paper"}
                assert bes.config.model_copy(update=own) == cell.ask.config
                assert resolved(cell.ask.config) == cell.ask.config, "every option is written out"
                continue
            assert cell.ask.config.encoders.names == (cell.ask.arm,)
            names = bes.config.encoders.model_copy(update={"names": (cell.ask.arm,)})
            assert bes.config.model_copy(update={"encoders": names}) == cell.ask.config
