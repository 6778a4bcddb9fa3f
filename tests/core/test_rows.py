"""Rows from memory, from files and through layers are the same rows."""

import numpy as np
import pytest
import torch

from bes.core import rows
from bes.core.attention import BoundaryAttention
from bes.errors import InputError

CPU = torch.device("cpu")


@pytest.fixture
def z():
    return np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)


def mapped(folder, z):
    np.save(folder / "z.npy", z)
    return np.load(folder / "z.npy", mmap_mode="r")


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int32, np.uint8])
def test_rows_of_a_file_are_those_of_the_array(tmp_path, z, kind):
    values = (np.abs(z) * 50).astype(kind)
    expected = torch.from_numpy(values.astype(np.float64 if kind is np.float64 else np.float32))
    found = rows.Mapped(mapped(tmp_path, values), CPU)
    assert (found.shape, found.dtype) == ((50, 6), expected.dtype)
    assert torch.equal(found[:], expected)
    assert torch.equal(found[7:9], expected[7:9])
    assert torch.equal(found[60:], expected[60:])
    for index in ([3], [], [9, 4, 5, 6, 5, 49, 0, 49], list(range(50))):
        picked = torch.tensor(index, dtype=torch.long)
        assert torch.equal(found[picked], expected[picked])


def test_a_part_of_a_map_is_read_where_it_lies(tmp_path, z):
    part = mapped(tmp_path, z)[10:40][5:]
    assert torch.equal(rows.Mapped(part, CPU)[:], torch.from_numpy(z[15:40]))


def test_a_file_that_became_shorter_is_refused(tmp_path, z):
    found = rows.Mapped(mapped(tmp_path, z), CPU)
    with (tmp_path / "z.npy").open("r+b") as file:
        file.truncate(400)
    with pytest.raises(InputError, match="shorter"):
        found[:]


def test_blocks_cover_every_row_once(monkeypatch):
    assert list(rows.blocks(50, 6)) == [slice(0, 50)]
    assert list(rows.blocks(0, 6)) == []
    monkeypatch.setattr(rows, "WHOLE", 60)
    monkeypatch.setattr(rows, "STEP", 42)
    assert [i for part in rows.blocks(50, 6) for i in range(50)[part]] == list(range(50))
    assert {part.stop - part.start for part in rows.blocks(50, 6)} == {7, 1}


@pytest.mark.parametrize(("scope", "views"), [("self", 1), ("views", 3)])
def test_through_a_layer_and_to_a_file_in_blocks(tmp_path, z, monkeypatch, scope, views):
    draw = torch.Generator().manual_seed(0)
    layer = BoundaryAttention(6, scope=scope, n_views=views, init="random", generator=draw).requires_grad_(False)
    expected = layer(torch.from_numpy(z))
    monkeypatch.setattr(rows, "WHOLE", 60)
    monkeypatch.setattr(rows, "STEP", 42)
    after = rows.Through(rows.Mapped(mapped(tmp_path, z), CPU), layer)
    torch.testing.assert_close(rows.in_memory(after), expected)
    picked = torch.tensor([40, 2, 3])
    torch.testing.assert_close(after[picked], expected[picked])
    torch.testing.assert_close(rows.Picked(after, picked)[1:], expected[[2, 3]])
    rows.write_npy(tmp_path / "out.npy", after)
    assert np.array_equal(np.load(tmp_path / "out.npy"), rows.in_memory(after).numpy())


def test_only_maps_that_can_be_read_by_rows_count_as_large(tmp_path, z, monkeypatch):
    found = mapped(tmp_path, z)
    assert not rows.is_large_map(found), "it is small"
    monkeypatch.setattr(rows, "WHOLE", 60)
    assert rows.is_large_map(found)
    for other in (z, torch.from_numpy(z), found.T, found[:, :3], found[0], found.astype(">f4")):
        assert not rows.is_large_map(other)


def test_values_that_are_no_numbers_are_counted_in_blocks(z, monkeypatch):
    monkeypatch.setattr(rows, "WHOLE", 60)
    monkeypatch.setattr(rows, "STEP", 42)
    rows.check_finite(torch.from_numpy(z))
    z[3, 1], z[49, 5] = np.nan, np.inf
    with pytest.raises(InputError, match="2 values that are NaN or infinite"):
        rows.check_finite(torch.from_numpy(z))
