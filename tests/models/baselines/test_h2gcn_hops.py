"""Exact two-hop neighbours against a breadth-first search, and their normalisation against its formula."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bes.errors import InputError
from bes.graph.edges import undirected
from bes.graph.sparse import Operators, Sparse
from bes.models.baselines import h2gcn_hops
from bes.models.baselines.h2gcn_hops import hops_of, two_hop
from bes.seeding import generator


def operators(pairs: list[tuple[int, int]], n: int) -> Operators:
    edges = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t()
    return Operators(undirected(edges, n), n)


def distances(ops: Operators, start: int) -> dict[int, int]:
    """Edges on the shortest path to every node that can be reached: breadth first."""
    found, front = {start: 0}, [start]
    while front:
        node = front.pop(0)
        for other in ops.edge_index[1][ops.edge_index[0] == node].tolist():
            if other not in found:
                found[other] = found[node] + 1
                front.append(other)
    return found


def expected(ops: Operators) -> list[tuple[int, int]]:
    return sorted((i, j) for i in range(ops.n_nodes) for j, far in distances(ops, i).items() if far == 2)


def listed(pairs: Tensor) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in pairs.t().tolist()]


def star(leaves: int) -> Operators:
    return operators([(0, leaf) for leaf in range(1, leaves + 1)], leaves + 1)


def scattered() -> Operators:
    """60 nodes, a hub and one node without edges."""
    random = torch.randint(0, 59, (70, 2), generator=generator(0, "edges")).tolist()
    return operators([*map(tuple, random), *((0, i) for i in range(1, 20))], 60)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_pairs_are_those_at_distance_two(graph: tuple[int, list[tuple[int, int]]]) -> None:
    ops = operators(graph[1], graph[0])
    assert listed(two_hop(ops)) == expected(ops)


@pytest.mark.parametrize("walks", [1, 7, 100, 1 << 23])
def test_blocks_do_not_change_the_pairs(walks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(h2gcn_hops, "_WALKS", walks)
    ops = scattered()
    assert listed(two_hop(ops)) == expected(ops)


def test_direct_neighbours_and_the_node_itself_are_left_out() -> None:
    """Every pair of a clique has common neighbours; one that keeps them would find all pairs."""
    clique = [(i, j) for i in range(5) for j in range(i)]
    assert two_hop(operators(clique, 5)).shape == (2, 0)
    assert listed(two_hop(operators([*clique, (4, 5)], 6))) == [
        *((i, 5) for i in range(4)),
        *((5, i) for i in range(4)),
    ]


def dense_by_formula(pairs: list[tuple[int, int]], n: int) -> Tensor:
    degree = [sum(first == i for first, _ in pairs) for i in range(n)]
    out = torch.zeros(n, n)
    for i, j in pairs:
        out[i, j] = 1 / math.sqrt(degree[i] * degree[j])
    return out


def test_each_operator_has_its_own_degrees() -> None:
    ops = scattered()
    hops = hops_of(ops)
    torch.testing.assert_close(hops.one.to_dense(), dense_by_formula(listed(ops.edge_index), 60))
    torch.testing.assert_close(hops.two.to_dense(), dense_by_formula(expected(ops), 60))
    for one in hops:
        assert isinstance(one, Sparse)
        assert one.transposed is one
        assert torch.equal(one.to_dense(), one.to_dense().t())
        assert (one.to_dense()[59] == 0).all()  # no neighbours: a row of zeros, not of infinities


def test_they_are_built_once_a_graph() -> None:
    first, second = star(3), star(3)
    assert hops_of(first) is hops_of(first)
    assert hops_of(first) is not hops_of(second)


def test_too_many_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(h2gcn_hops, "LIMIT", 20 * 19)
    assert two_hop(star(20)).shape[1] == 20 * 19
    with pytest.raises(InputError, match=r"two-hop matrix.* more than 380 entries.*use another method"):
        two_hop(star(21))


def test_a_graph_that_is_too_large_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(h2gcn_hops, "LIMIT", 1000)
    monkeypatch.setattr(h2gcn_hops, "_WALKS", 500)
    seen: list[int] = []
    real = h2gcn_hops._at_distance_two
    monkeypatch.setattr(h2gcn_hops, "_at_distance_two", lambda *given: seen.append(given[2]) or real(*given))
    with pytest.raises(InputError, match="use another method"):
        two_hop(star(300))
    assert seen[-1] < 20  # of 301 nodes
