"""Labels of nodes without one: smoothing, who takes part, and what a class counts."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import MultivariateNormal
from torch.nn import functional as F

from bes.core.gaussians import ClassSums
from bes.core.soft import Smoothing, balance, posterior, propagated, resized, smoothed, take_part
from bes.seeding import generator

N, C = 12, 3


def prob() -> Tensor:
    return torch.randn(N, C, generator=generator(0, "soft")).softmax(1)


@pytest.fixture
def operator() -> Tensor:
    """Node 5 sees itself alone."""
    weights = torch.rand(N, N, generator=generator(1, "soft"))
    weights[5], weights[5, 5] = 0.0, 1.0
    return weights


@pytest.mark.parametrize(("steps", "restart"), [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.25)])
def test_smoothing_is_the_loop_over_nodes_with_known_rows_at_the_truth(
    operator: Tensor, steps: int, restart: float
) -> None:
    known, labels = torch.tensor([1, 4]), torch.tensor([2, 0])
    truth = {1: [0.0, 0.0, 1.0], 4: [1.0, 0.0, 0.0]}
    start = rows = [truth.get(i, row) for i, row in enumerate(prob().tolist())]
    for _ in range(steps):
        new = []
        for i in range(N):
            spread = [sum(operator[i, j].item() * rows[j][c] for j in range(N)) for c in range(C)]
            new.append([(1 - restart) * spread[c] + restart * start[i][c] for c in range(C)])
        rows = [truth.get(i, row) for i, row in enumerate(new)]
    expected = torch.tensor([[value / sum(row) for value in row] for row in rows])
    found = smoothed(prob(), operator, known, F.one_hot(labels, C).float(), steps, restart)
    torch.testing.assert_close(found, expected)


def test_what_sees_itself_alone_keeps_its_prediction_and_the_input_stays(operator: Tensor) -> None:
    given = prob()
    found = smoothed(given, operator, torch.tensor([1]), torch.eye(C)[:1], 4, 0.1)
    torch.testing.assert_close(found[5], given[5])
    assert torch.equal(given, prob())


def test_a_row_of_zeros_stays_one() -> None:
    found = smoothed(prob(), torch.zeros(N, N), torch.tensor([1]), torch.eye(C)[:1], 1)
    assert torch.equal(found[0], torch.zeros(C))
    assert torch.equal(found[1], torch.eye(C)[0])


def test_beliefs_are_the_loop_over_nodes() -> None:
    rng = generator(2, "soft")
    upper = (torch.rand(N, N, generator=rng) < 0.3).float().triu(1)
    adjacency = upper + upper.t()
    known, truth = torch.tensor([1, 4]), torch.eye(C)[[2, 0]]
    found = propagated(prob(), adjacency, adjacency.sum(1), known, truth, rounds=3)
    at = {1: truth[0].tolist(), 4: truth[1].tolist()}
    belief = [at.get(i, row) for i, row in enumerate(prob().tolist())]
    near = [[j for j in range(N) if adjacency[i, j]] for i in range(N)]
    linked = [
        [1 + sum(belief[i][a] * belief[j][b] for i in range(N) for j in near[i]) for b in range(C)] for a in range(C)
    ]
    size, total = [sum(row) for row in linked], sum(map(sum, linked))
    affinity = [[linked[a][b] * total / (size[a] * size[b]) for b in range(C)] for a in range(C)]
    for _ in range(3):
        new = []
        for i in range(N):
            logs = [math.log(prob()[i, c]) for c in range(C)]
            for j in near[i]:
                for c in range(C):
                    said = sum(belief[j][b] * affinity[b][c] for b in range(C))
                    logs[c] += math.log(said) / math.sqrt(len(near[i]))
            top = [math.exp(value) for value in logs]
            new.append([0.5 * belief[i][c] + 0.5 * top[c] / sum(top) for c in range(C)])
        belief = [at.get(i, row) for i, row in enumerate(new)]
    torch.testing.assert_close(found, torch.tensor(belief), rtol=1e-4, atol=1e-5)


def test_beliefs_read_neighbours_of_other_classes_too() -> None:
    """A ring of two classes in turn: every neighbour is of the other class, which smoothing takes for its own."""
    n = 20
    after = torch.roll(torch.eye(n), 1, 0)
    adjacency = after + after.t()
    y = torch.arange(n) % 2
    guess = torch.full((n, 2), 0.5)
    known = torch.arange(0, n, 3)
    truth = F.one_hot(y[known], 2).float()
    by_beliefs = propagated(guess, adjacency, adjacency.sum(1), known, truth, rounds=8)
    by_smoothing = smoothed(guess, adjacency / 2, known, truth, 8)
    free = [i for i in range(n) if i % 3]
    right = [(found[free].argmax(1) == y[free]).float().mean() for found in (by_beliefs, by_smoothing)]
    assert right[0] == 1.0 > right[1]


def test_the_clearest_join_and_the_next_are_the_band() -> None:
    rows = torch.tensor([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3], [0.0, 0.2, 0.8], [0.5, 0.5, 0.0], [0.1, 0.7, 0.2]])
    nodes = torch.tensor([1, 2, 3, 4])
    part = take_part(rows, nodes, 0.5, 0.25)
    assert (part.joined.tolist(), part.joined_labels.tolist()) == ([2, 4], [2, 1])
    assert (part.band.tolist(), part.band_labels.tolist()) == ([1], [0])
    assert take_part(rows, nodes, 0.75).joined.tolist() == [2, 4, 1]
    assert take_part(rows, nodes, 0.75).band.numel() == 0
    assert take_part(rows, nodes, 0.75, 0.9).band.tolist() == [3]
    assert take_part(rows, nodes, 0.2).joined.numel() == 0
    assert take_part(rows, nodes[:0], 1.0).joined.numel() == 0
    assert take_part(torch.ones(3, 1), nodes[:2], 1.0).joined_labels.tolist() == [0, 0]  # a single class


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 30), st.integers(0, 10**6))
def test_nobody_is_in_both_and_nobody_in_is_less_clear_than_those_outside(
    share: float, band: float, n: int, seed: int
) -> None:
    rows = torch.randn(40, C, generator=generator(seed, "rows")).softmax(1)
    nodes = torch.randperm(40, generator=generator(seed, "nodes"))[:n]
    part = take_part(rows, nodes, share, band)
    groups = [part.joined.tolist(), part.band.tolist()]
    groups.append([node for node in nodes.tolist() if node not in groups[0] + groups[1]])
    assert sorted(itertools.chain(*groups)) == sorted(nodes.tolist())
    top = rows.topk(2, dim=1).values
    margin = (top[:, 0] - top[:, 1]).tolist()
    for clear, unclear in itertools.pairwise(groups):
        if clear and unclear:
            assert min(margin[i] for i in clear) >= max(margin[i] for i in unclear)
    assert part.joined_labels.tolist() == [int(rows[i].argmax()) for i in groups[0]]


def test_all_classes_count_alike_however_many_joined_them() -> None:
    labels = torch.tensor([0, 0, 0, 2])
    weight = balance(labels, C)
    by_class = [sum(weight[c].item() for c in labels.tolist() if c == one) for one in range(C)]
    assert by_class[0] == pytest.approx(by_class[2])
    assert by_class[1] == 0.0
    assert balance(labels, C, 0.0).tolist() == [1.0, 1.0, 1.0]
    torch.testing.assert_close(balance(labels, C, 0.5), weight.sqrt())
    assert balance(labels[:0], C).isfinite().all()


def test_the_posterior_is_bayes_rule_with_one_covariance() -> None:
    rng = generator(3, "soft")
    z, y = torch.randn(40, 4, generator=rng), torch.arange(40) % 2 * 2  # class 1 has no member
    sums = ClassSums.of(z, y, C)
    found = posterior(z[:5] + 0.3, sums)
    sigma = sums.covariance("pooled")[0]
    for i in range(5):
        density = [
            MultivariateNormal(sums.means[c], sigma).log_prob((z[i] + 0.3).double()).exp() if c != 1 else 0.0
            for c in range(C)
        ]
        expected = torch.tensor([float(one) / float(sum(density)) for one in density])
        torch.testing.assert_close(found[i], expected, rtol=1e-4, atol=1e-6)


def test_smoothing_of_edges_is_the_normalised_matrix_with_loops() -> None:
    edges = torch.tensor([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 3, 3]])  # the loop at 3 counts as its one loop
    dense = torch.eye(4)
    dense[edges[0, :4], edges[1, :4]] = 1.0
    root = dense.sum(1).rsqrt()
    given = prob()[:4]
    torch.testing.assert_close(Smoothing(edges, 4) @ given, root[:, None] * dense * root @ given)


def test_classes_are_brought_to_the_sizes_that_are_wanted() -> None:
    prob = torch.rand(50, 3, generator=torch.Generator().manual_seed(0)).pow(3)
    prob = prob / prob.sum(1, keepdim=True)
    nodes, sizes = torch.arange(10, 50), torch.tensor([0.6, 0.3, 0.1])
    found = resized(prob, sizes, nodes, rounds=50)
    torch.testing.assert_close(found.sum(1), torch.ones(50))
    torch.testing.assert_close(found[nodes].mean(0), sizes, rtol=0, atol=1e-3)
    ratio = (found / prob)[nodes]
    torch.testing.assert_close(ratio / ratio[:, :1], (ratio / ratio[:, :1])[:1].expand(40, -1), rtol=1e-3, atol=0)
    own = prob[nodes].mean(0)
    torch.testing.assert_close(resized(prob, own, nodes), prob)


def test_a_class_that_nobody_is_in_stays_empty() -> None:
    prob = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert torch.equal(resized(prob, torch.tensor([0.5, 0.5]), torch.arange(2)), prob)
