"""GraphECL against its equations in plain loops."""

import math
from dataclasses import replace

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.links import LinkSplit
from bes.graph.sparse import Operators, Sparse
from bes.graph.splits import split_nodes
from bes.models.baselines import graphecl_losses as losses
from bes.models.baselines.graphecl import BareGCNConv, GraphECL, GraphECLNetwork
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.pair_problem import PairProblem
from bes.models.pairs import PairDecoder
from bes.seeding import generator
from models.blocks import block_graph


@pytest.fixture(scope="module")
def lonely() -> Graph:
    """A small block graph; its node 7 has neither edges nor features."""
    graph = block_graph(40)
    kept = (graph.edge_index != 7).all(0)
    assert isinstance(graph.x, Tensor)
    x = graph.x.clone()
    x[7] = 0
    return replace(graph, x=x, edge_index=graph.edge_index[:, kept])


@pytest.fixture(scope="module")
def unit_rows() -> tuple[Tensor, Tensor]:
    rng = generator(0, "rows")
    z, q = (F.normalize(torch.randn(40, 6, generator=rng)).requires_grad_() for _ in range(2))
    return z, q


def neighbours(graph: Graph, v: int) -> list[int]:
    found: list[int] = graph.edge_index[1, graph.edge_index[0] == v].tolist()
    return found


def looped(graph: Graph) -> Operators:
    return Operators(graph.operators.looped, graph.n_nodes)


def naive_full(z: Tensor, q: Tensor, graph: Graph, tau: float, lam: float, over: list[int], scale: float) -> Tensor:
    total = z.new_zeros(())
    for v in range(len(z)):
        near = [*neighbours(graph, v), v]
        s1 = sum(torch.exp(z[v] @ z[k] / tau) for k in over) * scale
        for u in near:
            s2 = sum(torch.exp(z[u] @ q[k] / tau) for k in over) * scale
            total = total + (-(z[u] @ q[v]) / tau + torch.log(s1 + lam * s2)) / len(near)
    return total / len(z)


def agree(one: Tensor, two: Tensor, *over: Tensor) -> None:
    """Two values and their gradients."""
    torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-5)
    for a, b in zip(torch.autograd.grad(one, over), torch.autograd.grad(two, over), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("lam", [0.0, 1e-3, 0.7])
@pytest.mark.parametrize("held", [0, 5000])
def test_the_full_loss_is_its_equation(
    lonely: Graph, unit_rows: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch, held: int, lam: float
) -> None:
    monkeypatch.setattr(losses, "HELD", held)
    z, q = unit_rows
    slow = naive_full(z, q, lonely, 0.5, lam, list(range(40)), 1.0)
    agree(losses.full_loss(z, q, looped(lonely), 0.5, lam), slow, z, q)


def test_sums_over_some_nodes_stand_for_all(lonely: Graph, unit_rows: tuple[Tensor, Tensor]) -> None:
    z, q = unit_rows
    some = torch.tensor([3, 11, 30, 8, 19])
    slow = naive_full(z, q, lonely, 0.5, 0.1, some.tolist(), 40 / 5)
    agree(losses.full_loss(z, q, looped(lonely), 0.5, 0.1, some), slow, z, q)
    every = torch.randperm(40, generator=generator(0, "all"))
    whole = losses.full_loss(z, q, looped(lonely), 0.5, 0.1)
    agree(losses.full_loss(z, q, looped(lonely), 0.5, 0.1, every), whole, z, q)


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_the_sampled_loss_is_its_equation(unit_rows: tuple[Tensor, Tensor], lam: float) -> None:
    z, q = unit_rows
    pos, neg = (torch.randint(40, (40, 3), generator=generator(i, "pairs")) for i in range(2))
    total = z.new_zeros(())
    for v in range(40):
        far = sum(torch.exp(q[v] @ z[k] / 0.75) for k in neg[v])
        for u in pos[v]:
            apart = sum(torch.exp(z[u] @ z[k] / 0.75) for k in neg[v])
            total = total + (-(q[v] @ z[u]) / 0.75 + torch.log(lam * far + apart)) / (40 * 3)
    fast = losses.sampled_loss(z, q, pos, neg, 0.75, lam)
    if lam:
        return agree(fast, total, z, q)
    return agree(fast, total, z)


@pytest.mark.parametrize("block", [1, 1 << 22])
def test_products_of_pairs_and_their_gradients(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(losses, "BLOCK", block)
    rng = generator(0, "pairs")
    a, b = (torch.randn(n, 4, generator=rng, dtype=torch.double).requires_grad_() for n in (5, 7))
    left, right = torch.randint(5, (3, 2, 2), generator=rng), torch.randint(7, (3, 2, 2), generator=rng)
    found = losses.pair_products(a, b, left, right)
    torch.testing.assert_close(found, (a[left] * b[right]).sum(-1))
    assert torch.autograd.gradcheck(lambda a, b: losses.pair_products(a, b, left, right), (a, b))


def test_unit_rows_and_a_row_of_zeros() -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    found = losses.unit(x)
    assert found.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, 0.0]]
    found.sum().backward()
    assert x.grad is not None
    assert x.grad[1].tolist() == [0.0, 0.0]
    assert bool(x.grad[0].ne(0).all())


def test_neighbours_are_drawn_without_repeats_where_there_are_enough(lonely: Graph) -> None:
    ops, s = lonely.operators, 3
    seen = torch.zeros(40, 40)
    for i in range(200):
        drawn = losses.draw_neighbours(ops, s, generator(i, "draw"))
        for v in range(40):
            near, row = set(neighbours(lonely, v)) or {v}, drawn[v].tolist()
            assert set(row) <= near
            assert len(set(row)) == min(s, len(near))
            seen[v, row] = 1
    assert torch.equal(seen, lonely.operators.sum.to_dense() + torch.eye(40) * (ops.degree == 0))
    assert bool((ops.degree < s).any())
    assert bool((ops.degree > s).any())


def test_every_neighbour_is_as_likely() -> None:
    star = torch.stack([torch.zeros(6, dtype=torch.long), torch.arange(1, 7)])
    hub = Graph(torch.ones(7, 1), star, torch.zeros(7, dtype=torch.long))
    rng = generator(0, "draw")
    count = torch.zeros(7)
    for _ in range(600):
        count += torch.bincount(losses.draw_neighbours(hub.operators, 2, rng)[0], minlength=7)
    assert count[0] == 0
    assert bool(((count[1:] - 200).abs() < 50).all())


def test_without_edges_every_node_is_its_own_neighbour() -> None:
    ops = Operators(torch.empty(2, 0, dtype=torch.long), 3)
    assert losses.draw_neighbours(ops, 2, generator(0, "draw")).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_the_bare_convolution_is_pygs_without_loops(lonely: Graph) -> None:
    for width in (4, 20):
        theirs = pyg.GCNConv(lonely.n_features, width, add_self_loops=False)
        torch.nn.init.normal_(theirs.bias)
        ours = BareGCNConv(lonely.n_features, width)
        ours.load_state_dict(theirs.state_dict())
        assert isinstance(lonely.x, Tensor)
        for x in (lonely.x, Sparse.from_dense(lonely.x)):
            reference = theirs(lonely.x, lonely.edge_index)
            torch.testing.assert_close(ours(x, lonely.operators), reference, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("version", ["homophilous", "heterophilous"])
@pytest.mark.parametrize("projector", [0, 1, 2])
def test_the_network_is_its_equations(lonely: Graph, version: str, projector: int) -> None:
    options = GraphECL(version=version, hidden=16, layers=2, projector=projector)  # type: ignore[arg-type]
    net = GraphECLNetwork(options, lonely.n_features, generator(0, "init"))
    mixed, x, edges = version == "heterophilous", lonely.x, lonely.operators.looped
    with torch.no_grad():
        for key, parameter in net.named_parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator(1, key)))
        z = x
        for i, conv in enumerate(net.convs):
            layer = pyg.GCNConv(z.shape[1], 16, add_self_loops=not mixed)
            layer.load_state_dict(conv.state_dict())
            z = layer(z, lonely.edge_index if mixed else edges)
            z = z if mixed or i else z.relu()
        h = x @ net.mlp.weight.T
        h = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt() * net.mlp.norm.weight + net.mlp.norm.bias
        m = F.linear(h.relu(), net.mlp.out.weight, net.mlp.out.bias)
        m = F.normalize(m) if mixed else m
        q = m
        for i, layer in enumerate(net.projector):
            q = F.linear(q.relu() if i else q, layer.weight, layer.bias)
        for mode in (net.train(), net.eval()):  # batch norm takes the nodes at hand in both
            for graph in (lonely, replace(lonely, x=Sparse.from_dense(x))):
                found = (mode.embed(graph), *mode(graph))
                for one, two in zip(found, (m, F.normalize(z), F.normalize(q)), strict=True):
                    torch.testing.assert_close(one, two, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize(
    "options",
    [{}, {"layers": 2, "projector": 0}, {"sample": 30}, {"version": "heterophilous", "layers": 2, "lam": 0.5}],
)
def test_embeddings_tell_classes_apart(options: dict[str, object]) -> None:
    graph = block_graph(150, sparse=True)
    split = split_nodes(graph)
    method = GraphECL(hidden=64, epochs=40, lr=0.005, probe_epochs=100, **options)  # type: ignore[arg-type]
    problem = NodeProblem(graph, split, 0)
    z = method.embed(problem)(problem.graph)
    centre = z - z.mean(0)
    alike = F.normalize(centre) @ F.normalize(centre).T
    same = graph.y[:, None] == graph.y
    assert alike[same].mean() > alike[~same].mean() + 0.1
    answer = method.fit(problem)
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.5


@pytest.mark.parametrize("version", ["homophilous", "heterophilous"])
def test_a_node_with_nothing_does_no_harm(lonely: Graph, version: str) -> None:
    method = GraphECL(version=version, hidden=16, layers=2, epochs=5)  # type: ignore[arg-type]
    for graph in (lonely, replace(lonely, edge_index=torch.empty(2, 0, dtype=torch.long))):
        problem = NodeProblem(graph, split_nodes(graph), 0)
        net = GraphECLNetwork(method, graph.n_features, generator(0, "init"))
        method.loss(problem.graph, generator(0, "draw"))(*net(problem.graph)).backward()
        assert all(p.grad.norm() < 100 for p in net.parameters() if p.grad is not None)
        assert bool(method.embed(problem)(graph).isfinite().all())


def test_more_than_all_nodes_is_all(lonely: Graph, unit_rows: tuple[Tensor, Tensor]) -> None:
    one, two = (GraphECL(sample=s).loss(lonely, generator(0, "draw"))(*unit_rows) for s in (0, 1000))
    assert one.item() == two.item()
    assert math.isfinite(one.item())


def test_pairs_are_read_from_the_mlp(split: LinkSplit) -> None:
    problem = PairProblem(split, lambda: PairDecoder("dot"), None, 0, 0)
    method = GraphECL(hidden=16, epochs=3)
    answer = method.fit(problem)
    assert answer.pairs is not None
    z = method.embed(problem)(split.graph)
    left, right = split.pairs("test")
    torch.testing.assert_close(answer.pairs("test").flatten(), (z[left] * z[right]).sum(1))
