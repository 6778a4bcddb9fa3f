"""BESLayer is the shaper as a torch module: the same numbers, a gradient, and every habit of a module."""

import copy
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import bes
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.nn import BESLayer

EXAMPLE = Path(__file__).parents[1] / "examples" / "pyg_gcn.py"

#: Options under which the blobs are shaped at once.
QUICK = {"n_iter": 8, "delta": 10.0, "denominator": "negatives_only"}

KINDS = [
    {"scope": "self"},
    {"scope": "views", "n_views": 2},
    {"scope": "views", "n_views": 3, "n_heads": 3},
    {"scope": "nodes"},
    {"scope": "nodes", "n_heads": 2},
    {"scope": "neighbors", "n_heads": 2},
    {"init": "random", "n_views": 2},
    {"init": "random", "scope": "neighbors"},
    {"n_layers": 3, "neighborhood": "graph"},
    {"n_layers": 0},
]


def blobs():
    """Three overlapping classes in six dimensions, every third node unlabelled, and a graph."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    z = rng.normal(size=(3, 6))[y] * 0.9 + rng.normal(size=(90, 6))
    edges = torch.from_numpy(rng.integers(0, 90, (2, 250)))
    return torch.from_numpy(z), torch.from_numpy(np.where(np.arange(90) % 3 == 0, -1, y)), edges


Z, Y, EDGES = blobs()


def layer(**options) -> BESLayer:
    return BESLayer(6, **{**QUICK, **options})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_it_is_the_identity_and_then_exactly_the_shaper(options, dtype):
    z = Z.to(dtype)
    one = layer(**options)
    names = {name: weight.shape for name, weight in one.state_dict().items()}
    assert torch.equal(one(z, EDGES), z), "before it is fitted it is the identity"
    assert one.fit(z, Y, EDGES) is one
    shaper = BoundaryShaper(**QUICK, **options).fit(z, Y, edge_index=EDGES)
    out = one(z, EDGES)
    assert torch.equal(out, shaper.transform(z, edge_index=EDGES))
    assert torch.equal(out, one.shaper_.transform(z, edge_index=EDGES))
    assert out.dtype == dtype
    assert torch.equal(out, z) == (options.get("n_layers") == 0)
    assert {name: weight.shape for name, weight in one.state_dict().items()} == names


@pytest.mark.parametrize("options", KINDS[:-1], ids=str)
def test_it_can_be_differentiated_by_the_embeddings_and_by_its_weights(options):
    one = layer(trainable=True, **options).fit(Z, Y, EDGES)
    z = Z[:12].clone().requires_grad_()
    edges = EDGES % 12
    weights = list(one.parameters())
    assert weights
    assert all(weight.requires_grad for weight in weights)
    assert torch.autograd.gradcheck(lambda *_: one(z, edges), (z, *weights))


def test_frozen_unless_trainable():
    for trainable in (False, True):
        one = layer(trainable=trainable)
        assert all(weight.requires_grad == trainable for weight in one.parameters())
        one.requires_grad_(not trainable)
        assert all(weight.requires_grad == trainable for weight in one.fit(Z, Y).parameters())
    z = Z.clone().requires_grad_()
    one.fit(z, Y)(z).square().sum().backward()
    assert z.grad is not None
    encoder = nn.Linear(6, 6).double()
    layer().fit(encoder(Z), Y)
    assert encoder.weight.grad is None, "nothing of the fit reaches the encoder"


def test_an_optimizer_can_go_on_from_where_the_fit_ended():
    one = layer(trainable=True).fit(Z, Y)
    before = one(Z)
    optimizer = torch.optim.SGD(one.parameters(), lr=0.1)
    one(Z).square().mean().backward()
    optimizer.step()
    assert one(Z).square().mean() < before.square().mean()


def test_the_way_back_over_all_nodes_holds_no_matrix_of_all_pairs():
    z = torch.randn(2500, 6, generator=torch.Generator().manual_seed(0), requires_grad=True)
    one = BESLayer(6, scope="nodes", n_layers=1, trainable=True)
    nn.init.constant_(one.layers[0].out, 0.1)
    held = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t.numel()) or t, lambda t: t):
        out = one(z)
    assert sum(held) < 2500 * 2500 / 10
    out.sum().backward()
    plain = z.detach().clone().requires_grad_()
    attention = super(type(one.layers[0]), one.layers[0])
    (plain + attention.attend(one.layers[0].weights, one.layers[0].read(plain))).sum().backward()
    torch.testing.assert_close(z.grad, plain.grad)


def test_layers_without_a_boundary_stay_the_identity():
    z = torch.tensor([[0, 0], [0, 1], [100, 0], [100, 1.0]])
    one = BESLayer(2, delta=0.1, init="random")
    with pytest.warns(UserWarning, match="found no boundary"):
        one.fit(z, torch.tensor([0, 0, 1, 1]))
    assert torch.equal(one(z), z)
    assert one.shaper_.layers_ == []
    far = torch.cat([Z, Z + 1])
    one = layer().fit(far, torch.cat([Y, Y]))
    assert not torch.equal(one(far), far)
    with pytest.warns(UserWarning, match="found no boundary"):  # fitted again, it forgets what it was
        one.fit(torch.cat([Z[:40], Z[:40] + 1000]), torch.arange(80) // 40)
    assert torch.equal(one(Z), Z)


def test_a_mask_says_whose_label_may_be_read():
    known = Y >= 0
    full = torch.where(known, Y, 0)  # labels that must not be read
    reference = layer().fit(Z, Y)(Z)
    for y, mask in [
        (full, known),
        (full.to(torch.uint8), known),
        (full.numpy(), known.numpy()),
        (torch.where(known, Y.double(), torch.nan), known),
        (np.array(["a", "b", "c"])[full], known),
        (np.array(["a", "b", "c"], dtype=object)[full], known.tolist()),
    ]:
        assert torch.equal(layer().fit(Z, y, mask=mask)(Z), reference)
    assert not torch.equal(layer().fit(Z, full)(Z), reference)
    for mask, words in [(known.long(), "int64"), (known[:-1], r"\(89,\)"), (torch.stack([known, known], 1), "90, 2")]:
        with pytest.raises(InputError, match=words):
            layer().fit(Z, full, mask=mask)
    with pytest.raises(InputError, match="y has shape"):
        layer().fit(Z, full[:-1], mask=known)
    with pytest.raises(InputError, match="no label"):
        layer().fit(Z, full, mask=known & False)


@given(st.data())
@settings(max_examples=30)
def test_what_lies_outside_the_mask_never_matters(data):
    known = torch.tensor(data.draw(st.lists(st.booleans(), min_size=12, max_size=12)))
    labels = torch.tensor(data.draw(st.lists(st.integers(0, 2), min_size=12, max_size=12)))
    other = torch.where(known, labels, torch.tensor(data.draw(st.integers(-1, 9))))
    outputs = []
    for y in (labels, other):
        try:
            outputs.append(BESLayer(6, n_iter=2, delta=1e9, n_neighbors=2).fit(Z[:12], y, mask=known)(Z[:12]))
        except InputError as error:
            outputs.append(str(error))
        except UserWarning as error:
            outputs.append(str(error))
    first, second = outputs
    assert torch.equal(first, second) if isinstance(first, torch.Tensor) else first == second


@pytest.mark.parametrize("scope", ["views", "nodes", "neighbors"])
def test_it_is_fitted_wherever_embeddings_are_made(scope):
    reference = layer(scope=scope).fit(Z, Y, EDGES)(Z, EDGES)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            z = Z * 1
            one = layer(scope=scope).fit(z, Y, EDGES)
            assert torch.equal(one(z, EDGES), reference)


def test_fit_takes_the_precision_and_place_of_the_embeddings():
    one = layer()
    assert {weight.dtype for weight in one.parameters()} == {torch.float32}
    assert {weight.dtype for weight in one.fit(Z, Y).parameters()} == {torch.float64}
    assert one(Z.float()).dtype == torch.float32, "what comes out is what went in"
    assert one(Z.bfloat16()).dtype == torch.bfloat16
    assert {weight.dtype for weight in one.fit(Z.bfloat16(), Y).parameters()} == {torch.float32}
    assert {weight.dtype for weight in layer(dtype=torch.float64).parameters()} == {torch.float64}
    assert one.to("meta")(Z.to("meta")).device.type == "meta"
    assert {weight.dtype for weight in layer().half().parameters()} == {torch.float16}


@pytest.mark.parametrize("options", [{}, {"n_views": 3, "n_heads": 2}, {"scope": "neighbors"}], ids=str)
def test_it_has_every_habit_of_a_module(tmp_path, options):
    one = layer(**options).fit(Z.float(), Y, EDGES)
    reference = one(Z.float(), EDGES)
    fresh = layer(**options)
    fresh.load_state_dict(one.state_dict())
    assert torch.equal(fresh(Z.float(), EDGES), reference)
    assert not hasattr(fresh, "shaper_"), "what the shaper saw is no part of the state"
    assert sorted(one.state_dict()) == sorted(fresh.state_dict())
    twin = copy.deepcopy(one)
    one.layers[0].out.data.zero_()
    assert torch.equal(twin(Z.float(), EDGES), reference)
    assert twin.shaper_ is not one.shaper_
    torch.save(twin, tmp_path / "layer.pt")
    assert torch.equal(torch.load(tmp_path / "layer.pt", weights_only=False)(Z.float(), EDGES), reference)
    torch.save(twin.state_dict(), tmp_path / "state.pt")
    assert torch.load(tmp_path / "state.pt", weights_only=True).keys() == one.state_dict().keys()
    model = nn.Sequential(nn.Linear(6, 6), twin)
    assert len(list(model.parameters())) == 2 + len(list(twin.parameters()))
    state = torch.get_rng_state()
    layer(**options)
    assert torch.equal(torch.get_rng_state(), state), "torch's own stream stays untouched"


@pytest.mark.parametrize("options", [{}, {"n_views": 2}, {"scope": "nodes"}, {"scope": "neighbors"}], ids=str)
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch hides it, but not from a filter that raises
def test_compiled_it_is_the_same(options):
    one = layer(**options).fit(Z.float(), Y, EDGES)
    compiled = torch.compile(one, backend="eager", fullgraph=options.get("scope") != "neighbors")
    z = Z.float().requires_grad_()
    assert torch.equal(compiled(z, EDGES), one(z, EDGES))
    assert torch.equal(
        torch.autograd.grad(compiled(z, EDGES).sum(), z)[0], torch.autograd.grad(one(z, EDGES).sum(), z)[0]
    )


def test_no_node_at_all():
    for options in KINDS:
        assert layer(**options)(Z[:0], EDGES[:, :0]).shape == (0, 6)


def test_its_options_are_the_shapers_and_it_shows_them():
    shown, known = inspect.signature(BESLayer).parameters, inspect.signature(BoundaryShaper).parameters
    assert list(shown) == ["dim", "trainable", "dtype", *known]
    assert all(shown[name].default == known[name].default for name in known)
    assert all(shown[name].kind is inspect.Parameter.KEYWORD_ONLY for name in known)
    text = repr(BESLayer(6, n_views=2, alpha=np.float64(0.25), trainable=True).double())
    assert "BESLayer(\n  6, trainable=True, dtype='float64', alpha=0.25, n_views=2\n" in text
    assert BESLayer(6).extra_repr() == "6"
    with pytest.raises(TypeError):
        BESLayer(6, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_view": 2}, "'n_view' .* did you mean n_views"),
        ({"learnable": True}, "'learnable' .* not known"),
        ({"scope": "view"}, "scope='view'"),
        ({"n_views": 4}, "n_views=4"),
        ({"n_iter": -1}, "n_iter=-1"),
        ({"dtype": "int64"}, "dtype='int64'"),
        ({"dtype": "nonsense"}, "dtype='nonsense'"),
        ({"dtype": None}, "dtype=None"),
    ],
    ids=str,
)
def test_bad_options_are_named_when_it_is_made(options, words):
    with pytest.raises(InputError, match=words) as caught:
        BESLayer(6, **options)
    assert "\n" not in str(caught.value)


def test_bad_input_is_named():
    for dim in (0, -3, 2.0, True, "6"):
        with pytest.raises(InputError, match="dim="):
            BESLayer(dim)
    for z, words in [
        (Z[:, :5], r"shape \(90, 5\)"),
        (Z[0], r"shape \(6,\)"),
        (Z.long(), "int64"),
        (Z.numpy(), "is a ndarray"),
    ]:
        for call in (layer(), lambda given: layer().fit(given, Y)):
            with pytest.raises(InputError, match=words):
                call(z)
    for options in ({"scope": "neighbors"}, {"neighborhood": "graph"}):
        with pytest.raises(InputError, match="edge_index"):
            layer(**options).fit(Z, Y)
    with pytest.raises(InputError, match="edge_index"):
        layer(scope="neighbors")(Z)
    with pytest.raises(InputError, match=r"0\.\.89"):
        layer(scope="neighbors")(Z, EDGES + 90)


def test_a_fit_that_fails_leaves_the_layer_as_it_was():
    one = layer().fit(Z, Y)
    before, saw = one(Z), one.shaper_

    def stop(step, _model, _row):
        if step == 3:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        one.fit(Z + 1, Y, callbacks=[stop])
    assert torch.equal(one(Z), before)
    assert one.shaper_ is saw


def test_the_name_is_there_by_the_package():
    assert bes.nn.BESLayer is BESLayer


def test_the_example_for_pyg_runs():
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--epochs", "2"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    names = [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert names == ["GCN", "GCN + new head", "GCN + BES + new head"]
    assert all("val 0." in line and "test 0." in line for line in done.stdout.splitlines())
    assert len(EXAMPLE.read_text().splitlines()) <= 60
