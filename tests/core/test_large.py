"""The shaper on embeddings in a file: what it does to an array, read and written in blocks."""

import numpy as np
import pytest

from bes.core import rows
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError

OPTIONS = {"n_iter": 6, "tau": 10.0, "delta": 20.0, "batch_size": 32}


@pytest.fixture
def blobs(tmp_path, monkeypatch):
    """An array, a map of it that counts as large, and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    z = rng.normal(size=(3, 6))[y] + rng.normal(size=(300, 6))
    np.save(tmp_path / "z.npy", z)
    monkeypatch.setattr(rows, "WHOLE", 300)
    monkeypatch.setattr(rows, "STEP", 240)
    return z, np.load(tmp_path / "z.npy", mmap_mode="r"), np.where(np.arange(300) % 4 == 0, -1, y)


@pytest.mark.parametrize(
    "options", [{}, {"n_views": 2, "covariance": "per_class"}, {"displacement_sample": 50}, {"objective": "pairwise"}]
)
def test_a_map_is_shaped_as_the_array_is(blobs, options, tmp_path, monkeypatch):
    z, mapped, y = blobs
    options = OPTIONS | options
    monkeypatch.setattr(rows, "WHOLE", 1 << 22)
    whole = BoundaryShaper(**options).fit(z, y)
    expected = whole.transform(z)
    monkeypatch.setattr(rows, "WHOLE", 300)
    fitted = BoundaryShaper(**options).fit(mapped, y)
    assert not np.allclose(expected, z, atol=1e-3)
    for layer, nodes in enumerate(whole.boundary_):
        assert np.array_equal(fitted.boundary_[layer], nodes)
    assert fitted.region_sizes_ == whole.region_sizes_
    assert [row["accepted"] for row in fitted.history_] == [row["accepted"] for row in whole.history_]
    for found in (fitted.transform(mapped), fitted.transform(z), fitted.transform(mapped, out=tmp_path / "out.npy")):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert isinstance(found, np.memmap)
    assert found.filename == tmp_path / "out.npy"


def test_a_map_is_never_read_whole(blobs, monkeypatch, tmp_path):
    _, mapped, y = blobs
    sizes = []
    read = rows.Mapped._read
    monkeypatch.setattr(rows.Mapped, "_read", lambda self, into, row: sizes.append(len(into)) or read(self, into, row))
    monkeypatch.setattr(rows, "GAP", 1)  # 300 rows have no large gaps
    fitted = BoundaryShaper(**OPTIONS, displacement_sample=20, n_views=2)
    fitted.fit(mapped, y).transform(mapped, out=tmp_path / "out.npy")
    assert len(fitted.layers_) == 2
    assert max(sizes) <= 300 * 8


def test_what_mixes_nodes_reads_a_map_into_memory(blobs):
    z, mapped, y = blobs
    edges = np.random.default_rng(1).integers(0, 300, (2, 600))
    for options in ({"scope": "neighbors"}, {"labels": "soft"}):
        one, other = BoundaryShaper(**OPTIONS | options), BoundaryShaper(**OPTIONS | options)
        found = one.fit(mapped, y, edge_index=edges).transform(mapped, edge_index=edges)
        np.testing.assert_allclose(found, other.fit(z, y, edge_index=edges).transform(z, edge_index=edges), atol=1e-9)


def test_a_file_is_written_whole_or_not_at_all(blobs, tmp_path, monkeypatch):
    _, mapped, y = blobs
    fitted = BoundaryShaper(**OPTIONS).fit(mapped, y)
    (tmp_path / "out.npy").write_text("keep me")
    before = sorted(path.name for path in tmp_path.iterdir())
    read = rows.Through.__getitem__

    def break_down(self, part):
        if isinstance(part, slice) and part.start > 100:
            raise KeyboardInterrupt
        return read(self, part)

    monkeypatch.setattr(rows.Through, "__getitem__", break_down)
    with pytest.raises(KeyboardInterrupt):
        fitted.transform(mapped, out=tmp_path / "out.npy")
    assert (tmp_path / "out.npy").read_text() == "keep me"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_maps_are_checked_like_arrays(blobs, tmp_path):
    z, mapped, y = blobs
    fitted = BoundaryShaper(**OPTIONS).fit(mapped, y)
    np.save(tmp_path / "narrow.npy", z[:, :4].copy())
    with pytest.raises(InputError, match="4 columns, but fit saw 6"):
        fitted.transform(np.load(tmp_path / "narrow.npy", mmap_mode="r"))
    z[5, 5] = np.nan
    np.save(tmp_path / "bad.npy", z)
    with pytest.raises(InputError, match="1 values that are NaN"):
        fitted.fit(np.load(tmp_path / "bad.npy", mmap_mode="r"), y)


def test_the_sample_is_drawn_anew_and_its_error_told(blobs):
    z, _, y = blobs
    fitted = BoundaryShaper(**OPTIONS | {"batch_size": 1000}, displacement_sample=50).fit(z, y)
    errors = [row["displacement_error"] for row in fitted.history_ if row["displacement"] > 0]
    assert len(set(errors)) == len(errors) > 3
    assert all(0 < error < 0.5 for error in errors)
    exact = BoundaryShaper(**OPTIONS).fit(z, y)
    assert {row["displacement_error"] for row in exact.history_} == {0.0}
    for bad in (1, 2.5, True, "all"):
        with pytest.raises(InputError, match="displacement_sample"):
            BoundaryShaper(displacement_sample=bad).fit(z, y)
