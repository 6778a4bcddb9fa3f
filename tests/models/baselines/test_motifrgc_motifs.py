"""Triples and their probabilities against plain loops."""

import math
from collections import Counter

import pytest
import torch
from torch import Tensor

from bes.graph.edges import undirected
from bes.graph.sparse import Operators
from bes.models.baselines import motifrgc_motifs
from bes.models.baselines.motifrgc_motifs import Motifs, Triples, _others, log_likely, log_none, motif_loss, scorer

N = 9
#: Two triangles that share an edge, a star, and node 8 alone.
EDGES = torch.tensor([[0, 0, 1, 1, 2, 3, 4, 4, 4], [1, 2, 2, 3, 3, 4, 5, 6, 7]])


def make(edges: Tensor = EDGES, n_nodes: int = N) -> Triples:
    return Triples(Operators(undirected(edges, n_nodes), n_nodes))


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def naive(edges: Tensor) -> set[tuple[int, int, int, bool]]:
    """Every (u, v, w) with v adjacent to u and to w, in both orders, and whether u and w are adjacent."""
    pairs = {(int(a), int(b)) for a, b in edges.T} | {(int(b), int(a)) for a, b in edges.T}
    return {(u, v, w, (u, w) in pairs) for u, v in pairs for x, w in pairs if x == v and u != w}


def listed(found: Motifs) -> list[tuple[int, int, int, bool]]:
    columns = (found.u.tolist(), found.v.tolist(), found.w.tolist(), found.closed.tolist())
    return list(zip(*columns, strict=True))


def features(n_nodes: int = N) -> Tensor:
    return 0.6 * torch.randn(n_nodes, 4, generator=rng(5), dtype=torch.float64)


def naive_edge(z: Tensor, u: int, v: int) -> float:
    return 1 / (1 + math.exp(sum((a - b) ** 2 for a, b in zip(z[u].tolist(), z[v].tolist(), strict=True)) - 2))


def test_numbers_stand_for_each_triple_once() -> None:
    triples = make()
    found = triples.at(torch.arange(len(triples)))
    assert len(listed(found)) == len(triples)
    assert set(listed(found)) == naive(EDGES)
    torch.testing.assert_close(triples.edges[:, found.first], torch.stack([found.v, found.u]))
    torch.testing.assert_close(triples.edges[:, found.second], torch.stack([found.v, found.w]))


def test_every_holds_one_order_of_each() -> None:
    unordered = Counter((frozenset((u, w)), v) for u, v, w, _ in listed(make().every))
    assert set(unordered) == {(frozenset((u, w)), v) for u, v, w, _ in naive(EDGES)}
    assert set(unordered.values()) == {1}


def test_a_draw_is_all_where_they_fit_and_else_random_and_even() -> None:
    triples = make()
    assert triples.draw(len(triples) // 2, rng()) is triples.every
    few = triples.draw(7, rng())
    assert len(few.u) == 7
    assert set(listed(few)) <= naive(EDGES)
    drawn = [one for seed in range(400) for one in listed(triples.draw(7, rng(seed)))]
    counts = Counter(drawn)
    assert set(counts) == naive(EDGES)
    mean = len(drawn) / len(triples)
    assert max(abs(count - mean) for count in counts.values()) < 5 * math.sqrt(mean)


@pytest.mark.parametrize("few", [True, False])
def test_probabilities_of_triangles_and_wedges_are_products_over_their_pairs(few: bool) -> None:
    triples, z = make(), features()
    found = triples.at(torch.tensor([3, 10, 11])) if few else triples.every
    expected = []
    for u, v, w, closed in listed(found):
        base = naive_edge(z, u, w)
        expected.append(math.log(naive_edge(z, u, v) * naive_edge(z, v, w) * (base if closed else 1 - base)))
    torch.testing.assert_close(log_likely(scorer(z, 0), triples, found), torch.tensor(expected, dtype=torch.float64))


def test_probabilities_of_none_are_what_remains_and_all_three_sum_to_one() -> None:
    triples, z = make(), features()
    found = triples.every
    none = log_none(scorer(z, 0), found.u, found.v, found.w)
    expected = [math.log(1 - naive_edge(z, u, v) * naive_edge(z, v, w)) for u, v, w, _ in listed(found)]
    torch.testing.assert_close(none, torch.tensor(expected, dtype=torch.float64))
    other = Motifs(found.first, found.second, found.u, found.v, found.w, ~found.closed)
    total = none.exp() + log_likely(scorer(z, 0), triples, found).exp() + log_likely(scorer(z, 0), triples, other).exp()
    torch.testing.assert_close(total, torch.ones_like(total))


def test_features_far_apart_do_not_overflow() -> None:
    triples = make()
    z = (1e4 * torch.randn(N, 4, generator=rng())).requires_grad_()
    loss = motif_loss(z, triples, 100, rng())
    loss.backward()
    assert loss.isfinite()
    assert z.grad is not None
    assert z.grad.isfinite().all()
    assert (
        log_none(scorer(torch.zeros(N, 4), 0), torch.tensor([0]), torch.tensor([1]), torch.tensor([2])).isfinite().all()
    )


def test_the_loss_is_the_mean_over_triples_and_random_others() -> None:
    triples, z = make(), features()
    found = triples.every
    u, v, w = _others(found, triples, rng(6))
    logs = torch.cat([log_likely(scorer(z, 0), triples, found), log_none(scorer(z, 0), u, v, w)])
    torch.testing.assert_close(motif_loss(z, triples, 1000, rng(6)), -logs.mean())


def test_others_are_three_nodes_whose_first_two_are_not_adjacent() -> None:
    triples = make()
    u, v, w = _others(triples.at(torch.arange(len(triples))), triples, rng())
    assert 0 < len(u) <= len(triples)
    assert not triples.adjacent(u, v).any()
    assert ((u != v) & (v != w) & (u != w)).all()


@pytest.mark.parametrize("edges", [EDGES[:, :0], EDGES[:, :1]])
def test_a_graph_without_triples_costs_nothing(edges: Tensor) -> None:
    z = features().requires_grad_()
    loss = motif_loss(z, make(edges), 10, rng())
    loss.backward()
    assert loss.item() == 0


def test_a_complete_graph_has_no_others() -> None:
    edges = torch.combinations(torch.arange(5)).T
    triples, z = make(edges, 5), features(5)
    torch.testing.assert_close(
        motif_loss(z, triples, 100, rng()), -log_likely(scorer(z, 0), triples, triples.every).mean()
    )


def test_a_table_of_all_pairs_says_what_rows_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to score, their gradients, and both ways to look an edge up."""
    triples, z = make(), features().requires_grad_()
    found = triples.every
    results = []
    for n_pairs in (0, N * N):
        logs = torch.cat([log_likely(scorer(z, n_pairs), triples, found), scorer(z, n_pairs)(found.w, found.w)])
        results.append((logs, *torch.autograd.grad(logs.sum(), z)))
    for by_rows, by_table in zip(*results, strict=True):
        torch.testing.assert_close(by_rows, by_table)
    monkeypatch.setattr(motifrgc_motifs, "BITS", 0)
    without = make()
    u, v = torch.arange(N).repeat_interleave(N), torch.arange(N).repeat(N)
    assert torch.equal(triples.adjacent(u, v), without.adjacent(u, v))
