from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.graph.custom import from_csv, from_networkx, from_pandas
from bes.graph.extend import extend
from bes.graph.graph import Graph
from bes.graph.readers import read_npz, write_npz
from bes.graph.sparse import Sparse

NODES = "person,age,city,team,part\nann,1,Rome,red,train\nbob,3,Oslo,blue,test\ncai,2,Rome,,\n"
EDGES = "from,to,kind\nann,bob,work\nbob,cai,\n"
NEW = "city,person,age\nOslo,dan,5\nRome,eve,1\n"
TIES = "one,other\ndan,ann\ndan,eve\n"


@pytest.fixture
def write(tmp_path):
    def save(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return save


@pytest.fixture
def graph(write):
    return from_csv(
        write("people.csv", NODES), write("knows.csv", EDGES), label="team", split="part", edge_label="kind", name="x"
    )


def test_new_nodes_come_after_the_old_ones(graph, write):
    grown, old = extend(graph, write("new.csv", NEW), write("ties.csv", TIES))
    assert (old, grown.n_nodes, grown.name) == (3, 5, "x")
    assert grown.ids == ("ann", "bob", "cai", "dan", "eve")
    assert torch.equal(grown.x[:3], graph.x)
    assert torch.allclose(grown.x[3:, 0], (torch.tensor([5.0, 1]) - 2) / (2 / 3) ** 0.5)
    assert grown.x[3:, 1:].tolist() == [[1, 0], [0, 1]]  # Oslo, Rome
    assert grown.y.tolist() == [*graph.y.tolist(), -1, -1]
    assert grown.class_names == graph.class_names
    pairs = {(a, b) for a, b in grown.edge_index.T.tolist() if a < b}
    assert pairs == {(0, 1), (1, 2), (0, 3), (3, 4)}
    labels = {(a, b): c for (a, b), c in zip(grown.edge_index.T.tolist(), grown.edge_label.tolist(), strict=True)}
    assert (labels[0, 1], labels[0, 3], labels[3, 4]) == (0, -1, -1)
    assert grown.masks["train_mask"].tolist() == [True, False, False, False, False]
    assert grown.names.notes == ()


def test_a_graph_that_was_kept_can_be_extended(graph, write, tmp_path):
    write_npz(graph, tmp_path / "graph.npz")
    kept = read_npz(tmp_path / "graph.npz", "x")
    files = write("new.csv", NEW), write("ties.csv", TIES)
    assert extend(kept, *files)[0].content_hash == extend(graph, *files)[0].content_hash


def test_frames_and_named_ends(graph, write):
    new, ties = pd.read_csv(write("new.csv", NEW)), pd.read_csv(write("ties.csv", TIES))
    expected = extend(graph, write("new.csv", NEW), write("ties.csv", TIES))[0]
    ties.insert(0, "since", 2001)
    ends = {"source": "one", "target": "other"}
    assert extend(graph, new, ties, **ends)[0].content_hash == expected.content_hash
    indexed = extend(graph, new.set_index("person"), ties, **ends)[0]
    assert indexed.content_hash == expected.content_hash
    assert indexed.ids == expected.ids


def test_ids_of_an_index_without_a_name():
    graph = from_pandas(pd.DataFrame({"f": [1.0, 2.0]}, index=["a", "b"]), pd.DataFrame({"s": ["a"], "t": ["b"]}))
    grown, old = extend(graph, pd.DataFrame({"f": [1.5]}, index=["c"]))
    assert (grown.ids, old, grown.x[2].tolist()) == (("a", "b", "c"), 2, [0])


def test_no_edges_and_what_is_strange_is_noted(graph, write):
    text = "person,age,city,team,hobby\ndan,,Bonn,red,chess\n"
    grown, _ = extend(graph, write("new.csv", text), None)
    assert grown.n_edges == graph.n_edges
    assert grown.x[3].tolist() == [0, 0, 0]
    assert grown.y[3] == -1, "a class of a new node is not looked at"
    hobby, age, city, alone = grown.names.notes
    assert "'hobby'" in hobby
    assert "'team'" not in hobby
    assert "lacks 1 of 1" in age
    assert "'Bonn'" in city
    assert alone == "1 of 1 new nodes has no edge: it is predicted from its features alone."


def test_new_nodes_without_an_edge_are_counted(graph, write):
    rows = "".join(f"{name},1,Rome\n" for name in ("dan", "eve", "fay", "gil", "hal"))
    ties = write("ties.csv", "one,other\ndan,ann\neve,fay\ngil,gil\n")
    grown, _ = extend(graph, write("new.csv", "person,age,city\n" + rows), ties)
    assert grown.names.notes == ("2 of 5 new nodes have no edge: they are predicted from their features alone.",)


def test_values_that_lack_as_in_training_are_noted(write):
    people = write("people.csv", "id,age\na,1\nb,\nc,5\n")
    graph = from_csv(people, write("knows.csv", "s,t\na,b\n"))
    grown, _ = extend(graph, write("new.csv", "id,age\nd,\n"), write("ties.csv", "s,t\nd,a\n"))
    (note,) = grown.names.notes
    assert "lacks 1 of 1 values: the mean stands in, and one more feature marks them" in note


def test_flags_as_pandas_writes_them(write):
    people = write("people.csv", "id,member\na,1\nb,0\n")
    graph = from_csv(people, write("knows.csv", "s,t\na,b\n"))
    grown, _ = extend(graph, write("new.csv", "id,member\nc,1.0\n"), write("ties.csv", "s,t\nc,a\n"))
    assert (grown.x[2].tolist(), grown.names.notes) == ([1], ())


def test_ends_may_be_called_by_numbers_and_places_by_the_index(graph, refuses):
    new = pd.DataFrame({"age": [5], "city": ["Oslo"]}, index=pd.Index(["dan"], name="person"))
    grown, _ = extend(graph, new, pd.DataFrame([["x", "dan", "ann"]]), source=1, target=2)
    assert grown.n_edges == 3
    with refuses("row 'dan', column 'age' of the new nodes"):
        extend(graph, new.assign(age="five"))


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        (NEW + "Rome,ann,2\n", TIES, ("'ann'", "line 4, column 'person'", "new.csv", "already", "new nodes only")),
        (NEW + "Rome,dan,2\n", TIES, ("'dan'", "line 4", "line 2")),
        (NEW + "Rome,,2\n", TIES, ("no node id", "line 4, column 'person'")),
        (NEW, TIES + "eve,zoe\n", ("'zoe'", "line 4, column 'other'", "new.csv", "not in the trained graph")),
        (NEW, TIES + "eve,Bob\n", ("'Bob'", "did you mean 'bob'?")),
        (NEW, "dan,ann\n", ("ties.csv", "header")),
        (NEW, "one\ndan\n", ("ties.csv", "one column")),
        (NEW.replace("person", "who"), TIES, ("no column 'person'", "new.csv")),
        (NEW.replace("age", "years"), TIES, ("no column 'age'", "new.csv")),
        (NEW.replace("5", "five"), TIES, ("'five'", "line 2, column 'age'", "no number")),
        ("person,age,city\n", TIES, ("no rows", "new.csv")),
    ],
)
def test_bad_rows_are_refused(graph, write, nodes, edges, words, refuses):
    with refuses(*words):
        extend(graph, write("new.csv", nodes), write("ties.csv", edges))


def test_graphs_that_were_not_made_from_columns_are_refused(graph, write, refuses):
    new = write("new.csv", NEW)
    ids_alone = from_csv(write("ids.csv", "person\na\nb\n"), write("e.csv", "s,t\n"))
    plain = Graph(graph.x, graph.edge_index, graph.y, "plain")
    for one in (ids_alone, plain):
        with refuses(f"'{one.name}'", "not made from a table", "from_csv"):
            extend(one, new)
    with refuses("list", "the new nodes", "DataFrame"):
        extend(graph, [1])


def test_a_networkx_graph_can_be_extended():
    import networkx as nx

    given = nx.Graph([("a", "b")])
    nx.set_node_attributes(given, {"a": 1, "b": 3}, "f")
    grown, _ = extend(from_networkx(given), pd.DataFrame({"node": ["c"], "f": [2]}), pd.DataFrame([["c", "a"]]))
    assert (grown.ids, grown.x[2].tolist(), grown.n_edges) == (("a", "b", "c"), [0], 2)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=20), st.integers(1, 19))
def test_rows_given_later_have_the_features_of_rows_given_at_once(words, cut):
    words = ["a", "b", *words]  # a column of one value is left out
    frame = pd.DataFrame({"word": words, "size": range(len(words))}, index=[f"n{i}" for i in range(len(words))])
    none = pd.DataFrame({"s": [], "t": []})
    graph = from_pandas(pd.concat([frame, frame.set_index(frame.index + "x")]), none)
    later, old = extend(graph, frame[:cut].set_index(frame.index[:cut] + "y"))
    assert old == 2 * len(words)
    assert isinstance(later.x, Sparse) == isinstance(graph.x, Sparse)
    assert torch.equal(later.x.to_dense()[old:], graph.x.to_dense()[:cut][: len(words)])
