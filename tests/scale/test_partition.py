"""Parts: every node in one, none empty, sizes alike, few edges between; each step against a plain loop."""

import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.synthetic import sbm
from bes.scale.halo import cut as cut_for_ranks
from bes.scale.partition import (
    SLACK,
    Partitioner,
    _contracted,
    _filled,
    _joined,
    _order,
    _rank,
    _refined,
    _runs,
    _wishes,
    halo_share,
    partition,
)

KINDS: tuple[Partitioner, ...] = ("metis", "communities")


def rng(seed: int = 0) -> torch.Generator:
    return seeding.generator(seed, "partition")


def graph_of(edges: list[tuple[int, int]], n: int) -> Graph:
    pairs = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return Graph(torch.ones(n, 1), pairs, torch.full((n,), -1))


def cut(graph: Graph, part: Tensor) -> float:
    """Share of the edges between parts."""
    return float((part[graph.edge_index[0]] != part[graph.edge_index[1]]).double().mean())


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, int]:
    n = draw(st.integers(1, 40))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=80))
    return graph_of(edges, n), draw(st.integers(1, n))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(given_=graphs(), seed=st.integers(0, 3))
def test_every_node_is_in_one_part_and_no_part_is_empty(
    kind: Partitioner, given_: tuple[Graph, int], seed: int
) -> None:
    graph, m = given_
    part = partition(graph, m, kind, rng(seed))
    assert part.shape == (graph.n_nodes,)
    assert part.dtype == torch.long
    size = torch.bincount(part, minlength=m)
    assert len(size) == m
    assert int(size.min()) >= 1


@settings(max_examples=60)
@given(given_=graphs())
def test_sizes_of_communities_are_within_the_slack(given_: tuple[Graph, int]) -> None:
    graph, m = given_
    mean = graph.n_nodes / m
    size = torch.bincount(partition(graph, m, "communities", rng()), minlength=m)
    assert int(size.max()) < mean * (1 + SLACK) + 1
    assert int(size.min()) > mean * (1 - SLACK) - 1


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_are_alike_on_a_graph_with_hubs(kind: Partitioner) -> None:
    star = [(0, i) for i in range(1, 100)] + [(100, i) for i in range(101, 200)]
    size = torch.bincount(partition(graph_of(star, 220), 10, kind, rng()), minlength=10)
    assert int(size.max()) <= 25
    assert int(size.min()) >= 18


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_that_are_hardly_linked_are_found(kind: Partitioner) -> None:
    graph = sbm(n_nodes=240, n_classes=4, n_features=4, degree=12.0, noise=0.02)
    part = partition(graph, 4, kind, rng())
    assert cut(graph, part) < 0.05
    for c in range(4):
        assert torch.bincount(part[graph.y == c]).max() >= 55


@pytest.mark.parametrize("kind", KINDS)
def test_cliques_in_a_ring_are_never_cut(kind: Partitioner) -> None:
    edges = [(5 * c + i, 5 * c + j) for c in range(12) for i in range(5) for j in range(i)]
    ring = [(5 * c, (5 * c + 6) % 60) for c in range(12)]
    part = partition(graph_of(edges + ring, 60), 12, kind, rng())
    assert torch.equal(torch.bincount(part), torch.full((12,), 5))
    assert (part.reshape(12, 5) == part.reshape(12, 5)[:, :1]).all()


def test_communities_cut_hardly_more_than_metis_does() -> None:
    graph = sbm(n_nodes=1000, n_classes=10, n_features=10, degree=6.0, noise=0.2)
    ours, theirs = (cut(graph, partition(graph, 20, kind, rng())) for kind in ("communities", "metis"))
    at_random = 0.95
    assert ours < theirs + 0.25 * (at_random - theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_stream_gives_the_same_parts(kind: Partitioner, small_graph: Graph) -> None:
    first, second = (partition(small_graph, 7, kind, rng(3)) for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("m", [0, 4])
def test_a_number_of_parts_that_cannot_be_is_refused(m: int) -> None:
    with pytest.raises(InputError, match="cannot be cut into"):
        partition(graph_of([(0, 1)], 3), m, "communities", rng())


def test_metis_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, small_graph: Graph) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(InputError, match=r"bes-graph\[scale\]"):
        partition(small_graph, 3, "metis", rng())
    assert partition(small_graph, 3, "communities", rng()).max() == 2


def test_empty_parts_are_filled_from_the_largest() -> None:
    part = _filled(torch.tensor([0, 0, 0, 0, 2, 2]), 5)
    assert sorted(torch.bincount(part, minlength=5).tolist()) == [1, 1, 1, 1, 2]
    assert part[0] == 0
    assert part[4] == 2


def test_runs_differ_in_length_by_at_most_one() -> None:
    order = torch.tensor([4, 2, 0, 1, 3, 6, 5])
    part = _runs(order, 3)
    assert part[order].tolist() == sorted(part.tolist())
    assert sorted(torch.bincount(part).tolist()) == [2, 2, 3]


@given(group=st.lists(st.integers(0, 5), max_size=30))
def test_rank_counts_those_before_in_the_group(group: list[int]) -> None:
    want = [group[:i].count(g) for i, g in enumerate(group)]
    assert _rank(torch.tensor(group, dtype=torch.long)).tolist() == want


def test_clusters_are_joined_in_pairs_and_linked_ones_first() -> None:
    # 0-1 strong, 1-2 weak, 3 alone
    row, col = torch.tensor([0, 1, 1, 2]), torch.tensor([1, 0, 2, 1])
    joined = _joined(row, col, torch.tensor([2.0, 2.0, 1.0, 1.0], dtype=torch.double), 4, rng())
    assert joined[0] == joined[1]
    assert len({int(joined[0]), int(joined[2]), int(joined[3])}) == 3


def test_neighbours_of_a_hub_are_joined_among_themselves() -> None:
    leaf, hub = torch.arange(1, 10), torch.zeros(9, dtype=torch.long)
    row, col = torch.cat([hub, leaf]), torch.cat([leaf, hub])
    joined = _joined(row, col, torch.ones(18, dtype=torch.double), 10, rng())
    assert torch.bincount(joined).tolist() == [2] * 5


@settings(max_examples=40)
@given(given_=graphs(), seed=st.integers(0, 3))
def test_contracted_sums_weights_as_a_loop_does(given_: tuple[Graph, int], seed: int) -> None:
    graph, m = given_
    joined = torch.randint(m, (graph.n_nodes,), generator=rng(seed))
    row, col = joined[graph.edge_index]
    weight = torch.rand(len(row), dtype=torch.double, generator=rng(seed))
    want = torch.zeros(m, m, dtype=torch.double)
    for i, j, w in zip(row.tolist(), col.tolist(), weight.tolist(), strict=True):
        if i != j:
            want[i, j] += w
    new_row, new_col, total = _contracted(row, col, weight, m)
    found = torch.zeros(m, m, dtype=torch.double)
    found[new_row, new_col] = total
    torch.testing.assert_close(found, want)
    assert len(total) == int((want > 0).sum())


@settings(max_examples=40)
@given(given_=graphs())
def test_order_is_a_permutation_that_keeps_components_together(given_: tuple[Graph, int]) -> None:
    graph, _ = given_
    order = _order(graph.edge_index, graph.n_nodes, rng())
    assert sorted(order.tolist()) == list(range(graph.n_nodes))
    component = torch.arange(graph.n_nodes)
    for _ in range(graph.n_nodes):
        for i, j in graph.edge_index.T.tolist():
            component[i] = component[j] = min(int(component[i]), int(component[j]))
    seen = torch.unique_consecutive(component[order])
    assert len(seen) == len(component.unique())


@settings(max_examples=60)
@given(given_=graphs(), seed=st.integers(0, 3))
def test_wishes_are_for_the_best_other_part(given_: tuple[Graph, int], seed: int) -> None:
    graph, m = given_
    part = torch.randint(m, (graph.n_nodes,), generator=rng(seed))
    held = torch.zeros(graph.n_nodes, m, dtype=torch.long)
    for i, j in graph.edge_index.T.tolist():
        held[i, part[j]] += 1
    own = held.gather(1, part[:, None]).flatten()
    mover, target = _wishes(part, graph.edge_index, m, rng(seed))
    gains = [int(held[i, t] - own[i]) for i, t in zip(mover.tolist(), target.tolist(), strict=True)]
    assert gains == [int(held[i].max() - own[i]) for i in mover.tolist()]
    assert all(gain > 0 for gain in gains)
    assert gains == sorted(gains, reverse=True)
    assert len(mover.unique()) == len(mover)


def test_moving_nodes_lessens_the_cut() -> None:
    graph = sbm(n_nodes=400, n_classes=8, n_features=8, degree=8.0, noise=0.1)
    before = _runs(torch.randperm(400, generator=rng()), 8)
    after = _refined(before.clone(), graph.edge_index, 8, rng())
    assert cut(graph, after) < cut(graph, before)


def test_the_halo_share_is_that_of_the_parts_that_ranks_hold() -> None:
    graph = sbm(n_nodes=120, n_classes=4, n_features=8, degree=5.0)
    part = torch.randint(3, (120,), generator=torch.Generator().manual_seed(0))
    halo = sum(piece.halo.numel() for piece in cut_for_ranks(graph, part, 3))
    assert halo_share(graph, part) == halo / 120
    assert halo_share(graph, torch.zeros_like(part)) == 0
