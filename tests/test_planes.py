import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bes.planes import plane

Blobs = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture
def blobs() -> Blobs:
    """Embeddings, classes and training rows."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return rng.normal(size=(3, 5))[y] * 3 + rng.normal(size=(60, 5)), y, np.arange(40)


def test_one_map_serves_all_stages(blobs: Blobs) -> None:
    z, y, train = blobs
    move = np.array([0.5, 0, 0, -1.0, 0])
    first, second, third = plane([z, z, z + move], y, train)
    assert first.shape == (60, 2)
    assert np.array_equal(first, second), "what did not move does not move in the picture"
    np.testing.assert_allclose(third - first, np.broadcast_to((third - first)[0], (60, 2)), atol=1e-9)
    assert np.abs(third - first).max() > 0.01


def test_it_is_the_plane_of_the_discriminants_of_the_training_rows(blobs: Blobs) -> None:
    z, y, train = blobs
    fitted = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(z[train], y[train])
    np.testing.assert_allclose(plane([z], y, train)[0], fitted.transform(z), atol=1e-9)
    other = np.where(np.arange(60) < 40, y, -1)
    assert np.array_equal(plane([z], y, train)[0], plane([z], other, train)[0])


@pytest.mark.parametrize(
    "case",
    ["two classes", "one class", "one column", "one row a class", "one row", "no row", "all equal", "no spread within"],
)
def test_there_is_a_plane_where_discriminants_fail(blobs: Blobs, case: str) -> None:
    z, y, train = blobs
    z = {"one column": z[:, :1], "all equal": np.zeros_like(z), "no spread within": z[y]}.get(case, z)
    y = {"two classes": y % 2, "one class": y * 0}.get(case, y)
    train = {"one row a class": train[:3], "one row": train[:1], "no row": train[:0]}.get(case, train)
    flat = plane([z, z + 1], y, train)
    for side in flat:
        assert side.shape == (60, 2)
        assert np.isfinite(side).all()
    if case == "two classes":
        assert np.array_equal(flat[0][:, 1], flat[1][:, 1]), "the second axis says nothing, so nothing moves in it"
        assert np.ptp(flat[0][:, 1]) == pytest.approx(np.ptp(flat[0][:, 0]) / 2)
