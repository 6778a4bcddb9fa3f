import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import links as naive
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.models import heuristics
from bes.models.heuristics import HEURISTICS

KINDS = ["cn", "aa", "ra", "pa"]


def random_graph(n: int, n_edges: int, seed: int, *, sparse: bool = False) -> Graph:
    """Nodes with small whole features, many of them zero; the last node has no neighbour and no feature."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.integers(-2, 3, (n, 4)) * (rng.random((n, 4)) < 0.6)).float()
    x[-1] = 0
    edges = torch.from_numpy(rng.integers(0, n - 1, (2, n_edges)))
    return Graph(Sparse.from_dense(x) if sparse else x, edges, torch.full((n,), -1))


def all_pairs(n: int) -> Tensor:
    """Both orders of every pair."""
    return (1 - torch.eye(n)).nonzero().T


@given(st.integers(2, 12), st.integers(0, 40), st.integers(0, 2**31))
@settings(max_examples=40)
def test_scores_equal_the_sets(n: int, n_edges: int, seed: int) -> None:
    graph, pairs = random_graph(n, n_edges, seed), all_pairs(n)
    near = naive.around(graph.edge_index.T.tolist(), n)
    for kind in KINDS:
        expected = [naive.heuristic(kind, near, u, v) for u, v in pairs.T.tolist()]
        assert HEURISTICS[kind](graph, pairs).tolist() == pytest.approx(expected), kind


@pytest.mark.parametrize("sparse", [False, True])
@given(n=st.integers(2, 12), seed=st.integers(0, 2**31))
@settings(max_examples=30)
def test_cosine_equals_the_loop(n: int, seed: int, sparse: bool) -> None:
    graph, pairs = random_graph(n, 0, seed, sparse=sparse), all_pairs(n)
    x = (graph.x.to_dense() if isinstance(graph.x, Sparse) else graph.x).tolist()
    expected = [naive.cosine(x[u], x[v]) for u, v in pairs.T.tolist()]
    assert HEURISTICS["cosine"](graph, pairs).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", HEURISTICS)
def test_what_all_scores_are(kind: str, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, pairs = random_graph(30, 150, 0, sparse=sparse), all_pairs(30)
    score = HEURISTICS[kind](graph, pairs)
    assert (score.shape, score.dtype, score.device) == ((pairs.shape[1],), torch.float64, pairs.device)
    assert torch.equal(score, HEURISTICS[kind](graph, pairs.flip(0)))  # to the last bit: ties stay ties
    assert not score[(pairs == 29).any(0)].any()  # the node with neither neighbours nor features
    assert score.any()
    assert HEURISTICS[kind](graph, pairs[:, :0]).shape == (0,)
    monkeypatch.setattr(heuristics, "BLOCK", 7)
    assert torch.equal(HEURISTICS[kind](graph, pairs), score)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", HEURISTICS)
def test_a_graph_without_edges(kind: str, sparse: bool) -> None:
    graph = random_graph(5, 0, 1, sparse=sparse)
    score = HEURISTICS[kind](graph, all_pairs(5))
    assert torch.isfinite(score).all()
    assert kind == "cosine" or not score.any()


def test_a_link_between_both_ends_adds_nothing() -> None:
    pair = torch.tensor([[0], [1]])
    path = Graph(torch.eye(3), torch.tensor([[0, 1], [2, 2]]), torch.zeros(3).long())
    triangle = Graph(torch.eye(3), torch.tensor([[0, 1, 0], [2, 2, 1]]), torch.zeros(3).long())
    for kind in ("cn", "aa", "ra"):
        assert torch.equal(HEURISTICS[kind](path, pair), HEURISTICS[kind](triangle, pair))


def test_a_hub_costs_no_more_than_its_partner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the hub with 2,000 neighbours each leaf has one, so a thousand pairs look up a thousand nodes."""
    looked_up = []
    search = torch.searchsorted
    monkeypatch.setattr(torch, "searchsorted", lambda *given: looked_up.append(given[1].numel()) or search(*given))
    leaves = torch.arange(1, 2001)
    graph = Graph(torch.ones(2001, 1), torch.stack([torch.zeros_like(leaves), leaves]), torch.zeros(2001).long())
    pairs = torch.stack([torch.zeros(1000).long(), leaves[:1000]])
    assert not HEURISTICS["cn"](graph, pairs).any()
    assert sum(looked_up) == 1000


def test_products_of_degrees_are_exact() -> None:
    """4,099 * 4,097 needs more digits than float32 has."""
    a, b = 4099, 4097
    edges = [torch.stack([torch.zeros(a).long(), torch.arange(2, a + 2)])]
    edges += [torch.stack([torch.ones(b).long(), torch.arange(2, b + 2)])]
    graph = Graph(torch.ones(a + 2, 1), torch.cat(edges, 1), torch.zeros(a + 2).long())
    assert HEURISTICS["pa"](graph, torch.tensor([[0], [1]])).item() == a * b


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_cosine_does_not_depend_on_length(sparse: bool, scale: float) -> None:
    x = torch.tensor([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [-0.1, -0.2, -0.7]]) * scale
    graph = Graph(Sparse.from_dense(x) if sparse else x, torch.empty(2, 0).long(), torch.zeros(3).long())
    assert HEURISTICS["cosine"](graph, torch.tensor([[0, 0], [1, 2]])).tolist() == [1.0, -1.0]


def test_sparse_features_may_be_out_of_order_and_doubled() -> None:
    row, col = torch.tensor([0, 0, 0, 1, 1]), torch.tensor([2, 0, 2, 2, 1])
    x = Sparse.from_coo(row, col, torch.tensor([1.0, 3.0, 3.0, 2.0, 1.0]), (2, 3))  # rows (3, 0, 4) and (0, 1, 2)
    stored = x.csr.col_indices().clone()
    graph = Graph(x, torch.empty(2, 0).long(), torch.zeros(2).long())
    score = HEURISTICS["cosine"](graph, torch.tensor([[0], [1]]))
    assert score.item() == pytest.approx(naive.cosine([3, 0, 4], [0, 1, 2]))
    assert torch.equal(x.csr.col_indices(), stored)  # the features are left as they are


def test_sparse_features_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("made dense")

    monkeypatch.setattr(Sparse, "to_dense", refuse)
    n = 300_000  # one-hot ids: dense they would take 360 GB
    graph = Graph(torch.zeros(n, 0), torch.tensor([[0], [1]]), torch.full((n,), -1))
    assert HEURISTICS["cosine"](graph, torch.tensor([[0, 5], [1, n - 1]])).tolist() == [0.0, 0.0]
