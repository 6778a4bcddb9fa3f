"""New nodes: whom they are made of, their neighbours, and how often each is drawn."""

import math

import pytest
import torch

from bes.graph.graph import Graph
from bes.models.baselines.nodeimport_synthesis import Added, Synthesis

#: 0-1, 0-2, 0-3, 1-2, 1-4; 5 has no neighbour.
EDGES = torch.tensor([[0, 0, 0, 1, 1], [1, 2, 3, 2, 4]])


def a_graph(n: int = 6) -> Graph:
    return Graph(torch.eye(n), EDGES, torch.full((n,), -1))


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def neighbors(graph: Graph, node: int) -> set[int]:
    row, col = graph.edge_index
    return set(col[row == node].tolist())


def test_classes_are_evened_out_by_centres_of_their_own(small_graph: Graph) -> None:
    train = torch.arange(0, 150, 2)
    labels = (torch.arange(75) % 10 > 6).long() + (torch.arange(75) % 10 > 8)
    added = Synthesis(small_graph, train, labels, 4).draw(rng())
    y = torch.full((150,), -1).index_put((train,), labels)
    size = torch.bincount(labels, minlength=4)
    assert size[3] == 0
    made = torch.bincount(y[added.centre], minlength=4)
    assert made.tolist() == [int(size.max() - s) if s else 0 for s in size]
    assert (y[added.partner] >= 0).all()
    assert ((added.share > 0) & (added.share < 1)).all()


def test_partners_are_drawn_by_the_size_of_their_class() -> None:
    labels = torch.tensor([0] * 40 + [1] * 4 + [2])
    graph = Graph(torch.eye(45), torch.empty(2, 0, dtype=torch.long), torch.full((45,), -1))
    synthesis = Synthesis(graph, torch.arange(45), labels, 3)
    drawn = torch.cat([labels[synthesis.draw(rng(s)).partner] for s in range(100)])
    share = torch.bincount(drawn, minlength=3) / drawn.numel()
    total = math.log(40) + math.log(4)
    assert share[2] == 0  # log 1 = 0
    assert share[0] == pytest.approx(math.log(40) / total, abs=0.02)


def test_shares_are_beta_2_2() -> None:
    labels = torch.tensor([0] * 3000 + [1])
    graph = Graph(torch.ones(3001, 1), torch.empty(2, 0, dtype=torch.long), torch.full((3001,), -1))
    share = Synthesis(graph, torch.arange(3001), labels, 2).draw(rng()).share
    assert share.mean() == pytest.approx(0.5, abs=0.02)
    assert share.var() == pytest.approx(1 / 20, abs=0.005)
    assert (share < 0.25).float().mean() == pytest.approx(3 * 0.25**2 - 2 * 0.25**3, abs=0.02)


def test_neighbors_are_distinct_ones_of_centre_or_partner_and_no_more_than_the_centres(small_graph: Graph) -> None:
    labels = (torch.arange(150) % 8 == 0).long()
    added = Synthesis(small_graph, torch.arange(150), labels, 2).draw(rng())
    degree = small_graph.operators.degree
    assert (added.row.diff() >= 0).all()
    assert added.degree.sum() > 0
    for s, (a, b) in enumerate(zip(added.centre.tolist(), added.partner.tolist(), strict=True)):
        own = added.col[added.row == s].tolist()
        assert len(own) == len(set(own)) <= degree[a]
        assert set(own) <= neighbors(small_graph, a) | neighbors(small_graph, b)


def test_the_first_neighbor_is_drawn_from_the_mixture() -> None:
    graph, times, share = a_graph(), 20000, 0.3
    synthesis = Synthesis(graph, torch.arange(6), torch.tensor([0, 0, 0, 1, 1, 1]), 2)
    centre, partner = torch.zeros(times, dtype=torch.long), torch.ones(times, dtype=torch.long)
    row, col = synthesis._neighbors(centre, partner, torch.full((times,), share), torch.ones_like(centre), rng())
    assert row.tolist() == list(range(times))
    found = torch.bincount(col, minlength=6) / times
    expected = torch.zeros(6)
    expected[[1, 2, 3]] += share / 3
    expected[[0, 2, 4]] += (1 - share) / 3  # node 2 is a neighbour of both
    torch.testing.assert_close(found, expected, atol=0.015, rtol=0)


def test_two_neighbors_are_drawn_one_after_the_other() -> None:
    graph, times, share = a_graph(), 20000, 0.3
    synthesis = Synthesis(graph, torch.arange(6), torch.tensor([0, 0, 0, 1, 1, 1]), 2)
    centre, partner = torch.zeros(times, dtype=torch.long), torch.ones(times, dtype=torch.long)
    _, col = synthesis._neighbors(centre, partner, torch.full((times,), share), torch.full_like(centre, 2), rng())
    found = torch.zeros(5, 5)
    for one in col.view(times, 2):
        found[one[0], one[1]] += 1 / times
    p = torch.tensor([(1 - share) / 3, share / 3, 1 / 3, share / 3, (1 - share) / 3])
    for i in range(5):
        for j in range(i + 1, 5):
            expected = p[i] * p[j] * (1 / (1 - p[i]) + 1 / (1 - p[j]))
            assert found[i, j] == pytest.approx(float(expected), abs=0.015)


def test_isolated_centres_and_partners() -> None:
    graph = a_graph()
    synthesis = Synthesis(graph, torch.arange(6), torch.tensor([0, 0, 0, 0, 0, 1]), 2)
    for seed in range(20):
        added = synthesis.draw(rng(seed))
        assert added.centre.tolist() == [5] * 4
        assert added.row.numel() == 0
        assert added.degree.tolist() == [0] * 4
    wanted = torch.tensor([1, 3])
    row, col = synthesis._neighbors(torch.tensor([4, 0]), torch.tensor([5, 5]), torch.full((2,), 0.5), wanted, rng())
    assert (row.tolist(), col.tolist()) == ([0, 1, 1, 1], [1, 1, 2, 3])


def test_classes_of_one_size_need_no_new_node() -> None:
    added = Synthesis(a_graph(), torch.arange(6), torch.arange(6) % 2, 2).draw(rng())
    assert added.count == 0
    assert added.mix(torch.ones(6, 3)).shape == (0, 3)
    assert (added.sum @ torch.ones(6, 3)).shape == (0, 3)


def test_mixtures_and_sums() -> None:
    added = Added(
        torch.tensor([0, 1]), torch.tensor([2, 3]), torch.tensor([0.25, 0.5]), torch.tensor([0, 0]),
        torch.tensor([1, 3]), 4,
    )  # fmt: skip
    values = torch.tensor([[0.0], [2.0], [4.0], [8.0]])
    assert added.mix(values).tolist() == [[3.0], [5.0]]
    assert (added.sum @ values).tolist() == [[10.0], [0.0]]
    assert added.degree.tolist() == [2.0, 0.0]
