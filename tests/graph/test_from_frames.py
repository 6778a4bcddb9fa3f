from __future__ import annotations

import io

import numpy as np
import pandas as pd

from bes.graph.from_frames import frame_table


def test_a_frame_is_the_same_as_its_file():
    frame = pd.read_csv(io.StringIO("id,n,x,b,w\n1,3,0.5,True,a\n2,,1,False,\n"))
    table = frame_table(frame, "the nodes")
    assert table.columns == {
        "id": ["1", "2"],
        "n": ["3", None],
        "x": ["0.5", "1"],
        "b": ["True", "False"],
        "w": ["a", None],
    }
    assert table.at(1, "n") == "row 1, column 'n' of the nodes"
    assert (table.categorical, table.numeric) == (frozenset(), {"id", "n", "x"})


def test_places_are_called_by_the_index_unless_it_counts():
    frame = pd.DataFrame({"v": [1, 2, 3]})

    def place(frame: pd.DataFrame) -> str:
        return frame_table(frame, "the nodes").at(1, "v").split(",")[0]

    assert place(frame) == place(frame[0:2]) == "row 1"
    assert place(frame.set_index(pd.Index(["x", "x7", "y"]))) == "row 'x7'"
    assert place(frame[frame.v != 2]) == "row 2"
    assert place(frame.set_index(pd.to_datetime(["2020", "2021", "2022"]))) == "row 2021-01-01 00:00:00"
    assert place(frame.set_index([["a", "b", "c"], [1, 2, 3]])).startswith("row ('b'")


def test_kinds_of_columns_in_a_frame():
    frame = pd.DataFrame(
        {
            1: pd.array([1, None], dtype="Int64"),
            "c": pd.Categorical(["u", None]),
            "t": pd.to_datetime(["2020-01-02", None]),
            "o": [np.float32(2.0), " "],
            "big": [1e300, float("inf")],
        },
        index=pd.Index(["a", "b"], name="who"),
    )
    table = frame_table(frame, "the nodes", "who")
    assert table.columns == {
        "who": ["a", "b"],
        "1": ["1", None],
        "c": ["u", None],
        "t": ["2020-01-02 00:00:00", None],
        "o": ["2", None],
        "big": ["1e+300", "inf"],
    }
    assert table.categorical == {"c"}


def test_where_minus_one_is_a_number():
    frame = pd.DataFrame({"n": [-1, 0], "o": [-1, "a"], "t": ["-1", "a"], "c": pd.Categorical([-1, 2])})
    assert frame_table(frame, "the nodes").numeric == {"n", "o", "c"}


def test_frames_that_are_none_and_cells_that_are_lists_are_refused(refuses):
    with refuses("list", "the nodes", "DataFrame"):
        frame_table([1], "the nodes")
    with refuses("row 1, column 'v' of the nodes", "list", "one number or text"):
        frame_table(pd.DataFrame({"v": [1, [2]]}), "the nodes")
    with refuses("'1' twice"):
        frame_table(pd.DataFrame([[1, 2]], columns=[1, "1"]), "the nodes")
