import json
import warnings

import numpy as np
import pytest
import torch
from oracles import boundary as boundary_oracle
from oracles import gaussians as gaussian_oracle
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from bes.core.algorithm import find_boundary, guess_labels
from bes.core.inputs import both_directions
from bes.core.objective import CenterObjective
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError


@pytest.fixture
def blobs():
    """Three overlapping classes in six dimensions; every third node is unlabelled."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    z = rng.normal(size=(3, 6))[y] * 0.9 + rng.normal(size=(150, 6))
    edges = rng.integers(0, 150, (2, 400))
    return z, np.where(np.arange(150) % 3 == 0, -1, y), edges


def shaper(**options):
    return BoundaryShaper(**{"n_iter": 15, "delta": 10.0, "n_views": 2, "denominator": "negatives_only", **options})


@pytest.mark.filterwarnings("ignore:Layer 1 found no boundary")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(BoundaryShaper(n_iter=3), legacy=True, mark=None)),
    ids=lambda value: getattr(getattr(value, "func", None), "__name__", None),
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)  # none is exempt


OPTIONS = [
    {"scope": "self"},
    {"scope": "views"},
    {"scope": "nodes"},
    {"scope": "neighbors"},
    {"origin": "literal"},
    {"covariance": "total"},
    {"covariance": "per_class"},
    {"shrinkage": 0.5},
    {"neighborhood": "graph"},
    {"targets": "all"},
    {"targets": "all", "objective": "pairwise"},
    {"objective": "pairwise"},
    {"hinge": "rival"},
    {"denominator": "with_positive", "tau": 10.0},
    {"update": "official"},
    {"alpha_unit": "total", "alpha": 1.0},
    {"init": "random"},
    {"n_heads": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_shapes_and_lowers_the_loss(blobs, options):
    z, y, edges = blobs
    fitted = shaper(**options).fit(z, y, edge_index=edges)
    z_hat = fitted.transform(z, edge_index=edges)
    assert len(fitted.layers_) == 2
    assert z_hat.shape == z.shape
    assert np.isfinite(z_hat).all()
    assert not np.array_equal(z_hat, z)
    first = [row for row in fitted.history_ if row["layer"] == 1]
    assert first[-1]["loss_after"] < first[0]["loss"]


def test_boundary_nodes_are_those_of_the_equations(blobs):
    z, y, _ = blobs
    fitted = shaper(delta=2.0).fit(z, y)
    known = np.flatnonzero(y >= 0)
    mu = gaussian_oracle.means(z[known], y[known], 3)
    sigmas = gaussian_oracle.covariance(z[known], y[known], 3, "pooled", "oas")
    region = boundary_oracle.region(z, mu, sigmas, [0, 1, 2], 2.0, "midpoint")
    scores = {i: boundary_oracle.shift_score(j, z[known], y[known], 5) for j, i in enumerate(known) if region[i]}
    assert fitted.region_sizes_[0] == region.sum()
    assert fitted.boundary_[0].tolist() == [i for i, s in scores.items() if s > 0.5]
    found = fitted.shift_scores_[0]
    assert {i: found[i] for i in np.flatnonzero(~np.isnan(found))} == pytest.approx(scores)


def test_all_targets_are_the_labelled_nodes_and_the_boundary_is_looked_at_as_ever(blobs):
    z, y, _ = blobs
    few, every = (shaper(delta=2.0, targets=targets).fit(z, y) for targets in ("boundary", "all"))
    assert [nodes.tolist() for nodes in every.boundary_] == [np.flatnonzero(y >= 0).tolist()] * 2
    assert 0 < len(few.boundary_[0]) < len(every.boundary_[0])
    assert every.region_sizes_[0] == few.region_sizes_[0]
    np.testing.assert_array_equal(every.shift_scores_[0], few.shift_scores_[0])
    assert not np.array_equal(every.transform(z), few.transform(z))
    assert BoundaryShaper().targets == "boundary"


def test_all_targets_are_shaped_in_batches(blobs, monkeypatch):
    """Nodes outside the region take part: every labelled node comes up."""
    z, y, _ = blobs
    seen = set()
    draw = CenterObjective.loss

    def note(self, moved, batch):
        seen.update(batch.tolist())
        return draw(self, moved, batch)

    monkeypatch.setattr(CenterObjective, "loss", note)
    fitted = shaper(n_layers=1, delta=0.5, targets="all", batch_size=40, n_iter=30, tol=0.0).fit(z, y)
    assert fitted.region_sizes_[0] < (y >= 0).sum()
    assert seen == set(np.flatnonzero(y >= 0).tolist())


def test_all_targets_without_a_region(blobs):
    z, y, _ = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may say that there is nothing to shape
        fitted = shaper(delta=0.0, targets="all").fit(z, y)
    assert fitted.region_sizes_[0] == 0
    assert np.isfinite(fitted.transform(z)).all()


@pytest.mark.parametrize("hinge", ["region", "rival"])
def test_boundary_nodes_are_pulled_from_the_wrong_side_in_steps_of_alpha(hinge):
    """Class 0 around x = 0, class 1 around x = 4, and three of class 0 at x = 3 that a third axis tells apart."""
    rng = np.random.default_rng(0)
    centre = np.repeat([[0, 0, 0], [4, 0, 0], [3, 0, 1.5]], [40, 40, 3], axis=0)
    z = centre + rng.normal(size=(83, 3)) * 0.3
    y = np.repeat([0, 1, 0], [40, 40, 3])
    fitted = BoundaryShaper(n_layers=1, n_iter=100, delta=50.0, hinge=hinge, alpha=0.01, tol=0.0).fit(z, y)
    z_hat = fitted.transform(z)
    assert set(range(80, 83)) <= set(fitted.boundary_[0].tolist()), "the strays are boundary nodes"
    mu = gaussian_oracle.means(z, y, 2)

    def lead(points):  # how much nearer the own centre is than the other
        distance = np.linalg.norm(points[80:, None] - mu, axis=2)
        return (distance[:, 1] - distance[:, 0]).mean()

    assert lead(z) < 0 < lead(z_hat)
    moved = np.linalg.norm(z_hat - z, axis=1)
    assert moved.mean() <= 1.05 * fitted.alpha * len(fitted.history_), "Eq. 13: alpha a step on average"


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_comes_out_is_what_went_in(blobs, kind, dtype):
    z, y, _ = blobs
    z = z.astype(dtype) if kind == "numpy" else torch.from_numpy(z).to(getattr(torch, dtype))
    z_hat = shaper().fit(z, y).transform(z)
    assert type(z_hat) is type(z)
    assert z_hat.dtype == z.dtype
    if kind == "torch":
        assert z_hat.device == z.device


def test_labels_as_tensors_strings_and_any_numbers_mean_the_same(blobs):
    z, y, _ = blobs
    reference = shaper().fit_transform(z, y)
    assert np.array_equal(shaper().fit_transform(z, torch.from_numpy(y)), reference)
    assert np.array_equal(shaper().fit_transform(z, np.where(y >= 0, y * 10 + 3, -1)), reference)
    for kind in (object, str, float, "int8"):  # -1 means unlabelled in every kind
        assert np.array_equal(shaper().fit_transform(z, y.astype(kind)), reference)
    known = y >= 0
    by_name = shaper().fit(z[known], np.array(["a", "b", "c"])[y[known]])
    assert by_name.classes_.tolist() == ["a", "b", "c"]
    assert np.array_equal(by_name.transform(z[known]), shaper().fit_transform(z[known], y[known]))


def test_soft_labels_let_clear_nodes_join_and_shape_the_next(blobs):
    z, y, edges = blobs
    codes = torch.from_numpy(y)
    for given in (None, edges):
        fitted = shaper(labels="soft", n_layers=1).fit(z, y, given)
        around = None if given is None else both_directions(torch.from_numpy(given), len(z))
        joined, told, band = guess_labels(torch.from_numpy(z), codes, around)
        free = np.flatnonzero(y == -1)
        assert ((joined >= 0).sum() - (codes >= 0).sum()).item() == len(free) // 2
        assert set(band.tolist()) < set(free.tolist())
        assert not (joined[band] >= 0).any()
        assert (told[band] >= 0).all()
        assert torch.equal(told[codes >= 0], codes[codes >= 0])
        plain = find_boundary(fitted, torch.from_numpy(z), joined)
        assert fitted.boundary_[0].tolist() == [*plain.nodes.tolist(), *band.tolist()]
        assert fitted.history_[-1]["loss_after"] < fitted.history_[0]["loss"]


def test_soft_labels_of_neighbours_count():
    """A node between two classes takes the class of its neighbours."""
    z = torch.cat([torch.randn(20, 2, generator=torch.Generator().manual_seed(0)) * 0.1 for _ in range(2)])
    z[20:] += 4.0
    z = torch.cat([z, torch.tensor([[2.0, 2.0], [2.0, 2.0]])])
    y = torch.tensor([0] * 20 + [1] * 20 + [-1, -1])
    to = torch.cat([torch.full((10,), 40), torch.full((10,), 41)])
    edges = both_directions(torch.stack([torch.cat([torch.arange(10), torch.arange(20, 30)]), to]), 42)
    joined, told, _ = guess_labels(z, y, edges)
    found = torch.where(joined >= 0, joined, told)
    taken = {node: int(found[node]) for node in (40, 41) if found[node] >= 0}
    assert taken
    assert taken.items() <= {40: 0, 41: 1}.items()


def test_unlabelled_nodes_do_not_lend_their_labels(blobs):
    """Only the unlabelled nodes' positions count, whoever they are."""
    z, y, _ = blobs
    fitted = shaper().fit(z, y)
    assert all((y[nodes] >= 0).all() for nodes in fitted.boundary_)


def test_nodes_never_seen_are_transformed_as_if_seen(blobs):
    z, y, _ = blobs
    fitted = shaper().fit(z, y)
    np.testing.assert_allclose(fitted.transform(z[:7]), fitted.transform(z)[:7], atol=1e-12)
    assert fitted.transform(z[:7] + 1).shape == (7, 6)


def test_transforming_leaves_the_shaper_as_it_was(blobs):
    z, y, _ = blobs
    fitted = shaper().fit(z, y)
    before = fitted.transform(z)
    fitted.transform(z.astype(np.float32))
    assert np.array_equal(fitted.transform(z), before)


def test_the_same_seed_gives_the_same_bits_and_leaves_global_randomness_alone(blobs):
    z, y, _ = blobs
    state = torch.get_rng_state()
    one, two = shaper().fit_transform(z, y), shaper().fit_transform(z, y)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, shaper(random_state=1).fit_transform(z, y))
    assert torch.equal(torch.get_rng_state(), state)


def test_without_boundary_nodes_shaping_is_the_identity_and_says_so():
    z = np.array([[0, 0], [0, 1], [100, 0], [100, 1.0]])
    y = np.array([0, 0, 1, 1])
    with pytest.warns(UserWarning, match="found no boundary nodes"):
        fitted = BoundaryShaper(delta=0.1).fit(z, y)
    assert np.array_equal(fitted.transform(z), z)
    assert fitted.layers_ == []
    assert [len(nodes) for nodes in fitted.boundary_] == [0]
    assert fitted.region_sizes_ == [0]


def test_all_nodes_in_the_slab(blobs):
    z, y, _ = blobs
    fitted = shaper(delta=1e9).fit(z, y)
    assert fitted.region_sizes_[0] == len(z)


@pytest.mark.parametrize("case_z", [np.zeros((4, 1)), np.array([[0.0], [1], [2], [3]]), np.eye(4)])
@pytest.mark.filterwarnings("ignore:Layer 1 found no boundary")
def test_degenerate_inputs_stay_finite(case_z):
    z_hat = BoundaryShaper(delta=1e9, n_iter=5).fit_transform(case_z, np.array([0, 1, 0, 1]))
    assert np.isfinite(z_hat).all()


def test_a_full_batch_that_is_refused_ends_the_layer(blobs):
    z, y, _ = blobs
    fitted = shaper(n_layers=1, n_iter=500, alpha=1e9, denominator="with_positive").fit(z, y)
    assert len(fitted.history_) == 1
    assert not fitted.history_[0]["accepted"]


def test_a_batch_that_repeats_gives_what_fresh_gradients_give(blobs, monkeypatch):
    from bes.core import update

    z, y, _ = blobs
    ahead = shaper().fit(z, y)
    plain = update.Stepper.__init__
    monkeypatch.setattr(
        update.Stepper, "__init__", lambda self, *args, **options: plain(self, *args, **{**options, "repeats": False})
    )
    afresh = shaper().fit(z, y)
    assert len(ahead.history_) == len(afresh.history_)
    np.testing.assert_allclose(ahead.transform(z), afresh.transform(z), atol=1e-10)


UNITS = [
    {},
    {"objective": "pairwise"},
    {"hinge": "rival"},
    {"denominator": "with_positive", "tau": 2.0},
    {"alpha_unit": "total", "alpha": 1.0},
]


@pytest.mark.parametrize("options", UNITS, ids=str)
def test_measured_by_the_spread_shaping_does_not_depend_on_the_scale(blobs, options):
    """Of scopes without a softmax over embeddings, which has a scale of its own."""
    z, y, _ = blobs

    def moved(unit, scale):
        return shaper(scope="self", unit=unit, **options).fit_transform(scale * z, y) / scale - z

    for scale in (10, 0.1):
        np.testing.assert_allclose(moved("spread", scale), moved("spread", 1), atol=1e-9)
        assert np.abs(moved("absolute", scale) - moved("absolute", 1)).max() > 0.05
    assert np.abs(moved("spread", 1)).max() > 0.1


def test_the_spread_is_the_unit_of_tau_and_of_alpha(blobs):
    z, y, _ = blobs
    known = np.flatnonzero(y >= 0)
    mu = gaussian_oracle.means(z[known], y[known], 3)
    spread = np.sqrt(np.mean([np.sum((z[i] - mu[y[i]]) ** 2) for i in known]))
    by_spread = shaper(n_layers=1, unit="spread").fit_transform(z, y)
    by_hand = shaper(n_layers=1, tau=spread**2, alpha=0.005 * spread).fit_transform(z, y)
    np.testing.assert_allclose(by_spread, by_hand, atol=1e-9)
    assert not np.allclose(by_spread, shaper(n_layers=1).fit_transform(z, y), atol=1e-3)


def test_batches_are_drawn_without_repeats(blobs, monkeypatch):
    from bes.core import update

    z, y, _ = blobs
    seen = []
    step = update.Stepper.step
    monkeypatch.setattr(update.Stepper, "step", lambda self, batch: seen.append(batch) or step(self, batch))
    fitted = shaper(n_layers=1, batch_size=4).fit(z, y)
    assert all(len(set(batch.tolist())) == 4 for batch in seen)
    assert len({tuple(batch.tolist()) for batch in seen}) > 1
    assert set(torch.cat(seen).tolist()) <= set(fitted.boundary_[0].tolist())


@pytest.mark.parametrize(
    "options",
    [{}, {"scope": "neighbors", "n_heads": 2}, {"scope": "self"}, {"n_layers": 0}, {"targets": "all"}],
    ids=str,
)
def test_saved_and_loaded_it_is_the_same(blobs, tmp_path, options):
    z, y, edges = blobs
    fitted = shaper(**options).fit(z, y, edge_index=edges)
    fitted.save(tmp_path / "a.bes")
    fitted.save(tmp_path / "a.bes")  # again: replaces itself
    loaded = BoundaryShaper.load(tmp_path / "a.bes")
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.transform(z, edge_index=edges), fitted.transform(z, edge_index=edges))
    assert loaded.history_ == fitted.history_
    assert [b.tolist() for b in loaded.boundary_] == [b.tolist() for b in fitted.boundary_]
    np.testing.assert_array_equal(loaded.shift_scores_, fitted.shift_scores_)
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.bes"], "nothing may be left beside it"
    assert sorted(p.name for p in (tmp_path / "a.bes").iterdir()) == ["shaper.json", "weights.safetensors"]


def test_bad_directories_are_refused(blobs, tmp_path):
    z, y, _ = blobs
    fitted = shaper().fit(z, y)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("keep me")
    with pytest.raises(InputError, match="holds no shaper"):
        fitted.save(tmp_path / "other")
    assert (tmp_path / "other" / "mine.txt").read_text() == "keep me"
    for nothing in ("absent", "other/mine.txt"):
        with pytest.raises(InputError, match="no saved shaper"):
            BoundaryShaper.load(tmp_path / nothing)
    fitted.set_params(n_iter=np.int64(3), alpha=np.float32(0.5)).save(tmp_path / "a.bes")
    assert BoundaryShaper.load(tmp_path / "a.bes").n_iter == 3
    for text in ("[]", '{"format": "bes-shaper", "version": 1}', "{"):
        fitted.save(tmp_path / "b.bes")
        (tmp_path / "b.bes" / "shaper.json").write_text(text)
        with pytest.raises(InputError, match="damaged"):
            BoundaryShaper.load(tmp_path / "b.bes")
    with pytest.raises(InputError, match="cannot be written"):
        fitted.save(tmp_path / "other" / "mine.txt" / "c.bes")
    state = json.loads((tmp_path / "a.bes" / "shaper.json").read_text())
    (tmp_path / "a.bes" / "shaper.json").write_text(json.dumps({**state, "version": 99}))
    with pytest.raises(InputError, match="version 99"):
        BoundaryShaper.load(tmp_path / "a.bes")
    (tmp_path / "a.bes" / "weights.safetensors").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="damaged"):
        BoundaryShaper.load(tmp_path / "a.bes")


BAD_OPTIONS = [
    {"scope": "view"},
    {"n_iter": -1},
    {"n_iter": 1.5},
    {"batch_size": 4.0},
    {"tau": 0},
    {"alpha": -1.0},
    {"delta": "wide"},
    {"shrinkage": 2.0},
    {"shift_threshold": 1.0},
    {"batch_size": 0},
    {"n_views": 4},
    {"unit": "metre"},
    {"targets": "some"},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
def test_bad_options_are_named(blobs, options):
    z, y, _ = blobs
    with pytest.raises(InputError, match=next(iter(options))):
        shaper(**options).fit(z, y)


def test_bad_data_is_named(blobs):
    z, y, edges = blobs
    t = torch.from_numpy(z)
    bad = t.clone()
    bad[3, 2] = float("nan")
    for given, labels, graph, words in [
        (bad, y, None, "z holds 1 values"),
        (t[:, 0], y, None, "z has shape"),
        (t, y[:-1], None, "y has shape"),
        (t, np.full_like(y, -1), None, "no label"),
        (t, np.where(y == 0, 0, -1), None, "one class only"),
        (t, np.where(y < 0, np.nan, y), None, "NaN"),
        (t, y + 0.5, None, "fractions"),
        (t, y * 1j, None, "y holds complex"),
        (t[:, :0], y, None, "z has shape"),
        (z * np.nan, y, None, "NaN"),
        (t, y, edges + 0.5, "integers"),
        (t, y, edges.astype(str), "integers"),
        (t, y, edges > 3, "integers"),
        (t, y, edges + 100, "0..149"),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            shaper(scope="neighbors").fit(given, labels, edge_index=edges if graph is None else graph)
        assert "\n" not in str(caught.value)
    for kind in ("uint32", ">i8", "uint8"):
        shaper(scope="neighbors").fit(t, y, edge_index=edges.astype(kind))
    with pytest.raises(InputError, match="n_views=4"):
        BoundaryShaper(n_views=4, delta=0.0).fit(t, y)
    for options in ({"scope": "neighbors"}, {"neighborhood": "graph"}):
        with pytest.raises(InputError, match="edge_index"):
            shaper(**options).fit(t, y)
    with pytest.raises(InputError, match="5 columns"):
        shaper().fit(t, y).transform(t[:, :5])


def test_it_works_inside_a_pipeline(blobs):
    z, y, _ = blobs
    known = y >= 0
    pipeline = make_pipeline(shaper(), LogisticRegression()).fit(z[known], y[known])
    assert pipeline.score(z[known], y[known]) > 0.5
    assert clone(pipeline[0]).get_params() == pipeline[0].get_params()


def test_verbose_shows_a_bar(blobs, capsys):
    z, y, _ = blobs
    with warnings.catch_warnings():
        shaper(verbose=True).fit(z, y)
    assert "shaping" in capsys.readouterr().out
    shaper().fit(z, y)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("unknown", [None, float("nan"), -1, "-1"])
def test_labels_without_a_value_are_unknown(unknown: object) -> None:
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"] * 20 + [unknown] * 5, dtype=object)
    z = rng.normal(size=(45, 4)) + (y == "a")[:, None]
    shaper = BoundaryShaper(n_iter=2, delta=20.0).fit(z, y)
    assert shaper.classes_.tolist() == ["a", "b"]
    known = BoundaryShaper(n_iter=2, delta=20.0).fit(z, np.array([*y[:40], *["-1"] * 5]))
    np.testing.assert_array_equal(shaper.transform(z), known.transform(z))
