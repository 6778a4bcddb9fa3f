import numpy as np
import pytest
import torch
from oracles import attention as oracle

from bes.core import attention
from bes.core.attention import BoundaryAttention, Neighborhoods
from bes.errors import InputError

SCOPES = [("views", 2), ("views", 3), ("views", 1), ("self", 1), ("nodes", 1), ("neighbors", 1)]


def make(scope, n_views, n_heads, dim=6, n=9, seed=0):
    generator = torch.Generator().manual_seed(seed)
    layer = BoundaryAttention(
        dim,
        scope=scope,
        n_views=n_views,
        n_heads=n_heads,
        init="random",
        generator=generator,
        dtype=torch.float64,
    )
    z = torch.randn(n, dim, generator=generator, dtype=torch.float64)
    pairs = torch.randint(0, n - 1, (2, 12), generator=generator)  # the last node stays isolated
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    return layer, z, edges


@pytest.mark.parametrize("n_heads", [1, 2, 4])
@pytest.mark.parametrize(("scope", "n_views"), SCOPES)
def test_every_scope_equals_the_loop(scope, n_views, n_heads):
    layer, z, edges = make(scope, n_views, n_heads)
    weights = [w.detach().numpy() for w in layer.weights]
    if len(weights) == 2:  # one token: queries and keys do not matter
        weights = [np.zeros_like(weights[0])] * 2 + weights
    expected = oracle.layer(z.numpy(), scope, weights, n_heads, n_views, edges.T.tolist())
    around = Neighborhoods.of(edges, z.shape[0]) if scope == "neighbors" else None
    np.testing.assert_allclose(layer(z, around).detach(), expected, atol=1e-10)


@pytest.mark.parametrize(("scope", "n_views"), SCOPES)
def test_rows_and_blocks_give_what_the_whole_gives(scope, n_views, monkeypatch):
    layer, z, edges = make(scope, n_views, 2, n=30)
    around = Neighborhoods.of(edges, 30) if scope == "neighbors" else None
    whole = layer(z, around)
    rows = torch.tensor([29, 3, 17, 3])
    torch.testing.assert_close(
        z[rows] + layer.attend(layer.weights, layer.select(layer.read(z, around), rows)), whole[rows]
    )
    monkeypatch.setattr(attention, "BLOCK", 64)
    torch.testing.assert_close(layer(z, around), whole)


@pytest.mark.parametrize(("scope", "n_views"), SCOPES)
def test_the_default_start_is_the_identity_and_can_learn(scope, n_views):
    layer = BoundaryAttention(6, scope=scope, n_views=n_views, generator=torch.Generator().manual_seed(0))
    _, z, edges = make(scope, n_views, 1)
    z = z.float()
    around = Neighborhoods.of(edges, z.shape[0]) if scope == "neighbors" else None
    out = layer(z, around)
    assert torch.equal(out, z)
    out.square().sum().backward()
    assert layer.out.grad.abs().max() > 0


@pytest.mark.parametrize(("scope", "n_views"), SCOPES)
def test_gradients_reach_every_weight(scope, n_views):
    layer, z, edges = make(scope, n_views, 2)
    around = Neighborhoods.of(edges, z.shape[0]) if scope == "neighbors" else None
    layer(z, around).pow(3).sum().backward()
    assert all(weight.grad.abs().max() > 0 for weight in layer.weights)


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize(("scope", "n_views"), SCOPES)
def test_the_gradient_by_the_weights_is_autograds(scope, n_views, n_heads):
    layer, z, edges = make(scope, n_views, n_heads)
    around = Neighborhoods.of(edges, z.shape[0]) if scope == "neighbors" else None
    rows = torch.tensor([2, 5, 7])
    target = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    loss = (layer(z, around)[rows] - z[rows] - target).pow(3).sum()
    expected = torch.autograd.grad(loss, layer.weights)
    weights = tuple(w.detach() for w in layer.weights)
    value, found = layer.gradient(
        weights,
        layer.select(layer.read(z, around), rows),
        lambda moved: ((moved - target).pow(3).sum(), 3 * (moved - target).square()),
    )
    torch.testing.assert_close(value, loss.detach())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize(("scope", "n_views"), [("views", 2), ("views", 3), ("self", 1)])
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-9])
def test_the_difference_of_two_outputs_is_taken_in_one_pass(scope, n_views, n_heads, size):
    layer, z, _ = make(scope, n_views, n_heads)
    old = tuple(w.detach() for w in layer.weights)
    new = tuple(w + size * torch.randn(w.shape, dtype=w.dtype, generator=torch.Generator().manual_seed(5)) for w in old)
    inputs = layer.read(z)
    expected = layer.full(new, inputs) - layer.full(old, inputs)
    torch.testing.assert_close(layer.difference(old, new, inputs), expected, atol=1e-14, rtol=1e-5)


def test_one_view_is_the_affine_map_of_the_official_code():
    layer, z, _ = make("self", 1, 2)
    torch.testing.assert_close(layer(z), z @ layer.value @ layer.out + z)


def test_views_do_not_mix_nodes():
    layer, z, _ = make("views", 2, 2)
    moved = z.clone()
    moved[0] += 1
    assert torch.equal(layer(moved)[1:], layer(z)[1:])


def test_a_width_that_heads_do_not_divide_still_works():
    layer = BoundaryAttention(5, scope="self", n_heads=2, init="random", generator=torch.Generator().manual_seed(0))
    assert layer(torch.ones(3, 5)).shape == (3, 5)


def test_views_must_be_equal_parts():
    with pytest.raises(InputError, match="n_views=3"):
        BoundaryAttention(8, scope="views", n_views=3)


def test_neighbors_without_a_graph_is_an_error():
    layer, z, _ = make("neighbors", 1, 1)
    with pytest.raises(InputError, match="edge_index"):
        layer(z)
