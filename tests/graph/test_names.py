from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.graph.encoding import Column
from bes.graph.names import Names

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
COLUMNS = st.builds(
    Column,
    TEXT,
    st.sampled_from(["number", "flag", "category", "dropped"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(TEXT, max_size=3).map(tuple),
    st.booleans(),
)
SOME = st.lists(TEXT, max_size=4).map(tuple)


@given(st.builds(Names, SOME, TEXT, SOME, SOME, st.lists(COLUMNS, max_size=3).map(tuple), SOME, st.none() | TEXT))
def test_what_is_written_is_read_back(names):
    assert Names.from_json(names.to_json()) == names


def test_what_was_written_before_there_was_a_label_column_is_read():
    found = json.loads(Names(("a",)).to_json())
    del found["label_column"]
    assert Names.from_json(json.dumps(found)) == Names(("a",))


@pytest.mark.parametrize("text", ["", "{}", '{"ids": 3}', "[]"])
def test_anything_else_is_an_error(text):
    with pytest.raises((ValueError, KeyError, TypeError)):
        Names.from_json(text)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (Names(("a",)), ("2 nodes but 1 ids",)),
        (Names(("b", "b")), ("'b' twice",)),
        (Names(("a", "b"), classes=("u",)), ("2 classes but 1 names",)),
        (Names(("a", "b"), classes=("u", "u")), ("classes", "not all different")),
        (Names(("a", "b"), edge_classes=("u", "u")), ("edge classes", "not all different")),
        (Names(("a", "b"), edge_classes=("u",)), ("2 edge classes but 1 names",)),
    ],
)
def test_names_that_do_not_fit_are_refused(names, words, refuses):
    with refuses("'toy'", *words):
        names.check(2, 2, 2, "toy")


def test_names_that_fit():
    Names(("a", "b"), classes=("u", "v", "w")).check(2, 2, 0, "toy")
