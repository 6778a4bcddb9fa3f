"""What lies between the dashed lines is what Eq. 5 calls the region of that pair."""

import numpy as np
import pytest
import torch

from bes.bench.figures import slabs
from bes.bench.figures.stages import Stages, boundary_of, told
from bes.core.boundary import Slabs
from bes.errors import InputError
from bes.pipeline.results import make_shaper
from bes.stored import StoredRun


def edges_of(ax: object) -> list[float]:
    return sorted(float(line.get_xdata()[0]) for line in ax.get_lines() if line.get_gid() == "edge")  # type: ignore[attr-defined]


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_points_between_the_dashed_lines_are_those_in_the_slab(stored: StoredRun, pair: tuple[int, int]) -> None:
    rows, options = stored.rows(0), make_shaper(stored.config, 0)
    sums = boundary_of(stored, 0, rows["before"], rows).sums
    every = Slabs.between(sums.means, sums.covariance(options.covariance, options.shrinkage), sums.present)
    place = [(0, 1), (0, 2), (1, 2)].index(pair)
    alone = Slabs(every.normal[[place]], every.offset[[place]])
    plane = slabs.SlabPlane.of(stored, 0, pair)
    for z in (rows["before"], rows["after"]):
        expected = alone.contains(torch.from_numpy(z), options.delta).numpy()
        between = np.abs(plane.place(z)[:, 0]) <= plane.delta
        np.testing.assert_array_equal(between, expected)
        np.testing.assert_array_equal(plane.contains(z), expected)


def test_with_two_classes_the_slab_is_the_region(two_views: StoredRun) -> None:
    rows = two_views.rows(0)
    plane = slabs.SlabPlane.of(two_views, 0)
    region = boundary_of(two_views, 0, rows["before"], rows).region.numpy()
    assert plane.pair == (0, 1)
    assert region.sum() > 0
    np.testing.assert_array_equal(np.abs(plane.place(rows["before"])[:, 0]) <= plane.delta, region)


def test_the_second_axis_is_the_widest_at_a_right_angle(stored: StoredRun) -> None:
    plane = slabs.SlabPlane.of(stored, 0)
    normal = (plane.slab.normal[0] / plane.slab.normal[0].norm()).numpy()
    across = plane.across.numpy()
    assert across @ normal == pytest.approx(0, abs=1e-9)
    assert np.linalg.norm(across) == pytest.approx(1)
    rows = stored.rows(0)
    own = rows["before"][np.isin(told(stored, 0, rows), plane.pair)].astype(np.float64)
    other = np.random.default_rng(0).normal(size=(200, len(normal)))
    other -= np.outer(other @ normal, normal)
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    assert (own @ across).var() >= (own @ other.T).var(0).max()


def test_the_pair_has_the_most_boundary_nodes_in_its_slab(stored: StoredRun) -> None:
    stages = Stages.of(stored, 0)

    def count(pair: tuple[int, int]) -> int:
        inside = slabs.SlabPlane.of(stored, 0, pair).contains(stages.z[0])
        return int((stages.at[0] & inside & np.isin(stages.y, pair)).sum())

    pairs = [(0, 1), (0, 2), (1, 2)]
    assert count(slabs.SlabPlane.of(stored, 0).pair) == max(map(count, pairs)) > 0


def test_the_figure_has_the_lines_and_rings_of_both_runs(two_views: StoredRun, stored: StoredRun) -> None:
    figure = slabs.binary_vs_multiclass(two_views, stored, 0)
    for row, run in ((figure.axes[:2], two_views), (figure.axes[2:], stored)):
        stages, plane = Stages.of(run, 0), slabs.SlabPlane.of(run, 0)
        own = np.isin(stages.y, plane.pair)
        ringed = stages.at[0] & own & plane.contains(stages.z[0])
        for ax, z in zip(row, (stages.z[0], stages.z[-1]), strict=True):
            rings = next(one for one in ax.collections if one.get_gid() == "rings").get_offsets()
            np.testing.assert_allclose(rings, plane.place(z)[ringed])
            assert edges_of(ax) == [-plane.delta, plane.delta]
            assert f"({(plane.contains(z) & own).sum()} nodes in the slab)" in ax.get_xlabel()
        assert row[0].get_xlim() == row[1].get_xlim()
    binary = Stages.of(two_views, 0)
    rings = next(one for one in figure.axes[0].collections if one.get_gid() == "rings").get_offsets()
    assert len(rings) == binary.at[0].sum() > 0


def test_a_class_that_training_has_not_seen_has_no_slab(stored: StoredRun) -> None:
    with pytest.raises(InputError, match="no two such classes"):
        slabs.SlabPlane.of(stored, 0, (0, 9))
