from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bes.errors import InputError
from bes.graph.custom import from_csv, from_pandas
from bes.graph.encoding import MISSING
from bes.graph.readers import read_npz, write_npz
from bes.graph.sparse import Sparse

NODES = "person,age,city,team\nann,31,Rome,red\nbob,4.5,Oslo,\ncai,-1e2,Rome,blue\n"
EDGES = "from,to,kind,since\nann,bob,work,2001\ncai,bob,,x\n"


@pytest.fixture
def files(tmp_path):
    """`files(nodes, edges)`: the paths of two files with this text or these bytes."""

    def write(nodes: str | bytes = NODES, edges: str | bytes = EDGES) -> tuple[Path, Path]:
        for name, text in (("people.csv", nodes), ("links.csv", edges)):
            (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / "people.csv", tmp_path / "links.csv"

    return write


def test_features_classes_edge_classes_and_names(files):
    graph = from_csv(*files(), label="team", edge_label="kind")
    assert (graph.name, graph.n_nodes, graph.n_classes, graph.n_edge_classes) == ("people", 3, 2, 1)
    age = np.array([31, 4.5, -100])
    assert torch.allclose(graph.x[:, 0].double(), torch.from_numpy((age - age.mean()) / age.std()))
    assert graph.x[:, 1:].tolist() == [[0, 1], [1, 0], [0, 1]]  # Oslo, Rome
    assert graph.y.tolist() == [1, -1, 0]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_label.tolist() == [0, 0, -1, -1]
    assert graph.ids == ("ann", "bob", "cai")
    assert graph.class_names == ("blue", "red")
    names = graph.names
    assert (names.id_column, names.label_column, names.edge_classes) == ("person", "team", ("work",))
    assert [column.name for column in names.columns] == ["age", "city"]
    assert [note.split(" of ")[0] for note in names.notes] == ["Column 'kind'"], "one class alone is told"


def test_columns_by_name(files):
    nodes, edges = "age,person\n3,ann\n5,bob\n", "since,b,a\n1,bob,ann\n"
    graph = from_csv(*files(nodes, edges), id="person", source="a", target="b", name="x")
    assert (graph.name, graph.x.tolist(), graph.n_edges, graph.edge_label) == ("x", [[-1], [1]], 1, None)
    assert (graph.y.tolist(), graph.names.id_column) == ([-1, -1], "person")


@pytest.mark.parametrize("nodes", ["id\nb\na\n\n", "id,empty\nb,\na,\n", "id,again\nb,b\na,a\n"])
def test_ids_alone_and_no_edges(files, nodes):
    graph = from_csv(*files(nodes, "s,t\n"))
    assert isinstance(graph.x, Sparse)
    assert graph.x.to_dense().tolist() == [[1, 0], [0, 1]]
    assert (graph.n_edges, graph.names.columns) == (0, ())
    assert "told apart by their id alone, so that new nodes cannot be predicted later" in graph.names.notes[-2]
    assert "There are no edges in" in graph.names.notes[-1]


def test_missing_values_and_columns_that_say_nothing_are_noted(files):
    rows = "".join(f"p{i},{'' if i == 3 else i},Name {i}\n" for i in range(30))
    graph = from_csv(*files("id,age,name\n" + rows, "s,t\np0,p1\n"))
    age, name = graph.names.notes
    assert "Column 'age'" in age
    assert "lacks 1 of 30 values" in age
    assert "Column 'name'" in name
    assert "left out" in name
    assert graph.x.shape == (30, 2)
    assert graph.x[3].tolist() == [0, 1]


def test_integer_classes_are_ordered_as_numbers(files):
    assert from_csv(*files("id,y\na,10\nb,9\nc,-2\n", "s,t\n"), label="y").y.tolist() == [2, 1, 0]
    assert from_csv(*files("id,y\na,10\nb,9\nc,x\n", "s,t\n"), label="y").y.tolist() == [0, 1, 2]
    long = from_csv(*files(f"id,y\na,{'9' * 5000}\nb,9\n", "s,t\n"), label="y")
    assert long.y.tolist() == [1, 0], "a number too long to be read is text"


@pytest.mark.parametrize(
    ("cells", "y", "note"),
    [
        ("1,NA,0", [1, -1, 0], "'NA' among its numbers: such a class is taken as unknown"),
        ("a,NA,b", [1, 0, 2], "a class called 'NA': leave the cell empty"),
        ("a, a,b ", [0, 0, 1], None),
        ("a,,", [0, -1, -1], "one class alone, 'a': what a class is can be learned from two"),
        (",,", [-1, -1, -1], "no class at all"),
        ("0,-1,1", [0, -1, 1], "-1 in column 'y' stands for no class."),
        ("0.0,-1.0,1.0", [0, -1, 1], "-1 in column 'y' stands for no class."),
        ("a,-1,b", [1, 0, 2], None),
        ("-2,3,", [0, 1, -1], None),
    ],
)
def test_doubtful_classes(files, cells, y, note):
    rows = "".join(f"n{i},{i % 2},{cell}\n" for i, cell in enumerate(cells.split(",")))
    graph = from_csv(*files("id,f,y\n" + rows, "s,t\nn0,n1\n"), label="y")
    assert graph.y.tolist() == y
    assert [note in said for said in graph.names.notes] == ([True] if note else [])


def test_a_number_taken_for_a_class_is_noted_or_refused(files, refuses):
    def rows(n: int, classes: int) -> str:
        return "id,f,y\n" + "".join(f"n{i},{i % 2},{i % classes / 7}\n" for i in range(n))

    assert "30 classes for 30 rows" in from_csv(*files(rows(30, 30), "s,t\n"), label="y").names.notes[0]
    assert "50 classes for 50 rows" in from_csv(*files(rows(50, 50), "s,t\n"), label="y").names.notes[0]
    assert from_csv(*files(rows(102, 51), "s,t\n"), label="y").n_classes == 51, "half of them may differ"
    with refuses("Column 'y'", "people.csv", "51", "a number or a name", "not like a class", "another column"):
        from_csv(*files(rows(101, 51), "s,t\n"), label="y")


def test_wide_categories_are_kept_sparse(files):
    nodes = "id,word\n" + "".join(f"{i},w{i:02}\n" for i in range(20))
    graph = from_csv(*files(nodes, "s,t\n0,19\n"))
    assert isinstance(graph.x, Sparse)
    assert torch.equal(graph.x.to_dense(), torch.eye(20))


def test_a_split_in_words_becomes_masks(files):
    cells = ["train", "Val", " valid", "validation ", "TEST", "", "test"]
    rows = "".join(f"n{i},{i % 2},{cell}\n" for i, cell in enumerate(cells))
    graph = from_csv(*files("id,f,part\n" + rows, "s,t\n"), split="part")
    found = {key: mask.nonzero().flatten().tolist() for key, mask in graph.masks.items()}
    assert found == {"train_mask": [0], "val_mask": [1, 2, 3], "test_mask": [4, 6]}
    assert graph.n_features == 1


def test_loops_and_repeats_are_dropped_and_counted(files):
    graph = from_csv(*files(NODES, EDGES + "ann,ann,,\nbob,ann,,\nann,bob,,\n"))
    assert graph.n_edges == 2
    note = graph.names.notes[-1]
    assert "Of 5 rows of" in note
    assert "1 from a node to itself and 2 between two nodes that another joins" in note


def test_the_mark_and_line_ends_of_spreadsheets_are_read(files):
    marked = "\ufeff" + NODES.replace("\n", "\r\n")
    graph, plain = (from_csv(*files(text), id="person", label="team") for text in (marked, NODES))
    assert graph.content_hash == plain.content_hash
    semicolons = from_csv(*files(NODES.replace(",", ";"), EDGES.replace(",", ";")), label="team")
    assert semicolons.content_hash == plain.content_hash
    assert ["semicolons" in note for note in semicolons.names.notes] == [True, True]


def test_names_come_back_from_the_file_of_the_graph(files, tmp_path):
    graph = from_csv(*files(), label="team", edge_label="kind")
    write_npz(graph, tmp_path / "graph.npz")
    assert read_npz(tmp_path / "graph.npz").names == graph.names


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ("", EDGES, ("people.csv", "empty")),
        (NODES, "", ("links.csv", "empty")),
        ("person,age,city,team\n", EDGES, ("people.csv", "no rows")),
        (NODES, "from\nann\n", ("links.csv", "one column")),
        (NODES + "bob,1,Rome,red\n", EDGES, ("people.csv", "line 5", "'person'", "'bob'", "line 3")),
        (NODES + " ,1,Rome,red\n", EDGES, ("people.csv", "line 5", "'person'", "no node id")),
        (NODES + "dan,1,Rome\n", EDGES, ("people.csv", "Line 5", "3 cells", "4 columns")),
        (NODES, EDGES + "ann,cai,work,1,2\n", ("links.csv", "Line 4", "5 cells", "4 columns")),
        (NODES, EDGES + "\nann,dan,work,1\n", ("links.csv", "line 5", "'to'", "'dan'", "not in", "people.csv")),
        (NODES, EDGES + ",ann,work,1\n", ("links.csv", "line 4", "'from'", "no node id")),
        (NODES, EDGES + "ann, bob,work,1\n", ("links.csv", "line 4", "' bob'", "'bob'", "white space")),
        (NODES, EDGES + "ann,Bob,work,1\n", ("links.csv", "line 4", "did you mean 'bob'?")),
        (NODES + "anna-maria,1,Rome,red\n", EDGES + "ann,ana-maria,,\n", ("did you mean 'anna-maria'?",)),
        (NODES + "dan,-1e39,Rome,red\n", EDGES, ("people.csv", "line 5", "'age'", "'-1e39'", "finite")),
        (NODES + 'dan,1,"Rome,red\n', EDGES, ("people.csv", "Line 5", "not valid CSV")),
        (NODES.encode() + b"dan,1,K\xf6ln,red\n", EDGES, ("people.csv", "Line 5", "UTF-8", "cp1252")),
        (NODES.replace("city", "age"), EDGES, ("people.csv", "'age' twice")),
        (NODES, EDGES + "bob,ann,play,1\n", ("'bob' and 'ann'", "'work' in line 2", "'play' in line 4", "one class")),
        (NODES, EDGES.replace("kind", "type"), ("links.csv", "no column 'kind'", "'since'")),
        (NODES.replace("team", "side"), EDGES, ("people.csv", "no column 'team'", "'side'")),
        (NODES.replace("team", "teem"), EDGES, ("people.csv", "did you mean 'teem'?")),
    ],
)
def test_bad_files_are_refused(files, nodes, edges, words, refuses):
    with refuses(*words):
        from_csv(*files(nodes, edges), label="team", edge_label="kind")


def test_a_number_with_a_typo_is_refused(files, refuses):
    rows = "".join(f"n{i},{i}{'o' if i == 7 else ''}\n" for i in range(10))
    with refuses("people.csv", "line 9", "'age'", "'7o'"):
        from_csv(*files("id,age\n" + rows, "s,t\n"))


def test_an_unknown_part_is_refused(files, refuses):
    with refuses("'Rome'", "line 2, column 'city'", "people.csv", "train, val, test"):
        from_csv(*files(), split="city")


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ("7,31\n8,4\n", "a,b\n7,8\n", ("people.csv", "'7'", "looks like data", "names above")),
        ("ann,x\nbob,y\n", "a,b\nann,bob\n", ("people.csv", "'ann'", "looks like data")),
        (NODES, "ann,bob\ncai,bob\n", ("links.csv", "'ann'", "looks like data")),
        ("id\n1\n2\n3\n", "1,2\n2,3\n", ("links.csv", "'1'", "looks like data")),
        ("id\n1\n2\n3\n", "7,8\n2,3\n", ("links.csv", "'7'", "looks like data")),
    ],
)
def test_a_header_that_is_missing_is_told(files, nodes, edges, words, refuses):
    with refuses(*words):
        from_csv(*files(nodes, edges))


def test_a_header_that_looks_like_data_can_be_named(files):
    graph = from_csv(*files("7,f\na,0\nb,1\n", "a,b\na,b\n"), id="7", source="a", target="b")
    assert (graph.ids, graph.n_edges) == (("a", "b"), 1)


@pytest.mark.parametrize("columns", [{}, {"label": "team"}, {"edge_label": "kind"}])
def test_files_given_the_other_way_round_are_told(files, columns, refuses):
    people, links = files()
    with refuses("links.csv", "given as the nodes", "people.csv", "the other way round"):
        from_csv(links, people, **columns)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": "name"}, ("people.csv", "no column 'name'")),
        ({"source": "none"}, ("links.csv", "no column 'none'")),
        ({"target": "a\nb"}, ("links.csv", "no column")),
        ({"label": "person"}, ("people.csv", "'person'", "two things")),
        ({"label": "team", "split": "team"}, ("people.csv", "'team'", "two things")),
        ({"target": "from"}, ("links.csv", "'from'", "two things")),
        ({"source": "since", "edge_label": "since"}, ("links.csv", "'since'", "two things")),
    ],
)
def test_bad_columns_are_refused(files, columns, words, refuses):
    with refuses(*words):
        from_csv(*files(), **columns)


def test_places_without_a_file_are_refused(files, tmp_path, refuses):
    nodes, edges = files()
    with refuses("none.csv", "No such file", "CSV file"):
        from_csv(tmp_path / "none.csv", edges)
    with refuses(str(tmp_path), "directory"):
        from_csv(str(nodes), str(tmp_path))
    with refuses("people.csv", "nodes and for the edges", "a file for each"):
        from_csv(nodes, str(nodes))


def test_frames_give_the_graph_of_the_files(files):
    nodes, edges = files()
    roles = {"label": "team", "edge_label": "kind"}
    graph = from_csv(nodes, edges, **roles)
    other = from_pandas(pd.read_csv(nodes), pd.read_csv(edges), **roles)
    assert other.content_hash == graph.content_hash
    assert (other.name, other.ids, other.class_names) == ("graph", graph.ids, graph.class_names)
    indexed = from_pandas(pd.read_csv(nodes, index_col="person"), pd.read_csv(edges), **roles, name="x")
    assert indexed.content_hash == graph.content_hash
    assert (indexed.name, indexed.names.id_column, indexed.ids) == ("x", "person", graph.ids)


def frames(ends: list[int], **columns: list[object]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.DataFrame(columns), pd.DataFrame({"a": ends, "b": ends[::-1]})


@pytest.mark.parametrize(
    ("ends", "key", "index", "expected"),
    [
        ([0, 1, 2], [7, 8, 9], None, ("node", "0")),
        ([7, 9], [7, 8, 9], None, ("key", "7")),
        ([7.0, 9.0], [7.0, 8.0, 9.0], None, ("key", "7")),
        ([1, 2], [1, 2, 3], [4, 5, 6], ("key", "1")),
        ([4, 5], [1, 2, 3], [4, 5, 6], ("node", "4")),
        ([], [1, 2, 3], None, ("key", "1")),
        ([], [1, 2, 3], [4, 5, 6], ("node", "4")),
        ([0, 1], [0, 1, 2], None, ("key", "0")),
        (["a", "c"], ["a", "b", "c"], [5, 0, 2], ("key", "a")),
        (["x", "z"], [3, 1, 1], ["x", "y", "z"], ("node", "x")),
        ([7.0, None], [7, 8, 9], None, None),
    ],
)
def test_ids_are_in_the_index_or_in_the_first_column(ends, key, index, expected, refuses):
    nodes, edges = frames(ends, key=key, f=[0, 1, 0])
    nodes.index = nodes.index if index is None else index
    if expected is None:
        with refuses("no node id in row 1, column 'a' of the edges"):
            from_pandas(nodes, edges)
        return
    graph = from_pandas(nodes, edges)
    assert (graph.names.id_column, graph.ids[0]) == expected


def test_ids_in_doubt_have_to_be_named(refuses):
    nodes, edges = frames([1, 2], key=[1, 2, 3])
    with refuses("both the index", "'key'", "id='node'"):
        from_pandas(nodes, edges)
    assert from_pandas(nodes, edges, id="node").ids == ("0", "1", "2")
    assert from_pandas(nodes, edges, id="key").ids == ("1", "2", "3")


@pytest.mark.parametrize(
    ("key", "index", "words"),
    [
        ([1, 2, 3, 4, 4], None, ("'4' twice", "id='node' or id='key'")),
        ([1, 2, 3, 4, None], None, ("an empty cell", "id='node' or id='key'")),
        ([1, 2, 3, 8, 9], None, ("no '4'", "id='node' or id='key'")),
        ([1, 2, 3, 4, 5], [1, 3, 5, 7, 9], ("the index", "no '2'", "id='node' or id='key'")),
    ],
)
def test_ids_that_do_not_quite_fit_are_not_replaced_in_silence(key, index, words, refuses):
    nodes = pd.DataFrame({"key": key, "v": [0.1, 0.2, 0.3, 0.4, 0.5]}, index=index)
    edges = pd.DataFrame({"a": [1, 2, 3], "b": [2, 3, 4]})
    with refuses("column 'key'", *words):
        from_pandas(nodes, edges)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.data())
def test_edges_that_name_the_first_column_are_never_moved_to_the_index(key, data):
    ends = data.draw(st.lists(st.sampled_from(key), min_size=2, max_size=4))
    nodes, edges = frames(ends, key=key, f=range(len(key)))
    counted = list(map(str, range(len(key))))
    if len(set(key)) < len(key) or (set(map(str, ends)) <= set(counted) and list(map(str, key)) != counted):
        with pytest.raises(InputError, match="'key'"):
            from_pandas(nodes, edges)
        return
    graph = from_pandas(nodes, edges)
    assert (graph.names.id_column, graph.ids) == ("key", tuple(map(str, key)))


def test_a_named_index_holds_the_ids(refuses):
    nodes, edges = frames(["a", "b"], key=[1, 2, 3])
    nodes.index = pd.Index(["a", "b", "c"], name="who")
    assert from_pandas(nodes, edges).names.id_column == "who"
    edges.loc[1, "b"] = "x"
    with refuses("'x' in row 1, column 'b' of the edges", "not in the nodes"):
        from_pandas(nodes, edges)


@pytest.mark.parametrize(
    ("labels", "y", "notes"),
    [
        ([0, -1, 1], [0, -1, 1], 1),
        ([0.5, -1.0, 1.5], [0, -1, 1], 1),
        (["a", -1, "b"], [0, -1, 1], 1),
        (["a", "-1", "b"], [1, 0, 2], 0),
        (["0", "-1", "1"], [0, -1, 1], 1),
        (pd.Categorical([0, -1, 1]), [0, -1, 1], 1),
        (["a", None, float("nan")], [0, -1, -1], 0),
    ],
)
def test_what_stands_for_no_class_in_a_frame(labels, y, notes):
    nodes = pd.DataFrame({"id": ["p", "q", "r"], "f": [1, 2, 4], "y": labels})
    graph = from_pandas(nodes, pd.DataFrame({"s": ["p"], "t": ["q"]}), label="y")
    assert graph.y.tolist() == y
    assert graph.names.notes.count("-1 in column 'y' stands for no class.") == notes


def test_columns_may_be_called_by_numbers(refuses):
    nodes = pd.DataFrame([["a", 1, "u", "train"], ["b", 3, "v", "test"]])
    edges = pd.DataFrame([["x", "a", "b"]])
    graph = from_pandas(nodes, edges, id=0, label=2, split=3, source=1, target=2, edge_label=0)
    assert (graph.ids, graph.class_names, graph.x.tolist()) == (("a", "b"), ("u", "v"), [[-1], [1]])
    assert (graph.names.id_column, graph.names.label_column, graph.names.edge_classes) == ("0", "2", ("x",))
    with refuses("no column '9' in the nodes"):
        from_pandas(nodes, edges, id=0, label=9, source=1, target=2)


def test_a_column_that_is_a_category_by_its_type_is_one():
    nodes = pd.DataFrame({"id": ["p", "q", "r"], "c": pd.Categorical([10, 2, 10]), "n": [10, 2, 10]})
    graph = from_pandas(nodes, pd.DataFrame({"s": ["p"], "t": ["q"]}))
    assert [(column.name, column.kind) for column in graph.names.columns] == [("c", "category"), ("n", "number")]
    assert graph.x[:, :2].tolist() == [[1, 0], [0, 1], [1, 0]]


def test_places_in_frames_are_called_as_their_index():
    nodes = pd.DataFrame({"age": [*range(9), "x"]}, index=[f"x{i}" for i in range(10)])
    with pytest.raises(InputError, match="row 'x9', column 'age' of the nodes"):
        from_pandas(nodes, pd.DataFrame({"s": ["x0"], "t": ["x1"]}))


def test_bad_frames_are_refused(refuses):
    nodes, edges = frames([0, 5], age=[1, 2, 1])
    with refuses("'5'", "row 1, column 'a' of the edges", "not in the nodes"):
        from_pandas(nodes, edges, id="node")
    with refuses("no column 'x' in the nodes"):
        from_pandas(nodes, edges, id="x")
    with refuses("str", "the nodes", "DataFrame"):
        from_pandas("people.csv", edges)
    with refuses("Series", "the edges", "DataFrame"):
        from_pandas(nodes, edges["a"])
    with refuses("one column in the edges"):
        from_pandas(nodes, edges[["a"]])
    with refuses("no rows in the nodes"):
        from_pandas(nodes[:0], edges)


# Any text but a lone surrogate, which no UTF-8 file holds; quotes, commas and line ends often.
TEXT = st.text(st.one_of(st.sampled_from("\",\n\r ;'"), st.characters(exclude_categories=["Cs"])), max_size=6)
NAMES = TEXT.filter(str.strip)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    ids = draw(st.lists(NAMES, min_size=1, max_size=8, unique=True))
    number = st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr)
    word = NAMES.map(lambda text: f"w{text}".strip())  # never a number
    nodes = [[draw(number), name, draw(word), draw(TEXT)] for name in ids]
    ends = st.sampled_from(ids)
    edges = draw(st.lists(st.tuples(TEXT, ends, ends), max_size=12))
    classes: dict[frozenset[str], str] = {}
    for kind, a, b in edges:
        classes.setdefault(frozenset((a, b)), kind)
    return nodes, [[a, b, classes[frozenset((a, b))]] for _, a, b in edges]


def save(path: Path, header: list[str], rows: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@given(tables())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path, case):
    nodes, edges = case
    node_file = save(tmp_path / "nodes.csv", ["size", "id", "word", "class"], nodes)
    edge_file = save(tmp_path / "edges.csv", ["one end", "other end", "kind"], edges)
    graph = from_csv(node_file, edge_file, id="id", label="class", edge_label="kind")
    _, ids, words, classes = ([row[i] for row in nodes] for i in range(4))
    assert graph.ids == tuple(ids)
    x = graph.x.to_dense()
    shown = {column.name: column for column in graph.names.columns}
    if words != ids and len(set(words)) > 1:  # else the column is left out
        words_at = x.shape[1] - shown["word"].width
        assert [shown["word"].categories[i] for i in x[:, words_at:].argmax(1)] == words
    assert known(graph.y, graph.class_names) == unless_missing(classes)
    assert {frozenset((ids[a], ids[b])) for a, b in graph.edge_index.T.tolist()} == {
        frozenset((a, b)) for a, b, _ in edges if a != b
    }
    kinds = {frozenset((a, b)): kind for a, b, kind in edges}
    expected = [kinds[frozenset((ids[a], ids[b]))] for a, b in graph.edge_index.T.tolist()]
    assert known(graph.edge_label, graph.names.edge_classes) == unless_missing(expected, [row[2] for row in edges])


def known(label: torch.Tensor, names: tuple[str, ...]) -> list[str]:
    return [names[i] if i >= 0 else "" for i in label.tolist()]


def unless_missing(cells: list[str], column: list[str] | None = None) -> list[str]:
    """The classes by name; what stands for no value among numbers is none."""
    words = {cell.strip() for cell in column or cells if cell.strip()}
    others = {word for word in words if word.lower() not in MISSING}
    numbers = others and all(re.fullmatch(r"[+-]?[0-9]+(\.0*)?", word) for word in others)
    none = (*MISSING, "-1") if numbers else ()
    return ["" if cell.strip().lower() in none else cell.strip() for cell in cells]


def test_classes_that_may_not_be_meant_are_noted(files):
    cells = ["red"] * 15 + ["Red"] * 10 + ["blue"] * 5 + ["green"] + ["unknown"] * 3
    rows = "".join(f"n{i},{i % 2},{cell}\n" for i, cell in enumerate(cells))
    notes = " ".join(from_csv(*files("id,f,y\n" + rows, "s,t\nn0,n1\n"), label="y").names.notes)
    assert "one row of class 'green'" in notes
    assert "upper and lower case only, 'Red', 'red'" in notes
    assert "a class called 'unknown': leave the cell empty" in notes
