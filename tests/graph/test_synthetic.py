from __future__ import annotations

import pytest
import torch

from bes.graph.synthetic import digits, sbm


@pytest.mark.parametrize("noise", [0.0, 0.25, 1.0])
def test_sbm_plants_exactly_the_noise_asked_for(noise):
    graph = sbm(n_nodes=301, n_classes=3, n_features=5, degree=6, noise=noise, seed=1)
    row, col = graph.edge_index
    assert graph.n_edges == 301 * 3
    crossing = int((graph.y[row] != graph.y[col]).sum()) // 2
    assert crossing == round(noise * graph.n_edges)
    assert sorted(torch.bincount(graph.y).tolist()) == [100, 100, 101]


def test_sbm_class_centres_are_separation_apart():
    graph = sbm(n_nodes=40_000, n_classes=2, n_features=3, degree=1, separation=5.0)
    gap = graph.x[graph.y == 0].mean(0) - graph.x[graph.y == 1].mean(0)
    assert gap.norm().item() == pytest.approx(5.0, abs=0.1)
    assert graph.x[graph.y == 0].std(0).tolist() == pytest.approx([1.0] * 3, abs=0.05)


def test_sbm_follows_its_seed_and_mixes_the_classes():
    assert sbm(seed=1).content_hash == sbm(seed=1).content_hash
    assert sbm(seed=1).content_hash != sbm(seed=2).content_hash
    y = sbm().y
    assert not torch.equal(y, y.sort().values)


def test_sbm_is_linear_in_edges():
    graph = sbm(n_nodes=100_000, n_features=4, degree=4)  # a matrix of all pairs would take 40 GB
    assert graph.n_edges == 200_000


@pytest.mark.parametrize(
    "options",
    [
        {"n_classes": 0},
        {"n_classes": 5, "n_features": 4},
        {"n_nodes": 2, "n_classes": 3},
        {"noise": 1.5},
        {"noise": float("nan")},
        {"degree": -1},
        {"degree": 900},
        {"n_classes": 1, "noise": 0.5},
    ],
)
def test_impossible_graphs_are_refused(options, refuses):
    with refuses("The block graph", "use"):
        sbm(**options)


def test_digits_is_a_neighbour_graph():
    graph = digits()
    assert (graph.n_nodes, graph.n_features, graph.n_classes) == (1797, 64, 10)
    assert graph.operators.degree.min() >= 5
    node = 7
    near = torch.cdist(graph.x[node : node + 1], graph.x)[0].argsort()[1:6]
    assert set(near.tolist()) <= set(graph.edge_index[1][graph.edge_index[0] == node].tolist())
    assert float(graph.x.max()) == 1.0


def test_digits_refuses_a_bad_k(refuses):
    with refuses("k=0"):
        digits(0)
