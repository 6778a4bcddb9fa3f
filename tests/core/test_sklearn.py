"""The shaper among scikit-learn's own: pipelines, searches, data frames, processes, metadata."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import StandardScaler

from bes.core.shaper import BoundaryShaper
from bes.errors import InputError

NAMES = list("abcdef")


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    return rng.normal(size=(3, 6))[y] * 0.9 + rng.normal(size=(120, 6)), y, rng.integers(0, 120, (2, 300))


def shaper(**options):
    return BoundaryShaper(**{"n_iter": 5, "delta": 10.0, "denominator": "negatives_only", **options})


def pipeline(**options):
    steps = [("scale", StandardScaler()), ("bes", shaper(**options)), ("clf", LogisticRegression())]
    return Pipeline(steps)


def test_a_pipeline_is_its_steps_one_after_another(blobs):
    z, y, _ = blobs
    whole = pipeline().fit(z, y)
    scaled = StandardScaler().fit_transform(z)
    shaped = shaper().fit(scaled, y).transform(scaled)
    assert np.array_equal(whole[:-1].transform(z), shaped)
    assert not np.allclose(shaped, scaled)
    by_hand = LogisticRegression().fit(shaped, y)
    assert np.array_equal(whole.predict(z), by_hand.predict(shaped))
    assert whole.score(z, y) > 0.7


def test_minus_one_is_unlabelled_here_and_a_class_to_a_classifier(blobs):
    z, y, _ = blobs
    some = np.where(np.arange(120) % 4 == 0, -1, y)
    fitted = pipeline().fit(z, some)
    assert fitted["bes"].classes_.tolist() == [0, 1, 2]
    assert fitted["clf"].classes_.tolist() == [-1, 0, 1, 2]
    with pytest.raises(InputError, match="one class only"):
        pipeline().fit(z, np.where(y == 0, -1, 1))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_grid_search_tells_options_apart(blobs, n_jobs):
    z, y, _ = blobs
    alphas = [0.001, 1.0]
    search = GridSearchCV(pipeline(), {"bes__alpha": alphas}, cv=3, n_jobs=n_jobs).fit(z, y)
    means = [cross_val_score(pipeline(alpha=alpha), z, y, cv=3).mean() for alpha in alphas]
    assert search.cv_results_["mean_test_score"].tolist() == pytest.approx(means)
    assert means[0] != means[1]
    assert search.best_params_ == {"bes__alpha": alphas[int(np.argmax(means))]}
    assert search.predict(z).shape == (120,)


def test_clones_and_pickles_are_what_they_were(blobs):
    z, y, _ = blobs
    fitted = shaper(alpha=0.25).fit(z, y)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not hasattr(twin, "layers_")
    assert np.array_equal(twin.fit_transform(z, y), fitted.transform(z))
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).transform(z), fitted.transform(z))


def test_data_frames_come_out_with_their_names(blobs):
    z, y, _ = blobs
    frame = pd.DataFrame(z, columns=NAMES, index=range(500, 620))
    plain = shaper().fit_transform(z, y)
    fitted = shaper().set_output(transform="pandas").fit(frame, pd.Series(y, index=frame.index))
    for out in (fitted.transform(frame), clone(fitted).fit_transform(frame, y)):
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == NAMES
        assert list(out.index) == list(frame.index)
        assert np.array_equal(out.to_numpy(), plain)
    assert fitted.get_feature_names_out().tolist() == NAMES
    assert isinstance(shaper().fit_transform(frame, y), np.ndarray), "only where it is asked for"
    with pytest.raises(InputError, match="same order"):
        fitted.transform(frame[NAMES[::-1]])
    whole = pipeline().set_output(transform="pandas").fit(frame, y)
    assert list(whole[:-1].transform(frame).columns) == NAMES
    assert whole[:-1].get_feature_names_out().tolist() == NAMES


def test_names_of_an_earlier_fit_are_forgotten(blobs):
    z, y, _ = blobs
    fitted = shaper().fit(pd.DataFrame(z, columns=NAMES), y)
    assert fitted.feature_names_in_.tolist() == NAMES
    for again in (torch.from_numpy(z[:, :4]), z[:, :4]):
        fitted.fit(pd.DataFrame(z, columns=NAMES), y).fit(again, y)
        assert not hasattr(fitted, "feature_names_in_")
        assert fitted.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]


def test_beside_other_transformers(blobs):
    z, y, _ = blobs
    both = FeatureUnion([("bes", shaper()), ("scale", StandardScaler())]).fit(z, y)
    assert np.array_equal(both.transform(z)[:, :6], shaper().fit(z, y).transform(z))
    assert both.get_feature_names_out().tolist()[:2] == ["bes__x0", "bes__x1"]
    frame = pd.DataFrame(z, columns=NAMES)
    some = ColumnTransformer([("bes", shaper(), NAMES[:4])], remainder="passthrough").set_output(transform="pandas")
    out = some.fit(frame, y).transform(frame)
    assert list(out.columns) == ["bes__a", "bes__b", "bes__c", "bes__d", "remainder__e", "remainder__f"]
    assert np.array_equal(out.to_numpy()[:, :4], shaper().fit_transform(z[:, :4], y))


def test_the_graph_and_callbacks_go_through_a_pipeline(blobs):
    z, y, edges = blobs
    steps = []

    def note(step, _model, _row):
        steps.append(step)

    by_name = pipeline(neighborhood="graph").fit(z, y, bes__edge_index=edges, bes__callbacks=[note])
    scaled = StandardScaler().fit_transform(z)
    reference = shaper(neighborhood="graph").fit(scaled, y, edge_index=edges)
    assert np.array_equal(by_name[:-1].transform(z), reference.transform(scaled))
    assert len(steps) == len(reference.history_)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = shaper(scope="neighbors").set_fit_request(edge_index=True, callbacks=True)
        routed.set_transform_request(edge_index=True)
        whole = Pipeline([("bes", routed), ("clf", LogisticRegression())])
        whole.fit(z, y, edge_index=edges, callbacks=[note])
        shaped = shaper(scope="neighbors").fit_transform(z, y, edge_index=edges)
        expected = LogisticRegression().fit(shaped, y).predict(shaped)
        assert np.array_equal(whole.predict(z, edge_index=edges), expected)
