from __future__ import annotations

import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from bes.graph.given import given_graph
from bes.graph.graph import Graph
from bes.graph.readers import write_npz

NODES = "person,age,team,part\nann,1,red,train\nbob,3,blue,test\n"
EDGES = "from,to,kind\nann,bob,work\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "people.csv").write_text(NODES)
    (tmp_path / "knows.csv").write_text(EDGES)
    return tmp_path / "people.csv", tmp_path / "knows.csv"


@pytest.fixture
def friends():
    graph = nx.Graph()
    graph.add_node("ann", age=1.0, team="red", part="train")
    graph.add_node("bob", age=3.0, team="blue", part="test")
    graph.add_edge("ann", "bob", kind="work")
    return graph


@pytest.mark.parametrize("dataset", ["cora", "none.npz", "folder/graph.npz"])
def test_a_data_set_is_left_for_later(dataset):
    assert given_graph(dataset, None, None) == (dataset, None)


def test_a_graph_file_of_this_project_is_left_for_later(tmp_path, small_graph):
    write_npz(small_graph, tmp_path / "graph.npz")
    assert given_graph(str(tmp_path / "graph.npz"), None, None) == (str(tmp_path / "graph.npz"), None)


def check_people(graph: Graph) -> None:
    assert (graph.ids, graph.class_names) == (("ann", "bob"), ("blue", "red"))
    assert graph.x.tolist() == [[-1], [1]]
    assert graph.y.tolist() == [1, 0]
    assert graph.masks["train_mask"].tolist() == [True, False]
    assert graph.edge_label.tolist() == [0, 0]


def test_tables(files):
    roles = {"label": "team", "id": "person", "split_column": "part", "edge_label": "kind"}
    name, graph = given_graph(None, *files, **roles)
    assert (name, graph.name) == (str(files[0]), "people")
    check_people(graph)


@pytest.mark.parametrize("kind", ["graphml", "gml", "gexf"])
def test_files_of_networkx(tmp_path, friends, kind):
    path = tmp_path / f"friends.{kind}"
    getattr(nx, f"write_{kind}")(friends, path)
    name, graph = given_graph(str(path), None, None, label="team", split_column="part", edge_label="kind")
    assert (name, graph.name) == (str(path), "friends")
    check_people(graph)


def test_gml_without_labels(tmp_path):
    (tmp_path / "x.GML").write_text("graph [ node [ id 3 ] node [ id 5 ] edge [ source 3 target 5 ] ]")
    assert given_graph(str(tmp_path / "x.GML"), None, None)[1].ids == ("3", "5")


def test_pyg_data(tmp_path, small_graph):
    torch.save(small_graph.to_pyg(), tmp_path / "data.pt")
    name, graph = given_graph(str(tmp_path / "data.pt"), None, None)
    assert (name, graph.name) == (str(tmp_path / "data.pt"), "data")
    assert graph.content_hash == small_graph.content_hash
    assert graph.names.ids[:2] == ("0", "1")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_an_adjacency_of_scipy(tmp_path, kind):
    sp.save_npz(tmp_path / "a.npz", sp.eye(3, k=1, format=kind))
    np.save(tmp_path / "y.npy", np.array(["u", "", "v"]))
    name, graph = given_graph(str(tmp_path / "a.npz"), None, None, labels=tmp_path / "y.npy")
    assert (name, graph.name) == (str(tmp_path / "a.npz"), "a")
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert (graph.y.tolist(), graph.class_names) == ([0, -1, 1], ("u", "v"))
    assert given_graph(str(tmp_path / "a.npz"), None, None)[1].n_classes == 0


def test_embeddings(tmp_path):
    z, y, e = (tmp_path / f"{name}.npy" for name in "zye")
    np.save(z, np.arange(6.0).reshape(3, 2))
    np.save(y, np.array([1, -1, 0]))
    np.save(e, np.array([[0], [2]]))
    name, graph = given_graph(None, None, None, embeddings=z)
    assert (name, graph.name, graph.n_edges, graph.n_classes) == (str(z), "z", 3, 0)
    _, graph = given_graph(None, None, e, embeddings=z, labels=y)
    assert (graph.edge_index.tolist(), graph.y.tolist()) == ([[0, 2], [2, 0]], [1, -1, 0])


HERE = Path("x.csv")


@pytest.mark.parametrize(
    ("dataset", "options", "words"),
    [
        (None, {}, ("No graph was given", "--nodes and --edges", "--embeddings")),
        (None, {"labels": HERE}, ("No graph was given",)),
        (None, {"nodes": HERE}, ("--nodes", "give --edges")),
        (None, {"edges": HERE}, ("--edges", "give --nodes")),
        ("cora", {"nodes": HERE, "edges": HERE}, ("leave out", "'cora'")),
        ("cora", {"edges": HERE}, ("'cora'", "--edges")),
        ("cora", {"label": "team"}, ("--label", "--nodes and --edges")),
        ("cora", {"id": "team"}, ("--id", "--nodes and --edges")),
        ("x.npz", {"split_column": "part"}, ("--split-column", "--nodes and --edges")),
        ("x.npz", {"edge_label": "kind"}, ("--edge-label", "--nodes and --edges")),
        ("x.npz", {"labels": HERE}, ("--labels", "--embeddings")),
        ("x.pt", {"label": "team"}, ("--label",)),
        ("x.gml", {"id": "name"}, ("--id", "x.gml")),
        ("x.gml", {"labels": HERE}, ("--labels", "x.gml")),
        (None, {"nodes": HERE, "edges": HERE, "labels": HERE}, ("--labels", "--label")),
        ("cora", {"embeddings": HERE}, ("--embeddings", "a data set")),
        (None, {"embeddings": HERE, "nodes": HERE}, ("--embeddings", "--nodes")),
        (None, {"embeddings": HERE, "label": "x"}, ("--embeddings", "--label")),
        ("people.csv", {}, ("people.csv", "--nodes")),
        ("people.xlsx", {}, ("people.xlsx", "--nodes")),
        ("z.npy", {}, ("z.npy", "--embeddings")),
    ],
)
def test_options_that_do_not_go_together_are_refused(dataset, options, words, refuses):
    options = {"nodes": None, "edges": None, **options}
    with refuses(*words):
        given_graph(dataset, **options)


@pytest.mark.parametrize("name", ["x.graphml", "x.gml", "x.gexf", "x.pt", "x.npy"])
@pytest.mark.parametrize(("content", "words"), [(None, ("does not exist",)), (b"hello <", ())])
def test_files_that_are_not_there_or_damaged_are_refused(tmp_path, name, content, words, refuses):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    embeddings = {"embeddings": path} if name == "x.npy" else {}
    with refuses(name, "give", *words):
        given_graph(None if embeddings else str(path), None, None, **embeddings)


def test_a_damaged_adjacency_and_an_archive_are_refused(tmp_path, refuses):
    np.savez(tmp_path / "a.npz", format=np.array(b"csr"), shape=np.array([2, 2]), data=np.ones(1))
    with refuses("a.npz", "cannot be read", "save_npz"):
        given_graph(str(tmp_path / "a.npz"), None, None)
    with refuses("a.npz", "several arrays", ".npy"):
        given_graph(None, None, None, embeddings=tmp_path / "a.npz")


class Evil:
    def __reduce__(self):
        return exec, ("from pathlib import Path; Path('ran').touch()",)


def test_nothing_is_run_while_a_file_is_read(tmp_path, monkeypatch, refuses):
    monkeypatch.chdir(tmp_path)
    torch.save(Evil(), "x.pt")
    Path("y.pt").write_bytes(pickle.dumps(Evil()))
    np.save("z.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    for dataset, options in (("x.pt", {}), ("y.pt", {}), (None, {"embeddings": Path("z.npy")})):
        with refuses("give"):
            given_graph(dataset, None, None, **options)
    assert not Path("ran").exists()


def test_other_objects_in_a_pt_file_are_refused(tmp_path, refuses):
    torch.save({"x": torch.eye(2)}, tmp_path / "x.pt")
    with refuses("x.pt", "dict", "PyG Data"):
        given_graph(str(tmp_path / "x.pt"), None, None)


def test_networkx_that_is_not_installed(tmp_path, monkeypatch, refuses):
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("bes.graph.given.import_module", absent)
    with refuses("x.gml", "NetworkX", "pip install networkx"):
        given_graph(str(tmp_path / "x.gml"), None, None)


def test_a_misspelt_label_names_the_nearest(files, refuses):
    with refuses("no column 'taem'", "'person', 'age', 'team', 'part'", "did you mean 'team'?"):
        given_graph(None, *files, label="taem")
