"""The printed values: every file reads, names are spelt one way, and the paper's contradictions are found."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.bench import paper
from bes.errors import InputError

DATASETS = {
    "Cora",
    "CiteSeer",
    "PubMed",
    "WikiCS",
    "Chameleon",
    "Cornell",
    "Texas",
    "Roman-empire",
    "ogbn-arxiv",
    "ogbl-collab",
}
BY_METHOD = (1, 9, 10, 11, 12)
CELLS = [
    (1, "BES", "Cora NC", "89.46"),
    (1, "KGNN", "WikiCS LP", "-"),
    (1, "MotifRGC-GAT", "PubMed LP", "97.64"),
    (1, "MotifRGC-SAGE", "WikiCS NC", "OOM"),
    (1, "GraphECL", "WikiCS LP", "51.99"),
    (6, "NC Graph Topology", "PubMed", "91.09±0.06"),
    (6, "LP Graph Topology", "Cora", "94.92±0.01"),
    (6, "LP Embedding Space", "WikiCS", "92.24±0.04"),
    (7, "NC Pairwise Objective", "Cora", "89.42±0.21"),
    (7, "NC Center-based Approximation", "CiteSeer", "78.20±0.06"),
    (7, "LP Pairwise Objective", "PubMed", "97.81±0.14"),
    (8, "NC Center-based Approximation", "Cora", "~160"),
    (8, "NC Pairwise Objective", "WikiCS", "~1500"),
    (8, "LP Center-based Approximation", "WikiCS", "~400"),
    (9, "GCN", "Cora F1", "86.38±0.40"),
    (9, "H2GCN", "WikiCS AUC", "87.60±0.94"),
    (9, "BES", "CiteSeer AUC", "92.86±0.04"),
    (10, "KGNN", "WikiCS F1", "-"),
    (10, "GraphECL", "WikiCS F1", "11.07±15.66"),
    (10, "BES", "Cora AUC", "99.03±0.01"),
    (11, "KGNN", "Cornell", "89.19"),
    (11, "MPNN-GAT", "Roman-empire", "81.87"),
    (11, "w/o BES", "ogbn-arxiv", "73.05"),
    (12, "GAT", "ogbl-collab", "64.91"),
    (12, "w/o BES", "ogbl-collab", "62.68"),
    (12, "BES", "ogbl-collab", "65.84"),
    (14, "Enc1+2", "PubMed", "90.30±0.017"),
    (14, "L1", "WikiCS", "85.30±0.15"),
    (14, "L1+2", "Cora", "89.46±0.15"),
    (15, "Enc", "Cora", "92.98±0.08"),
    (15, "L1", "PubMed", "97.80±0.02"),
    (15, "L1+2", "CiteSeer", "96.27±0.04"),
    (16, "w/ boundary nodes", "Cora", "90.39"),
    (16, "w/o boundary nodes", "ogbn-arxiv", "72.54"),
    (16, "w/ boundary nodes", "Cornell", "81.19"),
]
numbers = st.decimals(min_value=0, max_value=10_000, places=2)


@pytest.mark.parametrize(("table", "row", "column", "text"), CELLS)
def test_a_cell_is_what_the_paper_prints(table: int, row: str, column: str, text: str) -> None:
    cell = paper.printed(table, row, column)
    assert (cell.text, cell.table, cell.row, cell.column) == (text, f"Table {table}", row, column)
    assert (cell.value, cell.spread) == paper.parse(text)


def test_every_table_has_its_file_and_three_checked_cells() -> None:
    files = {file.name for file in resources.files(paper).iterdir() if file.name.endswith(".csv")}
    assert files == {f"table-{table:02d}.csv" for table in paper.TABLES}
    assert all(sum(cell[0] == table for cell in CELLS) >= 3 for table in paper.TABLES)


def test_figures_of_single_runs_are_told_from_means() -> None:
    for column in ("Cornell", "Texas"):
        whole, of = paper.shares(column, 37)
        assert of == len(paper.rows(11))
        assert whole > of / 2
    assert paper.shares("Chameleon", 37)[0] < 3
    assert paper.shares("Roman-empire", 37)[0] < 3


@pytest.mark.parametrize("table", paper.TABLES)
def test_every_cell_of_a_table_reads(table: int) -> None:
    cells = [paper.printed(table, row, column) for row in paper.rows(table) for column in paper.columns(table)]
    lines = resources.files(paper).joinpath(f"table-{table:02d}.csv").read_text(encoding="utf-8").splitlines()
    assert len(cells) == sum(line.count(",") for line in lines[1:])
    assert len({line.count(",") for line in lines}) == 1
    for cell in cells:
        assert (cell.value is None) == (cell.text in paper.NO_NUMBER)
        assert (cell.spread is None) == ("±" not in cell.text)
        assert cell.value is None or table == 8 or 0 < cell.value <= 100


@pytest.mark.parametrize(
    ("text", "value", "spread"),
    [
        ("89.46", 89.46, None),
        ("86.38±0.40", 86.38, 0.40),
        ("90.30±0.017", 90.30, 0.017),
        ("98.44±0.00", 98.44, 0.0),
        ("~160", 160.0, None),
        ("OOM", None, None),
        ("-", None, None),
    ],
)
def test_a_text_gives_its_value_and_spread(text: str, value: float | None, spread: float | None) -> None:
    assert paper.parse(text) == (value, spread)


@given(numbers, numbers)
def test_a_value_and_its_spread_come_back(value: object, spread: object) -> None:
    assert paper.parse(f"{value}±{spread}") == (float(str(value)), float(str(spread)))


@given(st.text().filter(lambda text: text not in paper.NO_NUMBER and not any(c in "0123456789" for c in text)))
def test_a_text_without_a_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a number"):
        paper.parse(text)


@pytest.mark.parametrize("text", ["89.46±", "±0.4", "89,46", "89.46 ± 0.1", "$89$", "--", "nan", "1e3", "٣"])
def test_a_half_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a number"):
        paper.parse(text)


def test_datasets_and_methods_are_spelt_one_way() -> None:
    assert {column.split()[0] for table in paper.TABLES for column in paper.columns(table)} == DATASETS
    added = {word for table in paper.TABLES for column in paper.columns(table) for word in column.split()[1:]}
    assert added == {"NC", "LP", "F1", "AUC"}
    methods = set(paper.rows(1))
    assert set(paper.rows(9)) == set(paper.rows(10)) == methods
    assert (set(paper.rows(11)) | set(paper.rows(12))) - methods == {"w/o BES"}
    assert all(paper.rows(table)[-1] == "BES" for table in BY_METHOD)


def test_settings_are_spelt_one_way() -> None:
    assert paper.rows(7) == paper.rows(8)
    assert {row.split()[0] for table in (6, 7, 8) for row in paper.rows(table)} == {"NC", "LP"}
    assert paper.rows(14) == ["Enc1", "Enc2", "Enc1+2", "L1", "L1+2"]
    assert paper.rows(15) == ["Enc", "L1", "L1+2"]
    assert paper.rows(16) == ["w/o boundary nodes", "w/ boundary nodes"]


@pytest.mark.parametrize(
    ("table", "row", "column", "words"),
    [
        (1, "BES", "cora nc", "column 'cora nc' is not in Table 1 of the paper: did you mean Cora NC"),
        (9, "H2GNN", "Cora F1", "row 'H2GNN' is not in Table 9 of the paper: did you mean H2GCN"),
        (12, "zzzz", "ogbl-collab", "row 'zzzz' is not in Table 12 of the paper: choose from KGNN, GCN"),
        (16, "w/ boundary nodes", "", "column '' is not in Table 16 of the paper: choose from Cora"),
        (13, "Encs", "Texas", "table 13 is not one of the paper's tables of results: choose from 1, 6"),
    ],
)
def test_an_unknown_name_is_one_sentence(table: int, row: str, column: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        paper.printed(table, row, column)
    sentence = str(caught.value)
    assert sentence.startswith(words)
    assert sentence[-1] in ".?"
    assert "\n" not in sentence


def test_the_paper_contradicts_itself_where_we_know_it_does() -> None:
    found = {(a.table, a.column, a.text, b.table, b.text) for a, b in paper.contradictions()}
    assert found == {
        ("Table 1", "Cora NC", "89.46", "Table 16", "90.39"),
        ("Table 14", "Cora", "89.46±0.15", "Table 16", "90.39"),
        ("Table 1", "PubMed NC", "91.03", "Table 14", "90.92±0.07"),
        ("Table 14", "PubMed", "90.92±0.07", "Table 16", "91.03"),
        ("Table 11", "Cornell", "89.19", "Table 16", "81.19"),
    }


def test_each_contradiction_is_about_one_dataset_in_two_tables_and_differs() -> None:
    for one, other in paper.contradictions():
        assert one.table != other.table
        assert one.column.split()[0] == other.column.split()[0]
        assert one.value is not None
        assert other.value is not None
        assert abs(one.value - other.value) > 0.005


def test_only_cells_of_one_dataset_are_compared() -> None:
    for group in paper.SAME:
        assert len({column.split()[0] for _, _, column in group}) == 1
        assert len({table for table, _, _ in group}) == len(group) >= 2
        assert all(paper.printed(*cell).value is not None for cell in group)


def test_what_is_read_is_not_shared() -> None:
    paper.rows(1).clear()
    paper.columns(1).clear()
    assert len(paper.rows(1)) == 22
    assert len(paper.columns(1)) == 8
