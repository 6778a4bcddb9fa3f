import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bes.report.figures import shared_map, stage_maps


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings, classes and training nodes."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return rng.normal(size=(3, 5))[y] * 3 + rng.normal(size=(60, 5)), y, np.arange(40)


def test_one_linear_map_serves_both_sides(blobs: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    z, y, train = blobs
    left, right = shared_map(z, z, y, train)
    assert left.shape == (60, 2)
    assert np.array_equal(left, right), "what did not move does not move in the picture"
    move = np.array([0.5, 0, 0, -1.0, 0])
    _, right = shared_map(z, z + move, y, train)
    np.testing.assert_allclose(right - left, np.broadcast_to((right - left)[0], (60, 2)), atol=1e-9)


def test_the_plane_is_that_of_the_discriminants(blobs: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    z, y, train = blobs
    left, _ = shared_map(z, z, y, train)
    fitted = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(z[train], y[train])
    np.testing.assert_allclose(left, fitted.transform(z), atol=1e-9)


def test_labels_outside_train_do_not_turn_the_plane(blobs: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    z, y, train = blobs
    other = y.copy()
    other[40:] = (other[40:] + 1) % 3
    assert np.array_equal(shared_map(z, z, y, train)[0], shared_map(z, z, other, train)[0])


@pytest.mark.parametrize(
    "case", ["two classes", "one column", "one node a class", "one node in a class", "all equal", "no variance within"]
)
def test_there_is_a_picture_where_discriminants_fail(
    blobs: tuple[np.ndarray, np.ndarray, np.ndarray], case: str
) -> None:
    z, y, train = blobs
    if case == "two classes":
        y = y % 2
    elif case == "one column":
        z = z[:, :1]
    elif case == "one node a class":
        train = np.arange(3)
    elif case == "one node in a class":
        train = np.array([0, 3, 6, 9, 1, 2])
    elif case == "all equal":
        z = np.zeros_like(z)
    else:
        z = z[y]
    for side in shared_map(z, z, y, train):
        assert side.shape == (60, 2)
        assert np.isfinite(side).all()


def test_every_stage_lies_in_the_plane_of_the_first(blobs: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    z, y, train = blobs
    stages = stage_maps([z, z + 1, 2 * z], y, train)
    left, right = shared_map(z, 2 * z, y, train)
    assert len(stages) == 3
    assert np.array_equal(stages[0], left)
    assert np.array_equal(stages[2], right)
    np.testing.assert_allclose(stages[2], 2 * stages[0])


def test_two_classes_spread_over_an_axis_that_stays(blobs: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    z, y, train = blobs
    first, last = stage_maps([z, z + 1], y % 2, train)
    assert np.array_equal(first[:, 1], last[:, 1])
    assert len(np.unique(first[:, 1])) == len(z)
    assert np.ptp(first[:, 1]) <= np.ptp(first[:, 0])
