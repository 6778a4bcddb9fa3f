from __future__ import annotations

from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.errors import InputError
from bes.graph import negatives
from bes.metrics import auc

BIG = 3_000_000


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def keys_of(pairs, n: int) -> torch.Tensor:
    """Sorted keys of a set of (smaller, larger)."""
    return torch.tensor(sorted(u * n + v for u, v in pairs), dtype=torch.long)


def both_ways(pairs) -> torch.Tensor:
    """Edges `[2, 2 E]` in both directions, sorted by row."""
    ordered = sorted([*pairs, *((v, u) for u, v in pairs)])
    return torch.tensor(ordered, dtype=torch.long).reshape(-1, 2).T


def as_set(pairs: torch.Tensor) -> set[tuple[int, int]]:
    """Checked on the way: smaller node first, so no loop, and no pair twice."""
    found = [(int(u), int(v)) for u, v in pairs.T]
    assert all(u < v for u, v in found)
    assert len(set(found)) == len(found)
    return set(found)


@st.composite
def graphs(draw, max_nodes: int = 10):
    """Number of nodes, and a set of undirected edges from none to all."""
    n = draw(st.integers(2, max_nodes))
    return n, draw(st.sets(st.sampled_from(list(combinations(range(n), 2)))))


def heavy_tailed(seed: int, n: int = 1500, n_edges: int = 6000):
    """Training and held-out edges of a graph whose degrees fall like a power law, by the weights of its ends."""
    weight = torch.arange(1, n + 1, dtype=torch.float64) ** -0.8
    ends = torch.multinomial(weight, 4 * n_edges, replacement=True, generator=rng(seed)).view(2, -1)
    keys = negatives.pair_keys(ends[:, ends[0] != ends[1]], n).unique()
    keys = keys[torch.randperm(keys.numel(), generator=rng(seed))[:n_edges]]
    return negatives.key_pairs(keys, n).split([n_edges * 4 // 5, n_edges // 5], dim=1), keys.sort().values, n


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30), st.sets(st.integers(0, 99)))
def test_keys_are_one_to_one_with_unordered_pairs(pairs, some):
    given_ = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    keys = negatives.pair_keys(given_, 10)
    assert keys.tolist() == [min(p) * 10 + max(p) for p in pairs]
    assert torch.equal(keys, negatives.pair_keys(given_.flip(0), 10))
    assert negatives.key_pairs(keys, 10).T.tolist() == [sorted(p) for p in pairs]
    inside = negatives.contains(torch.tensor(sorted(some), dtype=torch.long), keys)
    assert inside.tolist() == [key in some for key in keys.tolist()]


def test_keys_of_large_graphs_do_not_overflow():
    pairs = [(BIG - 2, BIG - 1), (BIG - 1, 0), (2**21, 2**21 + 1), (1, 2)]
    keys = negatives.pair_keys(torch.tensor(pairs).T, BIG)
    assert keys.tolist() == [min(p) * BIG + max(p) for p in pairs]
    assert negatives.key_pairs(keys, BIG).T.tolist() == [sorted(p) for p in pairs]
    assert negatives.contains(keys.sort().values, torch.cat([keys, keys + 1])).tolist() == [True] * 4 + [False] * 4
    found = negatives.uniform(2000, BIG, keys.sort().values, rng())
    assert len(as_set(found)) == 2000
    assert 0.3 < found.double().mean() / BIG < 0.7
    path = torch.stack([torch.arange(BIG - 50, BIG - 1), torch.arange(BIG - 49, BIG)])
    near = negatives.two_hop(
        10, both_ways({(u, v) for u, v in path.T.tolist()}), BIG, negatives.pair_keys(path, BIG), rng()
    )
    assert {v - u for u, v in as_set(near)} == {2}
    assert int(near.min()) >= BIG - 50


@given(graphs(), st.integers(0, 50), st.integers(0, 3))
def test_uniform_gives_exactly_as_many_free_pairs_or_refuses(graph, count, seed):
    n, edges = graph
    free = n * (n - 1) // 2 - len(edges)
    if count > free:
        with pytest.raises(InputError, match=f"{count} pairs .* has {free}"):
            negatives.uniform(count, n, keys_of(edges, n), rng(seed))
        return
    found = negatives.uniform(count, n, keys_of(edges, n), rng(seed))
    assert len(as_set(found)) == count
    assert not as_set(found) & edges
    assert torch.equal(found, negatives.uniform(count, n, keys_of(edges, n), rng(seed)))


def test_too_few_free_pairs_are_one_sentence(refuses):
    with refuses("4 pairs", "has 3", "too dense"):
        negatives.uniform(4, 3, torch.empty(0, dtype=torch.long), rng())


@pytest.mark.parametrize("n", [5, 60])
def test_uniform_follows_the_seed(n):
    """Few pairs, so that all are listed, and many, so that they are drawn."""
    none = torch.empty(0, dtype=torch.long)
    one, same, other = (negatives.uniform(5, n, none, rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("count", [1, 5, 6, 20])
def test_uniform_is_uniform(count):
    """Chi-square over the 22 free pairs of 8 nodes; from 6 on they are too scarce to be drawn one by one."""
    edges = {(0, 1), (0, 2), (0, 3), (1, 2), (4, 7), (6, 7)}
    taken, stream, draws = keys_of(edges, 8), rng(5), 1500
    found = [negatives.pair_keys(negatives.uniform(count, 8, taken, stream), 8) for _ in range(draws)]
    observed = torch.bincount(torch.cat(found), minlength=64).double()
    observed = observed[keys_of(set(combinations(range(8), 2)) - edges, 8)]
    share = count / 22
    statistic = ((observed - draws * share) ** 2).sum() / (draws * share * (1 - share)) * 21 / 22
    assert statistic < 50  # 21 degrees of freedom: 1 of 3,000 is larger


@given(graphs(), st.sets(st.sampled_from(list(combinations(range(10), 2))), max_size=5), st.integers(0, 30))
def test_two_hop_pairs_share_a_neighbour_and_are_free(graph, more, count):
    n, edges = graph
    taken = edges | {pair for pair in more if pair[1] < n}
    found = negatives.two_hop(count, both_ways(edges), n, keys_of(taken, n), rng())
    near = {u: {v for pair in edges if u in pair for v in pair if v != u} for u in range(n)}
    pairs = as_set(found)
    assert found.shape == (2, len(pairs))
    assert len(pairs) <= count
    assert not pairs & taken
    assert all(near[u] & near[v] for u, v in pairs)


def test_two_hop_gives_what_there_is():
    path, triangle, star = {(0, 1), (1, 2)}, {(0, 1), (1, 2), (0, 2)}, {(0, leaf) for leaf in range(1, 7)}
    assert as_set(negatives.two_hop(5, both_ways(path), 3, keys_of(path, 3), rng())) == {(0, 2)}
    assert as_set(negatives.two_hop(5, both_ways(triangle), 3, keys_of(triangle, 3), rng())) == set()
    all_leaves = set(combinations(range(1, 7), 2))
    assert as_set(negatives.two_hop(100, both_ways(star), 7, keys_of(star, 7), rng())) == all_leaves
    assert len(as_set(negatives.two_hop(9, both_ways(star), 7, keys_of(star, 7), rng()))) == 9
    none = torch.empty(0, dtype=torch.long)
    assert negatives.two_hop(5, both_ways(set()), 3, none, rng()).shape == (2, 0)


def test_two_hop_pairs_with_many_common_neighbours_come_more_often():
    """0 and 1 share nine neighbours, 11 and 13 share one; each pair's own two-paths are drawn alike."""
    edges = {(end, middle) for end in (0, 1) for middle in range(2, 11)} | {(11, 12), (12, 13)}
    others = set(combinations(range(14), 2)) - {(0, 1), (11, 13)}
    stream, taken = rng(2), keys_of(others, 14)
    first = [as_set(negatives.two_hop(1, both_ways(edges), 14, taken, stream)) for _ in range(300)]
    assert 0.8 < first.count({(0, 1)}) / 300 < 1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_degrees_tell_uniform_negatives_but_not_matched_ones(seed):
    (train, test), taken, n = heavy_tailed(seed)
    degree = torch.bincount(train.flatten(), minlength=n)

    def attachment(pairs: torch.Tensor) -> torch.Tensor:
        return degree[pairs[0]] * degree[pairs[1]]

    matched = negatives.degree_matched(test, degree, taken, rng(seed))
    uniform = negatives.uniform(test.shape[1], n, taken, rng(seed))
    assert matched.shape[1] > 0.98 * test.shape[1]
    assert auc(attachment(test), attachment(uniform)) > 0.78
    assert abs(auc(attachment(test), attachment(matched)) - 0.5) < 0.03


def test_matched_pairs_keep_one_end_and_replace_the_other_by_its_like():
    (train, test), taken, n = heavy_tailed(3, n=300, n_edges=800)
    degree = torch.bincount(train.flatten(), minlength=n)
    ranked = degree.sort().values.tolist()
    found = as_set(negatives.degree_matched(test, degree, taken, rng()))
    assert not found & as_set(negatives.key_pairs(taken, n))
    assert test.shape[1] * 0.95 < len(found) <= test.shape[1]

    def alike(replaced: int, chosen: int) -> bool:
        first = ranked.index(int(degree[replaced]))
        last = first + ranked.count(int(degree[replaced])) - 1
        low, high = max(0, first - negatives.WINDOW), min(n - 1, last + negatives.WINDOW)
        return ranked[low] <= int(degree[chosen]) <= ranked[high]

    ends = test.T.tolist() + test.flip(0).T.tolist()
    partners: dict[int, list[int]] = {}
    for kept, replaced in ends:
        partners.setdefault(kept, []).append(replaced)
    kept_first = sum(any(alike(b, v) for b in partners.get(u, [])) for u, v in found)
    kept_second = sum(any(alike(b, u) for b in partners.get(v, [])) for u, v in found)
    for u, v in found:
        assert any(alike(b, v) for b in partners.get(u, [])) or any(alike(b, u) for b in partners.get(v, []))
    assert min(kept_first, kept_second) > len(found) / 5  # either end is the one that stays


@given(graphs(), st.integers(0, 3))
def test_matched_pairs_are_free_and_at_most_one_a_pair(graph, seed):
    n, edges = graph
    pairs = torch.tensor(sorted(edges), dtype=torch.long).reshape(-1, 2).T
    degree = torch.bincount(pairs.flatten(), minlength=n)
    found = negatives.degree_matched(pairs, degree, keys_of(edges, n), rng(seed))
    assert len(as_set(found)) <= len(edges)
    assert not as_set(found) & edges
    assert all(u in pairs or v in pairs for u, v in as_set(found))
    assert torch.equal(found, negatives.degree_matched(pairs, degree, keys_of(edges, n), rng(seed)))
