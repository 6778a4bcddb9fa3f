"""IGCL against plain loops: its matrices, both losses, both averages, and whole trainings of a few steps."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.sparse import Operators, Sparse
from bes.graph.splits import make_split
from bes.models.baselines.igcl import (
    IGCL,
    LinearEncoder,
    Predictor,
    averaged,
    blend,
    coarsened,
    means,
    smoother,
    targets,
)
from bes.models.baselines.node_problem import NodeProblem
from bes.scale.partition import partition

N, M, D = 9, 4, 6
PART = torch.tensor([0, 1, 1, 2, 0, 3, 2, 2, 1])
QUICK: dict[str, Any] = {"hidden": 16, "ratio": 0.05, "epochs": 3, "neighbors": 0.7, "temperature": 0.4}


@pytest.fixture
def tiny() -> Graph:
    """Nine nodes, the last without an edge."""
    edges = torch.tensor([[0, 0, 1, 2, 3, 4, 5, 6], [1, 4, 2, 3, 6, 5, 7, 7]])
    return Graph(torch.rand(N, 5) * (torch.rand(N, 5) < 0.6), edges, torch.arange(N) % 3)


@pytest.fixture
def problem(small_graph: Graph) -> NodeProblem:
    return NodeProblem(small_graph, make_split(small_graph, "random", 0), 0)


def dense_b(edge_index: Tensor, n: int) -> Tensor:
    b = 2 * torch.eye(n)
    for i, j in edge_index.T.tolist():
        b[i, j] += 1
    return b / b.sum(1, keepdim=True)


def dense_p(part: Tensor, m: int) -> Tensor:
    p = torch.zeros(len(part), m)
    for i, c in enumerate(part.tolist()):
        p[i, c] = 1 / part.tolist().count(c)
    return p


def naive_loss(pos: Tensor, h: Tensor, g: Tensor, t: float, weight: float, released: bool) -> Tensor:
    m = len(pos)
    sim = torch.stack([torch.stack([F.cosine_similarity(h[c], h[d], dim=0) / t for d in range(m)]) for c in range(m)])
    rows = [sim[c].exp().sum() for c in range(m)]
    if released:
        near = g @ sim
        terms = [-(pos[i] + weight * near[i, j]) + (pos[i].exp() + rows[j]).log() for i in range(m) for j in range(m)]
    else:
        terms = [-(pos[c] + weight * (g[c] * sim[c]).sum()) + (pos[c].exp() + rows[c]).log() for c in range(m)]
    return torch.stack(terms).mean()


def test_smoother_has_two_loops_and_rows_that_sum_to_one(tiny: Graph) -> None:
    found = smoother(tiny.operators).to_dense()
    torch.testing.assert_close(found, dense_b(tiny.edge_index, N))
    assert found[8, 8] == 1


def test_smoother_of_a_graph_without_edges_changes_nothing() -> None:
    found = smoother(Operators(torch.empty(2, 0, dtype=torch.long), 3)).to_dense()
    assert torch.equal(found, torch.eye(3))


def test_means_and_the_coarse_graph_are_products_with_p(tiny: Graph) -> None:
    p, b = dense_p(PART, M), dense_b(tiny.edge_index, N)
    torch.testing.assert_close(means(PART, M).to_dense(), p.T)
    torch.testing.assert_close(coarsened(smoother(tiny.operators), PART, M).to_dense(), p.T @ b @ p)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_are_averaged_over_parts(tiny: Graph, sparse: bool) -> None:
    assert isinstance(tiny.x, Tensor)
    found = averaged(Sparse.from_dense(tiny.x) if sparse else tiny.x, PART, M)
    assert isinstance(found, Sparse) == sparse
    found = found.to_dense() if isinstance(found, Sparse) else found
    torch.testing.assert_close(found, dense_p(PART, M).T @ tiny.x)


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("weight", [0.0, 0.9])
def test_loss_and_its_gradients_are_those_of_loops(tiny: Graph, released: bool, weight: float) -> None:
    coarse = coarsened(smoother(tiny.operators), PART, M)
    pos, h = torch.randn(M, requires_grad=True), torch.randn(M, D, requires_grad=True)
    method = IGCL(released=released, neighbors=weight, temperature=0.3)
    found = method.loss(pos, F.normalize(h), coarse)
    want = naive_loss(pos, h, coarse.to_dense(), 0.3, weight, released)
    torch.testing.assert_close(found, want)
    for ours, theirs in zip(torch.autograd.grad(found, [pos, h]), torch.autograd.grad(want, [pos, h]), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_the_two_losses_differ(tiny: Graph) -> None:
    coarse = coarsened(smoother(tiny.operators), PART, M)
    pos, h = torch.randn(M), F.normalize(torch.randn(M, D))
    one, other = (IGCL(released=released, neighbors=0.5).loss(pos, h, coarse) for released in (False, True))
    assert abs(float(one - other)) > 1e-3


def test_targets_times_a_prediction_are_mean_cosines(tiny: Graph) -> None:
    encoder = LinearEncoder(5, D, "layer", torch.Generator().manual_seed(1))
    goal = targets(encoder, encoder.mapped(tiny.x), means(PART, M))
    q, e = torch.randn(M, D), encoder(tiny.x)
    for c in range(M):
        nodes = [i for i in range(N) if PART[i] == c]
        want = sum(F.cosine_similarity(q[c], e[i], dim=0) for i in nodes) / len(nodes)
        torch.testing.assert_close(F.normalize(q[c], dim=0) @ goal[c], want)


def test_blend_keeps_a_share_of_its_own() -> None:
    kept, other = nn.Linear(2, 2), nn.Linear(2, 2)
    want = 0.9 * kept.weight.detach() + 0.1 * other.weight.detach()
    before = other.weight.detach().clone()
    blend(kept, other, 0.9)
    torch.testing.assert_close(kept.weight.detach(), want)
    assert torch.equal(other.weight.detach(), before)


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_encoder_is_a_linear_map_and_a_norm(tiny: Graph, norm: Any) -> None:
    encoder = LinearEncoder(5, D, norm, torch.Generator().manual_seed(0))
    assert isinstance(tiny.x, Tensor)
    z = tiny.x @ encoder.weight + (0 if encoder.bias is None else encoder.bias)
    dim = {"layer": 1, "batch": 0}.get(norm)
    if dim is not None:
        z = (z - z.mean(dim, keepdim=True)) / (z.var(dim, unbiased=False, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(encoder(tiny.x), z)
    torch.testing.assert_close(encoder(Sparse.from_dense(tiny.x)), z)
    assert (encoder.bias is None) == (norm == "batch")


@pytest.mark.parametrize("elu", [False, True])
def test_predictor_has_its_activation_between_layers_only(elu: bool) -> None:
    g = Predictor(D, 2, elu=elu, generator=torch.Generator().manual_seed(0))
    h = torch.randn(M, D)
    first, second = g.layers
    middle = F.elu(first(h)) if elu else F.relu(first(h))
    torch.testing.assert_close(g(h), second(middle))
    assert (g(h) < 0).any()
    torch.testing.assert_close(Predictor(D, 1, elu=elu, generator=torch.Generator().manual_seed(0))(h), first(h))


def naive_training(method: IGCL, problem: NodeProblem) -> tuple[LinearEncoder, LinearEncoder]:
    """The encoder and its copy, with dense matrices and loops over parts."""
    graph, t = problem.graph, method.temperature
    x = graph.x.to_dense() if isinstance(graph.x, Sparse) else graph.x
    m = round(method.ratio * graph.n_nodes)
    part = partition(graph, m, method.partition, problem.generator("partition"))
    p, b = dense_p(part, m), dense_b(graph.edge_index, graph.n_nodes)
    init = problem.init("igcl")
    e = LinearEncoder(graph.n_features, method.hidden, method.norm, init)
    g = Predictor(method.hidden, method.predictor, elu=method.average == "features", generator=init)
    copy = LinearEncoder(graph.n_features, method.hidden, method.norm, problem.init("igcl"))
    optimizer = torch.optim.Adam([*e.parameters(), *g.parameters()], lr=method.lr, weight_decay=method.weight_decay)
    for _ in range(method.epochs):
        h = p.T @ e(x) if method.average == "embeddings" else e(p.T @ x)
        q, goal = g(h), copy(x).detach()
        pos = [F.cosine_similarity(q[c][None], goal[part == c]).mean() / t for c in range(m)]
        loss = naive_loss(torch.stack(pos), h, p.T @ b @ p, t, method.neighbors, method.released)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for own, other in zip(e.parameters(), copy.parameters(), strict=True):
                if method.released:
                    own.copy_(method.momentum * own + (1 - method.momentum) * other)
                else:
                    other.copy_(method.momentum * other + (1 - method.momentum) * own)
    return e, copy


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize(
    "options",
    [{"norm": "layer"}, {"norm": "batch"}, {"norm": "none", "predictor": 2}, {"average": "features", "predictor": 2}],
    ids=["layer", "batch", "none", "features"],
)
def test_training_is_that_of_loops(problem: NodeProblem, released: bool, options: dict[str, Any]) -> None:
    method = IGCL(released=released, momentum=0.6, **{**QUICK, **options})
    found = method._pretrained(problem)
    want, copy = naive_training(method, problem)
    for ours, theirs in zip(found.parameters(), want.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-5)
    drawn = LinearEncoder(problem.graph.n_features, 16, method.norm, problem.init("igcl"))
    assert torch.equal(copy.weight, drawn.weight) == released  # as released, the copy never moves
    assert not torch.equal(found.weight, drawn.weight)


def test_momentum_of_zero_as_released_undoes_every_step(problem: NodeProblem) -> None:
    found = IGCL(released=True, momentum=0.0, **QUICK)._pretrained(problem)
    drawn = LinearEncoder(problem.graph.n_features, 16, "layer", problem.init("igcl"))
    torch.testing.assert_close(found.weight, drawn.weight)


@pytest.mark.parametrize("hops", [0, 2])
def test_nodes_are_averaged_encodings_on_the_graph_that_is_given(problem: NodeProblem, hops: int) -> None:
    method = IGCL(hops=hops, norm="batch", **QUICK)
    embed, encoder = method.embed(problem), method._pretrained(problem).eval()
    few = replace(problem.graph, edge_index=problem.graph.edge_index[:, ::3])
    for graph in (problem.graph, few):
        z = encoder(graph.x).detach()
        for _ in range(hops):
            z = dense_b(graph.edge_index, graph.n_nodes) @ z
        torch.testing.assert_close(embed(graph), z.clamp_min(0), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("average", ["embeddings", "features"])
def test_sparse_features_give_what_dense_ones_do(small_graph: Graph, average: Any) -> None:
    assert isinstance(small_graph.x, Tensor)
    method = IGCL(average=average, **QUICK)
    sparse = replace(small_graph, x=Sparse.from_dense(small_graph.x))
    split = make_split(small_graph, "random", 0)
    one, other = (method.embed(NodeProblem(g, split, 0))(g) for g in (small_graph, sparse))
    torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
@pytest.mark.parametrize("released", [False, True])
def test_every_weight_is_moved_by_the_loss(problem: NodeProblem, norm: Any, released: bool) -> None:
    method = IGCL(norm=norm, released=released, **{**QUICK, "weight_decay": 0.0, "epochs": 1})
    found = method._pretrained(problem)
    drawn = LinearEncoder(problem.graph.n_features, 16, norm, problem.init("igcl"))
    for now, before in zip(found.parameters(), drawn.parameters(), strict=True):
        assert not torch.equal(now, before)


@pytest.mark.parametrize("edges", [torch.empty(2, 0, dtype=torch.long), torch.tensor([[0], [1]])])
def test_graphs_with_hardly_an_edge_are_embedded(edges: Tensor) -> None:
    graph = Graph(torch.rand(12, 4), edges, torch.arange(12) % 2)
    answer = IGCL(**{**QUICK, "ratio": 0.0}).fit(NodeProblem(graph, make_split(graph, "random", 0), 0))
    assert answer.prob is not None
    assert torch.isfinite(answer.prob).all()


def test_a_node_without_features_has_finite_embeddings() -> None:
    x = torch.rand(10, 4)
    x[3] = 0
    graph = Graph(x, torch.tensor([[0, 1, 2], [1, 2, 4]]), torch.arange(10) % 2)
    problem = NodeProblem(graph, make_split(graph, "random", 0), 0)
    for norm in ("layer", "batch", "none"):
        assert torch.isfinite(IGCL(**{**QUICK, "norm": norm, "ratio": 0.3}).embed(problem)(graph)).all()


def test_training_tells_communities_apart(graph: Graph) -> None:
    """Without a label, nodes of a class end nearer to each other than to others."""
    problem = NodeProblem(graph, make_split(graph, "random", 0), 0)
    z = F.normalize(IGCL(hidden=32, ratio=0.05, epochs=30).embed(problem)(graph))
    cosine, same = z @ z.T, graph.y[:, None] == graph.y
    assert cosine[same].mean() > cosine[~same].mean() + 0.3
