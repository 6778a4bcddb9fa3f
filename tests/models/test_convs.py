"""Each convolution against its PyG layer, with the PyG layer's own weights."""

import math
from collections.abc import Callable

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn

from bes.errors import InputError
from bes.graph.graph import undirected
from bes.graph.sparse import Features, Operators, Sparse
from bes.models.base import FilterConv, dropout
from bes.models.convs import CONVS, pick
from bes.models.edges import attend, pair_score, reversed_edges, softmax
from bes.seeding import generator

PYG: dict[str, Callable[[int, int], nn.Module]] = {
    "gcn": pyg.GCNConv,
    "cheb": lambda i, o: pyg.ChebConv(i, o, K=3),
    "gat": pyg.GATConv,
    "gatv2": pyg.GATv2Conv,
    "sgc": pyg.SGConv,
    "ssgc": lambda i, o: pyg.SSGConv(i, o, alpha=0.1),
    "sage": pyg.SAGEConv,
    "kgnn": pyg.GraphConv,
    "mlp": nn.Linear,
}


def hubs(n: int = 60) -> Tensor:
    """A random graph with two hubs; its last node has no edge."""
    rng = generator(0, "graph")
    random = torch.randint(0, n - 1, (2, 2 * n), generator=rng)
    star = torch.arange(n - 1).repeat(2)
    centre = torch.arange(2).repeat_interleave(n - 1)
    return undirected(torch.cat([random, torch.stack([star, centre])], dim=1), n)


def bag_of_words(n: int, words: int, each: int = 12) -> Sparse:
    """Citeseer-like features: a few words of many a node, and one node without any."""
    rng = generator(1, "words")
    mask = torch.zeros(n, words).scatter_(1, torch.randint(0, words, (n, each), generator=rng), 1.0)
    mask[3] = 0
    row, col = mask.nonzero().t()
    return Sparse.from_coo(row, col, torch.ones(row.numel()), (n, words))


def step(layer: nn.Module, out: Tensor, x: Tensor | None = None) -> dict[str, Tensor]:
    """Gradients of a random linear function of the output."""
    layer.zero_grad()
    weight = torch.randn(out.shape, generator=generator(2, "loss")) / math.sqrt(out.numel())
    (out * weight).sum().backward()
    grads = {name: parameter.grad for name, parameter in layer.named_parameters()}
    return grads if x is None else grads | {"x": x.grad}


def assert_equals_pyg(name: str, x: Features, edge_index: Tensor, width: int) -> None:
    n, n_features = x.shape
    theirs = PYG[name](n_features, width)
    with torch.no_grad():  # a bias that starts at zero would hide a missing one
        for key, parameter in theirs.named_parameters():
            if key.endswith("bias"):
                parameter.normal_()
    ours = CONVS[name](n_features, width)
    ours.load_state_dict(theirs.state_dict())
    dense = isinstance(x, Tensor)
    a = x.clone().requires_grad_() if dense else x
    b = (x if dense else x.to_dense()).clone().requires_grad_(dense)
    out = ours(a, Operators(edge_index, n))
    reference = theirs(b) if name == "mlp" else theirs(b, edge_index)
    torch.testing.assert_close(out, reference, atol=1e-5, rtol=1e-5)
    mine, other = step(ours, out, a if dense else None), step(theirs, reference, b if dense else None)
    assert mine.keys() == other.keys()
    for key in mine:
        torch.testing.assert_close(mine[key], other[key], atol=1e-5, rtol=1e-5, msg=lambda m, key=key: f"{key}: {m}")


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize(("n_features", "width"), [(5, 9), (9, 5), (7, 7), (6, 1)])
def test_dense_features_equal_pyg(name: str, n_features: int, width: int) -> None:
    x = torch.randn(60, n_features, generator=generator(3, "x"))
    assert_equals_pyg(name, x, hubs(), width)


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize(("words", "width"), [(40, 8), (16, 24)])
def test_sparse_features_equal_pyg(name: str, words: int, width: int) -> None:
    assert_equals_pyg(name, bag_of_words(60, words), hubs(), width)


@pytest.mark.parametrize("name", CONVS)
def test_citeseer_like_graph_equals_pyg(name: str) -> None:
    n = 1500
    edges = undirected(torch.randint(0, n, (2, 3 * n), generator=generator(4, "edges")), n)
    assert_equals_pyg(name, bag_of_words(n, 1200, each=32), edges, 16)


@pytest.mark.parametrize("numbers", [1, 70, 2**30])
def test_blocks_of_edges_do_not_change_attention(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bes.models.edges._BLOCK", numbers)
    assert_equals_pyg("gatv2", torch.randn(60, 5, generator=generator(3, "x")), hubs(), 7)


@pytest.mark.parametrize("name", CONVS)
def test_graph_without_edges(name: str) -> None:
    assert_equals_pyg(name, torch.randn(4, 3, generator=generator(5, "x")), torch.zeros(2, 0, dtype=torch.long), 2)


@pytest.mark.parametrize("name", [name for name, conv in CONVS.items() if issubclass(conv, FilterConv)])
@pytest.mark.parametrize(("n_features", "width"), [(5, 9), (9, 5)])
def test_propagating_once_gives_the_same(name: str, n_features: int, width: int) -> None:
    conv = CONVS[name](n_features, width, generator=generator(0, "init"))
    assert isinstance(conv, FilterConv)
    x, ops = torch.randn(60, n_features, generator=generator(6, "x")), Operators(hubs(), 60)
    torch.testing.assert_close(conv.transform(conv.propagate(x, ops)), conv(x, ops), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("edges", [0, 1, 8])
@pytest.mark.parametrize("name", CONVS)
def test_a_layer_on_features_that_stay_follows_its_weights(name: str, edges: int, sparse: bool) -> None:
    """With few edges features are propagated each time, with many once: values and gradients are the same."""
    conv = CONVS[name](6, 5, generator=generator(0, "init"))
    x: Features = torch.randn(60, 6, generator=generator(6, "x"))
    x = Sparse.from_dense(x) if sparse else x
    found = hubs()
    ops = Operators(undirected(found[:, : edges * found.shape[1] // 8], 60), 60)
    layer = conv.on(x, ops)
    for _ in range(2):
        kept, anew = layer(), conv(x, ops)
        torch.testing.assert_close(kept, anew, atol=1e-5, rtol=1e-5)
        mine, other = step(conv, kept), step(conv, anew)
        for key in mine:
            torch.testing.assert_close(mine[key], other[key], atol=1e-5, rtol=1e-5)
        with torch.no_grad():
            for parameter in conv.parameters():
                parameter.add_(0.1)


@pytest.mark.parametrize("name", CONVS)
def test_initial_weights_are_those_of_pyg(name: str) -> None:
    """Same names and shapes, same bounds of the uniform distributions, zero where PyG has zero."""
    ours = CONVS[name](300, 200, generator=generator(0, "init")).state_dict()
    theirs = PYG[name](300, 200).state_dict()
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert ours[key].shape == value.shape
        assert ours[key].abs().max() == pytest.approx(value.abs().max().item(), rel=0.1)
        assert ours[key].std() == pytest.approx(value.std().item(), rel=0.25)


@pytest.mark.parametrize("name", CONVS)
def test_initial_weights_come_from_the_generator_alone(name: str) -> None:
    state = torch.get_rng_state()
    first = CONVS[name](4, 3, generator=generator(0, "init")).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(10)
    second = CONVS[name](4, 3, generator=generator(0, "init")).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_softmax_is_stable_and_sums_to_one() -> None:
    ops = Operators(hubs(), 60)
    score = torch.randn(ops.looped.shape[1], generator=generator(7, "score")) * 1e4
    alpha = softmax(score, ops)
    assert torch.isfinite(alpha).all()
    torch.testing.assert_close(torch.zeros(60).index_add(0, ops.looped[0], alpha), torch.ones(60))


def test_reversed_edges_transpose_the_pattern_and_are_built_once() -> None:
    ops = Operators(hubs(), 60)
    order = reversed_edges(ops)
    assert torch.equal(ops.looped[:, order], ops.looped.flip(0))
    assert reversed_edges(ops) is order


def test_attention_follows_the_sums_as_written() -> None:
    ops = Operators(hubs(), 60)
    left, right = torch.randn(2, 60, 4, generator=generator(8, "h"))
    att = torch.randn(4, generator=generator(9, "a"))
    score = pair_score(left, right, att, ops)
    out = attend(score, left, ops)
    for i in (0, 7, 59):
        near = ops.looped[1][ops.looped[0] == i]
        expected = nn.functional.leaky_relu(left[near] + right[i], 0.2) @ att
        torch.testing.assert_close(score[ops.looped[0] == i], expected)
        torch.testing.assert_close(out[i], expected.softmax(0) @ left[near])


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_drops_its_share(p: float) -> None:
    x = torch.ones(1000, 201)
    state = torch.get_rng_state()
    out = dropout(x, p, generator(0, "dropout"))
    assert torch.equal(torch.get_rng_state(), state)
    assert out.mean() == pytest.approx(1, abs=0.02)
    assert (out == 0).float().mean() == pytest.approx(p, abs=0.01)
    assert out.unique().numel() == 2
    rows = (out == 0).float().mean(0)
    assert (rows - p).abs().max() < 0.1  # no column is favoured
    assert torch.equal(out, dropout(x, p, generator(0, "dropout")))


def test_dropout_can_be_differentiated_twice() -> None:
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda z: dropout(z**2, 0.5, generator(0, "drop")), x)


def test_dropout_of_nothing_and_of_everything() -> None:
    x = torch.ones(3, 2)
    assert dropout(x, 0.0, generator(0, "dropout")) is x
    for p in (1.0, -0.1):
        with pytest.raises(InputError, match="dropout"):
            dropout(x, p, generator(0, "dropout"))


def test_unknown_names_come_with_suggestions() -> None:
    assert pick(CONVS, "gcn", "encoder") is CONVS["gcn"]
    with pytest.raises(InputError, match="encoder 'GATv3' is not known: did you mean gatv2 or gat"):
        pick(CONVS, "GATv3", "encoder")
    with pytest.raises(InputError, match="use one of gcn, cheb"):
        pick(CONVS, "transformer", "encoder")
