from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bes.graph.tables import Table, nearest_word, read_table, text_of

PEOPLE = "person,age,city\nann,31,Rome\n\nbob,,Oslo\n"


@pytest.fixture
def write(tmp_path):
    """`write(text)`: the path of a file with this text or these bytes."""

    def save(text: str | bytes, name: str = "people.csv") -> Path:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / name

    return save


def columns(path: Path) -> dict[str, list[str | None]]:
    return read_table(path).columns


def test_columns_rows_and_places(write):
    table = read_table(write(PEOPLE))
    assert table.columns == {"person": ["ann", "bob"], "age": ["31", None], "city": ["Rome", "Oslo"]}
    assert (len(table), table.header, table.notes) == (2, ["person", "age", "city"], ())
    assert table.at(1, "age").startswith("line 4, column 'age' of ")
    assert table.at(1, "age").endswith("people.csv")


def test_a_quoted_cell_over_several_lines_moves_the_places_of_those_after_it(write):
    table = read_table(write('id,text\n"a\nb","x,y"\nc,z\n'))
    assert table.columns == {"id": ["a\nb", "c"], "text": ["x,y", "z"]}
    assert list(table.places) == [2, 4]


@pytest.mark.parametrize(
    ("name", "mark", "noted"),
    [
        ("x.csv", ",", ""),
        ("x.tsv", "\t", ""),
        ("x.csv", ";", "semicolons"),
        ("x.csv", "\t", "tabs"),
        ("x.TSV", "\t", ""),
    ],
)
def test_what_separates(write, name, mark, noted):
    table = read_table(write(PEOPLE.replace(",", mark), name))
    assert table.columns == columns(write(PEOPLE))
    assert [noted in note for note in table.notes] == ([True] if noted else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('id;"name, full";v\na;b;1\n', {"id": ["a"], "name, full": ["b"], "v": ["1"]}),
        ('"x, y, z";v\na;1\n', {"x, y, z": ["a"], "v": ["1"]}),
        ('"a;b;c","d"\n1,2\n', {"a;b;c": ["1"], "d": ["2"]}),
        ('"say ""a,b""";v\n1;2\n', {'say "a,b"': ["1"], "v": ["2"]}),
        ('"two,\nlines";v\n1;2\n', {"two,\nlines": ["1"], "v": ["2"]}),
        ('5" disk,v\na;b;c,"d"\n', {'5" disk': ["a;b;c"], "v": ["d"]}),
        ("\tv\nx\t1\n", {"": ["x"], "v": ["1"]}),
        ("\r\n \n\tv\nx\t1\n", {"": ["x"], "v": ["1"]}),
        (",v\nx,1\n", {"": ["x"], "v": ["1"]}),
        ("a;b,c;d\n1;2;3\n", {"a": ["1"], "b,c": ["2"], "d": ["3"]}),
        ("a;b,c\n1,2\n", {"a;b": ["1"], "c": ["2"]}),
        ("v\n1\n", {"v": ["1"]}),
    ],
)
def test_what_separates_is_most_often_in_the_header(write, text, expected):
    assert columns(write(text)) == expected


def test_what_spreadsheets_add_is_read_over(write):
    expected = columns(write(PEOPLE))
    assert columns(write("\ufeff" + PEOPLE.replace("\n", "\r\n"))) == expected
    assert columns(write(PEOPLE.replace("\n", ",,\n") + ",,,,\n , ,,,\n")) == expected
    assert columns(write(PEOPLE.replace(",", "\t").encode("utf-16"))) == expected
    assert columns(write(PEOPLE.replace("person,age,city", "person, age , city"))) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("empty", "header")),
        ("\n\n,,\n", ("empty",)),
        (PEOPLE + "cai,1\n", ("Line 5", "2 cells", "3 columns", "commas")),
        (PEOPLE.replace(",", ";") + "cai;1;a;b\n", ("Line 5", "4 cells", "semicolons")),
        (PEOPLE + 'cai,"1,Rome\n', ("Line 5", "not valid CSV", "quotes")),
        (PEOPLE.replace("city", "age"), ("'age' twice", "rename")),
        (PEOPLE.encode() + "cai,1,Köln\n".encode("cp1252"), ("Line 5", "not UTF-8", "cp1252", "CSV UTF-8")),
        (b"PK\x03\x04" + bytes(50), ("Excel", "CSV in UTF-8")),
        (b"\xd0\xcf\x11\xe0" + bytes(50), ("Excel", "CSV in UTF-8")),
    ],
)
def test_files_that_cannot_be_read_are_refused(write, text, words, refuses):
    with refuses("people.csv", *words):
        read_table(write(text))


def test_a_row_too_long_is_found_behind_the_first_block(write, refuses):
    with refuses("Line 9002", "3 cells", "2 columns"):
        read_table(write("a,b\n" + "1,2\n" * 9000 + "1,2,3\n"))
    assert len(read_table(write("a,b\n" + "1,2\n" * 9000))) == 9000


def test_places_without_a_file_are_refused(tmp_path, refuses):
    with refuses("none.csv", "No such file", "CSV file"):
        read_table(tmp_path / "none.csv")
    with refuses(str(tmp_path), "directory"):
        read_table(str(tmp_path))
    with refuses("DataFrame", "from_pandas"):
        read_table(pd.DataFrame())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Age", ("did you mean 'age'?", "'person', 'age', 'city'")),
        ("cty", ("did you mean 'city'?",)),
        ("team", ("'team'", "name one")),
    ],
)
def test_a_column_that_is_not_there(write, name, words, refuses):
    with refuses("people.csv", f"no column {name!r}", *words):
        read_table(write(PEOPLE)).cells(name)


def test_a_header_that_may_be_data_and_one_that_is_long(write, refuses):
    with refuses("no column 'team'", "'31'", "first line", "names above"):
        read_table(write("ann,31,Rome\n")).cells("team")
    with refuses("'c29', ...", "name one"):
        Table("x", {f"c{i}": [] for i in range(31)}, []).cells("team")
    with refuses("no attribute 'a' in x, which has none"):
        Table("x", {}, [], "node", "attribute").cells("a")


def test_one_column_in_two_roles_is_refused(write, refuses):
    table = read_table(write(PEOPLE))
    table.distinct("person", None, "age", None)
    with refuses("'age'", "two things"):
        table.distinct("age", "person", "age")
    with refuses("no column 'x'"):
        table.distinct("age", "x")


@pytest.mark.parametrize(
    ("word", "words", "expected"),
    [
        (" ann ", ["bob", "ann"], "ann"),
        ("ANN", ["bob", "ann"], "ann"),
        ("1.0", ["2", "1"], "1"),
        ("007", ["70", "7"], "7"),
        ("105", ["106", "10"], None),
        ("anna-maria", ["anna-mario", "bob"], "anna-mario"),
        ("dan", ["ann", "bob"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_word(word, words, expected):
    assert nearest_word(word, words) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((value, None) for value in (None, float("nan"), pd.NA, pd.NaT, "", "  ")),
        *((value, "2") for value in (2, 2.0, np.int8(2), np.float32(2), np.array(2.0))),
        (2.5, "2.5"),
        (True, "True"),
        (b"r\xc3\xa9d", "réd"),
    ],
)
def test_values_as_text(value, text):
    assert text_of(value) == text


# Any text but a lone surrogate, which no UTF-8 file holds; quotes, separators and line ends often.
TEXT = st.text(st.one_of(st.sampled_from("\",\n\r\t ;'"), st.characters(exclude_categories=["Cs"])), max_size=6)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=12), st.sampled_from([",", "\t", ";"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path, rows, mark):
    path = tmp_path / ("x.tsv" if mark == "\t" else "x.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=mark).writerows([("a", "b"), *rows])
    expected = [[cell if cell.strip() else None for cell in row] for row in rows if "".join(row).strip()]
    table = read_table(path)
    assert [list(row) for row in zip(table.columns["a"], table.columns["b"], strict=True)] == expected
