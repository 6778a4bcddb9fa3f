from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bes.graph.custom import from_csv
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


def test_numbers_categories_classes_and_edge_classes(files):
    graph = from_csv(*files(), label="team", edge_label="kind")
    assert (graph.name, graph.n_nodes, graph.n_classes, graph.n_edge_classes) == ("people", 3, 2, 1)
    assert graph.x.tolist() == [[31, 0, 1], [4.5, 1, 0], [-100, 0, 1]]  # age, Oslo, Rome
    assert graph.y.tolist() == [1, -1, 0]  # blue, red
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_label.tolist() == [0, 0, -1, -1]


def test_columns_by_name(files):
    nodes, edges = "age,person\n3,ann\n5,bob\n", "since,b,a\n1,bob,ann\n"
    graph = from_csv(*files(nodes, edges), id="person", source="a", target="b", name="x")
    assert (graph.name, graph.x.tolist(), graph.n_edges, graph.edge_label) == ("x", [[3], [5]], 1, None)
    assert graph.y.tolist() == [-1, -1]


def test_ids_alone_and_no_edges(files):
    graph = from_csv(*files("id\nb\na\n\n", "a,b\n"))
    assert isinstance(graph.x, Sparse)
    assert graph.x.to_dense().tolist() == [[1, 0], [0, 1]]
    assert graph.n_edges == 0


def test_integer_classes_are_ordered_as_numbers(files):
    assert from_csv(*files("id,y\na,10\nb,9\nc,-2\n", "s,t\n"), label="y").y.tolist() == [2, 1, 0]
    assert from_csv(*files("id,y\na,10\nb,9\nc,x\n", "s,t\n"), label="y").y.tolist() == [0, 1, 2]


def test_wide_categories_are_kept_sparse(files):
    nodes = "id,word\n" + "".join(f"{i},w{i:02}\n" for i in range(20))
    graph = from_csv(*files(nodes, "s,t\n0,19\n"))
    assert isinstance(graph.x, Sparse)
    assert torch.equal(graph.x.to_dense(), torch.eye(20))


def test_what_only_looks_like_a_number_is_text(files):
    for words in (("1_0", "2_0"), ("na", "none"), ("nan", "x"), ("12", "A3"), ("1e99", "?x")):
        nodes = "id,f\n" + "".join(f"{i},{word}\n" for i, word in enumerate(words))
        assert from_csv(*files(nodes, "s,t\n")).x.sum(0).tolist() == [1, 1]


def test_the_mark_and_line_ends_of_spreadsheets_are_read(files):
    marked = "\ufeff" + NODES.replace("\n", "\r\n")
    graph, plain = (from_csv(*files(text), id="person", label="team") for text in (marked, NODES))
    assert graph.content_hash == plain.content_hash


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ("", EDGES, ("people.csv", "empty")),
        ("\n\n", EDGES, ("people.csv", "empty")),
        (NODES, "", ("links.csv", "empty")),
        ("person,age,city,team\n", EDGES, ("people.csv", "no rows")),
        (NODES, "from\nann\n", ("links.csv", "one column")),
        (NODES + "bob,1,Rome,red\n", EDGES, ("people.csv", "line 5", "'person'", "'bob'", "line 3")),
        (NODES + " ,1,Rome,red\n", EDGES, ("people.csv", "line 5", "'person'", "no node id")),
        (NODES + "dan,1,Rome\n", EDGES, ("people.csv", "Line 5", "3 cells", "4 columns")),
        (NODES, EDGES + "ann,cai,work,1,2\n", ("links.csv", "Line 4", "5 cells", "4 columns")),
        (NODES, EDGES + "\nann,dan,work,1\n", ("links.csv", "line 5", "'to'", "'dan'", "not in", "people.csv")),
        (NODES, EDGES + ",ann,work,1\n", ("links.csv", "line 4", "'from'", "''")),
        (NODES + '"a\nb",,Rome,red\n"c",1,Rome,red\n', EDGES, ("people.csv", "line 5", "'age'", "missing")),
        (NODES + "dan,1, ,red\n", EDGES, ("people.csv", "line 5", "'city'", "missing")),
        (NODES + "dan,N/A,Rome,red\n", EDGES, ("people.csv", "line 5", "'age'", "missing")),
        (NODES + "dan,nan,Rome,red\n", EDGES, ("people.csv", "line 5", "'age'", "'nan'", "finite")),
        (NODES + "dan,-1e39,Rome,red\n", EDGES, ("people.csv", "line 5", "'age'", "'-1e39'", "finite")),
        (NODES + 'dan,1,"Rome,red\n', EDGES, ("people.csv", "Line 5", "not valid CSV")),
        (NODES.encode() + b"dan,1,K\xf6ln,red\n", EDGES, ("people.csv", "Line 5", "UTF-8")),
        (NODES.replace("city", "age"), EDGES, ("people.csv", "'age' twice")),
        (NODES, EDGES + "bob,ann,play,1\n", ("nodes 0 and 1", "both directions")),
        (NODES, EDGES.replace("kind", "type"), ("links.csv", "no column 'kind'", "'since'")),
        (NODES.replace("team", "side"), EDGES, ("people.csv", "no column 'team'", "'side'")),
    ],
)
def test_bad_files_are_refused(files, nodes, edges, words, refuses):
    with refuses(*words):
        from_csv(*files(nodes, edges), label="team", edge_label="kind")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": "name"}, ("people.csv", "no column 'name'")),
        ({"source": "none"}, ("links.csv", "no column 'none'")),
        ({"target": "a\nb"}, ("links.csv", "no column")),
        ({"label": "person"}, ("people.csv", "'person'", "two things")),
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


# Any text but a lone surrogate, which no UTF-8 file holds; quotes, commas and line ends often.
TEXT = st.text(st.one_of(st.sampled_from("\",\n\r ;'"), st.characters(exclude_categories=["Cs"])), max_size=6)
NAMES = TEXT.filter(str.strip)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    ids = draw(st.lists(NAMES, min_size=1, max_size=8, unique=True))
    number = st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr)
    word = NAMES.map("w{}".format)  # never a number
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
    edge_file = save(tmp_path / "edges.csv", ["a", "b", "kind"], edges)
    graph = from_csv(node_file, edge_file, id="id", label="class", edge_label="kind")
    _, ids, words, classes = ([row[i] for row in nodes] for i in range(4))
    x = graph.x.to_dense()
    assert torch.equal(x[:, 0], torch.tensor([float(row[0]) for row in nodes]))
    assert [sorted(set(words))[i] for i in x[:, 1:].argmax(1)] == words
    assert [cell if cell.strip() else "" for cell in classes] == names(graph.y, classes)
    assert {frozenset((ids[a], ids[b])) for a, b in graph.edge_index.T.tolist()} == {
        frozenset((a, b)) for a, b, _ in edges if a != b
    }
    kinds = {frozenset((a, b)): kind if kind.strip() else "" for a, b, kind in edges}
    expected = [kinds[frozenset((ids[a], ids[b]))] for a, b in graph.edge_index.T.tolist()]
    assert names(graph.edge_label, [row[2] for row in edges]) == expected


def names(label: torch.Tensor, cells: list[str]) -> list[str]:
    """Classes by name, as numbered in sorted order."""
    known = sorted({cell for cell in cells if cell.strip()})
    if all(re.fullmatch("[+-]?[0-9]+", cell) for cell in known):
        known.sort(key=int)
    return [known[i] if i >= 0 else "" for i in label.tolist()]
