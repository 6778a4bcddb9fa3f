from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.graph.encoding import Column, encode, learn
from bes.graph.sparse import Sparse
from bes.graph.tables import Table


def table(**columns: list[str | None]) -> Table:
    length = len(next(iter(columns.values())))
    return Table("people.csv", columns, range(2, length + 2))


def learned(*cells: str | None) -> tuple[Column, list[str]]:
    (column,), notes = learn(table(v=list(cells)), ["v"])
    return column, notes


def encoded(rows: Table, columns: tuple[Column, ...]) -> tuple[list[list[float]], list[str]]:
    x, notes = encode(rows, columns)
    return x.to_dense().tolist(), notes


def test_numbers_are_centred_and_scaled():
    column, notes = learned("1", "3", " 5 ", "7e0")
    assert (column, notes) == (Column("v", "number", 4.0, pytest.approx(5**0.5)), [])
    x, _ = encode(table(v=["4", "9", "-1"]), (column,))
    assert torch.allclose(x[:, 0], torch.tensor([0, 5**0.5, -(5**0.5)]))
    assert x.dtype == torch.float32


@pytest.mark.parametrize(
    "cells", [("0.1", "0.1", "0.10"), ("7",), ("0", "0"), ("1", "true"), ("a", " a"), ("-1", "-1.0")]
)
def test_a_column_of_one_value_is_left_out(cells):
    column, notes = learned(*cells)
    assert column == Column("v", "dropped")
    assert notes == ["Column 'v' of people.csv is left out: it has one value only."]


@pytest.mark.parametrize(("cell", "kind"), [("0.1", "number"), ("1", "flag"), ("a", "category")])
def test_one_value_and_missing_ones_are_kept(cell, kind):
    column, _ = learned(cell, None, cell)
    assert (column.kind, column.width, column.scale) == (kind, 2, 1.0)


def test_the_tiniest_and_the_largest_numbers_are_scaled_too():
    for a, b in (("1e-320", "3e-320"), ("-3e38", "3e38")):
        column, _ = learned(a, b)
        assert encoded(table(v=[a, b]), (column,))[0] == [[pytest.approx(-1, abs=1e-2)], [pytest.approx(1, abs=1e-2)]]


@pytest.mark.parametrize("cells", [("0", "1", "1"), ("true", "False"), ("TRUE", " 0")])
def test_flags_stay_as_they_are(cells):
    column, notes = learned(*cells)
    assert (column, notes) == (Column("v", "flag"), [])
    expected = [[float(cell.strip().lower() in ("1", "true"))] for cell in cells]
    assert encoded(table(v=list(cells)), (column,))[0] == expected


def test_texts_become_one_feature_a_category():
    column, notes = learned("b", "a", " b", "B")
    assert (column, notes) == (Column("v", "category", categories=("B", "a", "b")), [])
    assert encoded(table(v=["b ", "a", "B"]), (column,))[0] == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    "words", [("1_0", "2_0"), ("na", "no"), ("nan", "x"), ("12", "A3"), ("1e99", "?x"), ("1", "0", "x"), ("٣", "٤")]
)
def test_what_only_looks_like_a_number_is_text(words):
    assert learned(*words)[0].categories == tuple(sorted(words))


@pytest.mark.parametrize("gone", [None, "na", "N/A", "nan", "NULL", "none", "?", " ? "])
@pytest.mark.parametrize(("cells", "kind", "rest"), [(("1", "5"), "number", "mean"), (("0", "1"), "flag", "0 stands")])
def test_missing_numbers_and_flags(gone, cells, kind, rest):
    column, (note,) = learned(*cells, gone)
    assert (column.kind, column.missing, column.width) == (kind, True, 2)
    assert note.startswith("Column 'v' of people.csv lacks 1 of 3 values: ")
    assert rest in note
    assert note.endswith("one more feature marks them.")
    rows, notes = encoded(table(v=["1", gone]), (column,))
    assert [row[1] for row in rows] == [0, 1]
    assert rows[1][0] == 0
    assert notes == [note.replace("1 of 3", "1 of 2")], "what lacks later is told too"
    assert encoded(table(v=["1", "1"]), (column,))[1] == []


def test_missing_categories():
    column, notes = learned("a", None, "na")
    assert column == Column("v", "category", categories=("a", "na"), missing=True)
    assert "lacks 1 of 3 values: they have no category, and one more feature" in notes[0]
    rows, (note,) = encoded(table(v=[None, "a"]), (column,))
    assert rows == [[0, 0, 1], [1, 0, 0]]
    assert "lacks 1 of 2 values: they have no category, and one more feature" in note


@pytest.mark.parametrize("cells", [(None, None), ("na", None, "?")])
def test_a_column_without_a_value_is_left_out(cells):
    column, notes = learned(*cells)
    assert column == Column("v", "dropped")
    assert notes == ["Column 'v' of people.csv is left out: it has no value."]
    assert encode(table(v=list(cells)), (column,))[0].shape == (len(cells), 0)


def test_texts_that_nearly_all_differ_are_left_out():
    many = [f"name {i}" for i in range(21)]
    column, notes = learned(*many)
    assert column == Column("v", "dropped")
    assert notes == ["Column 'v' of people.csv is left out: more than half of its values are different."]
    assert learned(*many[:20])[0].kind == "category", "twenty may differ"
    assert learned(*many, *many)[0].kind == "category", "half of them may differ"
    assert learned(*many, *many, None)[0].kind == "category"
    assert learned(*many, *many[1:])[0].kind == "dropped"
    assert learned(*map(str, range(100)))[0].kind == "number"


def test_rows_that_come_later():
    rows = table(age=["1", "3"], city=["Rome", "Oslo"], member=["0", "1"], name=["a", "b"])
    columns, _ = learn(rows, ["age", "city", "member"])
    later = replace(table(age=["2", None], city=["Bonn", None], member=[None, "1"]), what="new.csv")
    x, notes = encoded(later, columns)
    assert x == [[0, 0, 0, 0], [0, 0, 0, 1]]
    age, city, lacks, member = notes
    assert "'age' of new.csv lacks 1 of 2" in age
    assert "mean" in age
    assert "('Bonn'): 1 row has no category" in city
    assert "'city' of new.csv lacks 1 of 2" in lacks
    assert "'member' of new.csv lacks 1 of 2" in member


def test_many_strange_categories_are_not_all_listed():
    column, _ = learned("a", "b")
    _, (note,) = encode(table(v=["q", "r", "s", "t", "a"]), (column,))
    assert "('q', 'r', 's', ...): 4 rows have no category" in note


def test_later_rows_need_the_columns_that_count(refuses):
    columns = (Column("age", "number"), Column("gone", "dropped"))
    assert encoded(table(age=["2"]), columns)[0] == [[2]]
    with refuses("no column 'age'", "people.csv", "rename 'Age'"):
        encode(table(Age=["2"]), columns)


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        (Column("v", "number"), "12o", ("'12o'", "line 3, column 'v' of people.csv", "no number")),
        (Column("v", "number"), "1,5", ("'1,5'", "line 3, column 'v'", "comma", "point")),
        (Column("v", "number"), "inf", ("'inf'", "line 3, column 'v'", "finite")),
        (Column("v", "number"), "1e39", ("'1e39'", "line 3, column 'v'", "finite")),
        (Column("v", "number", 0, 1e-30), "1e10", ("'1e10'", "line 3, column 'v'", "finite")),
        (Column("v", "flag"), "yes", ("'yes'", "line 3, column 'v' of people.csv", "no number")),
        (Column("v", "flag"), "1,0", ("'1,0'", "line 3, column 'v'", "comma")),
        (Column("v", "flag"), "inf", ("'inf'", "line 3, column 'v'", "finite")),
        (Column("v", "flag"), "1e39", ("'1e39'", "line 3, column 'v'", "finite")),
    ],
)
def test_later_values_of_another_kind_are_refused(column, cell, words, refuses):
    with refuses(*words):
        encode(table(v=["1", cell]), (column,))


def test_a_flag_may_be_written_as_any_number():
    assert encoded(table(v=["1.0", "0.0", "TRUE", " 1e0"]), (Column("v", "flag"),)) == ([[1], [0], [1], [1]], [])
    rows, (note,) = encoded(table(v=["2", "1.0", "-0.5"]), (Column("v", "flag"),))
    assert rows == [[2], [1], [-0.5]]
    assert note.startswith("Column 'v' of people.csv has numbers other than 0 and 1 ('-0.5', '2')")


def test_what_is_a_category_by_its_type_is_one():
    rows = replace(table(v=["10", "2", "10", None], w=["0", "1", "1", "1"]), categorical=frozenset("vw"))
    columns, _ = learn(rows, ["v", "w"])
    assert columns[0] == Column("v", "category", categories=("10", "2"), missing=True)
    assert columns[1] == Column("w", "category", categories=("0", "1"))
    same = replace(table(v=["1", "1"]), categorical=frozenset("v"))
    assert learn(same, ["v"])[0] == (Column("v", "dropped"),)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([*map(str, range(9)), "12o"], ("'12o' in line 11, column 'v' of people.csv", "no number", "correct it")),
        ([*map(str, range(8)), "7 km", None, "na", "9"], ("'7 km' in line 10",)),
        (["1,5", "2,25", "3"], ("'1,5' in line 2", "comma", "decimal point")),
        (["1", "-inf"], ("'-inf' in line 3", "finite")),
        (["1", "-1e39"], ("'-1e39' in line 3", "finite")),
    ],
)
def test_numbers_with_a_mistake_are_refused(cells, words, refuses):
    with refuses(*words):
        learn(table(v=cells), ["v"])


def test_the_words_of_the_table_are_used(refuses):
    rows = Table("graph 'x'", {"v": ["1", None, "3"]}, ["'ann'", "'bob'", "'cai'"], "node", "attribute")
    assert learn(rows, ["v"])[1][0].startswith("Attribute 'v' of graph 'x' lacks 1")
    with refuses("node 'bob', attribute 'v' of graph 'x'"):
        encode(replace(rows, columns={"v": ["1", "x", "2"]}), (Column("v", "number"),))


def test_mostly_zeros_are_kept_sparse():
    many = table(v=[f"w{i % 5}" for i in range(10)])
    few = table(v=[f"w{i % 4}" for i in range(10)])
    assert isinstance(encode(many, learn(many, ["v"])[0])[0], Sparse)
    assert isinstance(encode(few, learn(few, ["v"])[0])[0], torch.Tensor)


CELLS = st.one_of(
    st.lists(st.none() | st.floats(-1e6, 1e6, allow_subnormal=False).map(repr), min_size=1, max_size=12),
    st.lists(st.sampled_from([None, "0", "1", "true", "na"]), min_size=1, max_size=12),
    st.lists(st.none() | st.text("abc ,", max_size=3).map("x{}".format), min_size=1, max_size=30),
)


@given(CELLS, st.data())
def test_features_are_what_the_columns_say_and_rows_encode_alone(cells, data):
    rows = table(v=cells)
    (column,), _ = learn(rows, ["v"])
    x, notes = encode(rows, (column,))
    x = x.to_dense().double().numpy()
    assert x.shape == (len(cells), column.width)
    assert ["lacks" in note for note in notes] == ([True] if column.missing else [])
    for cell, row in zip(cells, x, strict=True):
        absent = cell is None or (column.kind != "category" and cell == "na")
        assert row.tolist() == pytest.approx(naive(column, None if absent else cell), rel=1e-5, abs=1e-5)
    if column.kind == "number" and column.scale != 1:
        present = x[[cell is not None for cell in cells], 0]
        assert np.allclose([present.mean(), present.std()], [0, 1], atol=1e-4)
    row = data.draw(st.integers(0, len(cells) - 1))
    alone, _ = encode(table(v=[cells[row]]), (column,))
    assert alone.to_dense().tolist() == [x[row].tolist()]


def naive(column: Column, cell: str | None) -> list[float]:
    mark = [float(cell is None)] if column.missing else []
    if column.kind == "category":
        return [float(cell is not None and cell.strip() == name) for name in column.categories] + mark
    if column.kind == "flag":
        return [float(cell in ("1", "true")), *mark]
    if column.kind == "number":
        return [0.0 if cell is None else (float(cell) - column.center) / column.scale, *mark]
    return []
