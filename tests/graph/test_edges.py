from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.errors import InputError
from bes.graph.edges import undirected_labels
from bes.graph.graph import Graph


@st.composite
def labelled(draw: st.DrawFn, conflicts: bool = False) -> tuple[int, list[tuple[int, int]], list[int]]:
    """Edges in any direction, doubled and looped, with a class for most copies."""
    n = draw(st.integers(1, 8))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=30))
    classes = st.integers(-1, 3)
    truth = {frozenset(edge): draw(classes) for edge in edges}
    if conflicts:
        return n, edges, [draw(classes) for _ in edges]
    return n, edges, [truth[frozenset(edge)] if draw(st.booleans()) else -1 for edge in edges]


def build(n: int, edges: list[tuple[int, int]], labels: list[int]) -> Graph:
    index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    y = torch.zeros(n, dtype=torch.int64)
    return Graph(torch.ones(n, 1), index, y, "toy", edge_label=torch.tensor(labels, dtype=torch.int64))


@given(labelled())
def test_both_directions_carry_the_known_class(case):
    n, edges, labels = case
    known = {frozenset(edge): -1 for edge in edges}
    for edge, label in zip(edges, labels, strict=True):
        known[frozenset(edge)] = max(known[frozenset(edge)], label)
    graph = build(n, edges, labels)
    expected = [known[frozenset(edge)] for edge in graph.edge_index.T.tolist()]
    assert graph.edge_label.tolist() == expected


@given(labelled(), st.randoms())
def test_labels_do_not_depend_on_how_edges_are_stored_and_survive_replace(case, random):
    n, edges, labels = case
    order = random.sample(range(len(edges)), len(edges))
    flipped = [edges[i] if random.random() < 0.5 else edges[i][::-1] for i in order]
    graph = build(n, edges, labels)
    assert build(n, flipped, [labels[i] for i in order]).content_hash == graph.content_hash
    again = replace(graph, y=graph.y - 1)
    assert torch.equal(again.edge_index, graph.edge_index)
    assert torch.equal(again.edge_label, graph.edge_label)


@given(labelled(conflicts=True))
def test_only_conflicts_are_refused(case):
    n, edges, labels = case
    seen: dict[frozenset[int], set[int]] = {}
    for edge, label in zip(edges, labels, strict=True):
        if label >= 0 and edge[0] != edge[1]:
            seen.setdefault(frozenset(edge), set()).add(label)
    clashes = sorted(sorted(edge) for edge, found in seen.items() if len(found) > 1)
    if clashes:
        with pytest.raises(InputError, match=f"nodes {clashes[0][0]} and {clashes[0][1]} of"):
            build(n, edges, labels)
    else:
        build(n, edges, labels)


def test_conflicts_name_the_edge_and_the_classes(refuses):
    with refuses("nodes 1 and 2", "'toy'", "classes 0 and 3", "both directions", "-1 where unknown"):
        build(3, [(0, 1), (2, 1), (1, 2)], [1, 3, 0])


def test_other_edges_need_labels_of_their_own(refuses):
    graph = build(3, [(0, 1), (1, 2)], [0, 1])
    with refuses("edge labels of graph 'toy'", "shape (4,)", "1 columns", "no edge labels"):
        replace(graph, edge_index=torch.tensor([[0], [2]]))
    assert replace(graph, edge_index=torch.tensor([[0], [2]]), edge_label=None).n_edges == 1


def test_loops_go_with_their_labels():
    labels = undirected_labels(torch.tensor([[1, 0], [1, 1]]), torch.tensor([5, 2]), 2, "toy")
    assert labels.tolist() == [2, 2]
