from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.graph.custom import from_networkx
from bes.graph.sparse import Sparse


@pytest.fixture
def friends():
    graph = nx.Graph(name="friends")
    graph.add_node("ann", age=3, city="Rome", team="red", part="train")
    graph.add_node("bob", age=5, city="Oslo", part="test")
    graph.add_node(7, city="Rome", team="blue")
    graph.add_edge("ann", "bob", kind="work")
    graph.add_edge(7, "bob")
    return graph


def test_attributes_are_columns(friends):
    graph = from_networkx(friends, label="team", split="part", edge_label="kind")
    assert (graph.name, graph.ids, graph.class_names) == ("friends", ("ann", "bob", "7"), ("blue", "red"))
    assert graph.x.tolist() == [[-1, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]  # age, no age, Oslo, Rome
    assert graph.y.tolist() == [1, -1, 0]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_label.tolist() == [0, 0, -1, -1]
    assert graph.masks["test_mask"].tolist() == [False, True, False]
    assert [column.name for column in graph.names.columns] == ["age", "city"]
    assert "Attribute 'age' of graph 'friends' lacks 1 of 3" in graph.names.notes[1]


def test_features_by_name(friends, refuses):
    graph = from_networkx(friends, features=["city"], name="x")
    assert (graph.name, graph.x.tolist()) == ("x", [[0, 1], [1, 0], [0, 1]])
    assert graph.y.tolist() == [-1] * 3
    assert isinstance(from_networkx(friends, features=[]).x, Sparse)
    with refuses("no attribute 'town' in graph 'friends'", "'city'"):
        from_networkx(friends, features=["town"])
    with refuses("'city'", "two things"):
        from_networkx(friends, features=["city"], label="city")


def test_vectors_are_taken_as_they_are(friends):
    for key, value in zip(friends, ([1, 2], np.array([3.5, 0]), torch.tensor([5, 6])), strict=True):
        friends.nodes[key].update(v=value, tags={"a"}, mixed=["x", 1])
    graph = from_networkx(friends, features=["v"])
    assert graph.x.tolist() == [[1, 2], [3.5, 0], [5, 6]]
    graph = from_networkx(friends, features=["city", "v"])
    assert graph.x.tolist() == [[0, 1, 1, 2], [1, 0, 3.5, 0], [0, 1, 5, 6]]
    assert graph.names.columns == (), "such features cannot be made from a table"
    notes = from_networkx(friends).names.notes
    assert [("'tags'" in note, "'mixed'" in note) for note in notes[:2]] == [(True, False), (False, True)]


@pytest.mark.parametrize("value", [None, 3, [1], [1, 2, 3], [1, "x"], [1, float("nan")], [1, 1e39], [[1], [2]], {1, 2}])
def test_vectors_that_do_not_fit_are_refused(friends, value, refuses):
    for key in friends:
        friends.nodes[key]["v"] = [1, 2]
    friends.nodes["bob"]["v"] = value
    with refuses("'v' of node 'bob'", "graph 'friends'", "2 finite numbers"):
        from_networkx(friends, features=["v"])


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_directed_and_doubled_edges(kind):
    graph = kind([(0, 1), (1, 0), (2, 1), (2, 2)])
    found = from_networkx(graph)
    assert (found.name, found.n_edges) == ("graph", 2)
    notes = " ".join(found.names.notes)
    assert ("directed" in notes) == graph.is_directed()
    assert "1 from a node to itself and 1 between two nodes" in notes


def test_copies_of_an_edge_have_one_class(refuses):
    graph = nx.DiGraph()
    graph.add_edge("a", "b", kind=1)
    graph.add_edge("b", "a", kind=2)
    with refuses("'b' and 'a'", "'1' in edge ('a', 'b')", "'2' in edge ('b', 'a')"):
        from_networkx(graph, edge_label="kind")
    with refuses("No edge of graph 'graph'", "'kin'"):
        from_networkx(graph, edge_label="kin")


def test_what_is_no_graph_is_refused(refuses):
    with refuses("list", "NetworkX"):
        from_networkx([])
    with refuses("no nodes"):
        from_networkx(nx.Graph())
    with refuses("1 and '1'", "'1'", "rename"):
        from_networkx(nx.Graph([(1, "1")]))
    with refuses("' '", "blank"):
        from_networkx(nx.Graph([(" ", "1")]))


def test_attributes_that_are_lists_are_no_classes(friends, refuses):
    friends.nodes["bob"]["y"] = [1, 2]
    friends.edges["ann", "bob"]["kind"] = ["work", "play"]
    for role in ("label", "split"):
        with refuses("attribute 'y'", "node 'bob' of graph 'friends'", "list", "one value a node"):
            from_networkx(friends, **{role: "y"})
    with refuses("attribute 'kind'", "edge ('ann', 'bob') of graph 'friends'", "list", "one value an edge"):
        from_networkx(friends, features=[], edge_label="kind")


def test_minus_one_is_no_class(friends):
    friends.nodes["bob"]["team"] = -1
    friends.edges["ann", "bob"]["kind"] = -1
    friends.edges[7, "bob"]["kind"] = "work"
    graph = from_networkx(friends, label="team", edge_label="kind")
    assert (graph.y.tolist(), graph.class_names, graph.names.edge_classes) == ([1, -1, 0], ("blue", "red"), ("work",))
    assert graph.names.notes[:2] == tuple(f"-1 in attribute {name!r} stands for no class." for name in ("team", "kind"))


def test_names_that_are_numbers():
    graph = nx.Graph([(1.0, 2.5, {0: "x"})])
    nx.set_node_attributes(graph, {1.0: "u", 2.5: "v"}, 3)
    nx.set_node_attributes(graph, {1.0: 1, 2.5: 3}, 4)
    found = from_networkx(graph, label=3, features=[4], edge_label=0)
    assert (found.ids, found.class_names, found.names.edge_classes) == (("1", "2.5"), ("u", "v"), ("x",))
    assert from_networkx(nx.grid_2d_graph(1, 2)).ids == ("(0, 0)", "(0, 1)")


def test_places_are_nodes(friends, refuses):
    friends.nodes["bob"]["age"] = float("inf")
    with refuses("node 'bob', attribute 'age' of graph 'friends'", "finite"):
        from_networkx(friends)
    with refuses("no attribute 'tem'", "did you mean 'team'?"):
        from_networkx(friends, label="tem")


@given(st.integers(1, 8), st.data())
def test_any_graph_keeps_its_edges(n, data):
    node = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=20))
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(data.draw(st.permutations(range(n))))
    graph.add_edges_from(edges)
    found = from_networkx(graph)
    assert found.ids == tuple(map(str, graph))
    joined = {frozenset((int(found.ids[a]), int(found.ids[b]))) for a, b in found.edge_index.T.tolist()}
    assert joined == {frozenset(pair) for pair in edges if len(set(pair)) == 2}
