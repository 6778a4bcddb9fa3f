from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bes.errors import InputError
from bes.graph.arrays import load_arrays, save_arrays, to_tensor


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.npz"
    save_arrays(path, {"a": np.arange(5000), "b": np.eye(3)})
    return path


def test_round_trip_is_whole_and_the_same_bytes_each_time(file):
    first = file.read_bytes()
    arrays = load_arrays(file)
    assert arrays["a"].tolist() == list(range(5000))
    save_arrays(file, arrays)
    assert file.read_bytes() == first
    assert [path.name for path in file.parent.iterdir()] == ["x.npz"]


def test_a_failed_write_leaves_the_old_file(file):
    before = file.read_bytes()
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        save_arrays(file, {"a": np.array([object()])})
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["x.npz"]


def test_a_place_that_cannot_be_written_is_refused(file, refuses):
    with refuses("cannot be written"):
        save_arrays(file / "below" / "y.npz", {})


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_cut_or_scrambled_files_never_fail_otherwise(file, data):
    raw = bytearray(file.read_bytes())
    cut = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        raw = raw[:cut]
    else:
        raw[cut] ^= data.draw(st.integers(1, 255))
    broken = file.with_name("broken.npz")
    broken.write_bytes(raw)
    with suppress(InputError):  # and nothing else; a byte that no check covers may pass
        load_arrays(broken)


@pytest.mark.parametrize("keep", [0, 3, 30, 1000, -30])
def test_truncated_files_are_refused(file, keep, refuses):
    file.write_bytes(file.read_bytes()[:keep])
    with refuses("x.npz", "damaged or not an .npz", "get it again"):
        load_arrays(file)


def test_pickled_objects_are_refused(tmp_path, refuses):
    np.savez(tmp_path / "x.npz", a=np.array([{}], dtype=object))
    with refuses("x.npz", "holds pickled objects, which are refused: save plain arrays"):
        load_arrays(tmp_path / "x.npz")


def test_other_files_are_refused(tmp_path, refuses):
    with refuses("no.npz", "does not exist"):
        load_arrays(tmp_path / "no.npz")
    np.save(tmp_path / "one.npy", np.eye(2))
    with refuses("one.npy", "not an .npz"):
        load_arrays(tmp_path / "one.npy")
    (tmp_path / "text.npz").write_text("a,b,c")
    with refuses("text.npz", "not an .npz"):
        load_arrays(tmp_path / "text.npz")


def test_to_tensor(refuses):
    assert to_tensor(np.array([1], dtype=">u2"), "labels").dtype == torch.int64
    assert to_tensor(np.array([1.5], dtype=">f8"), "features").tolist() == [1.5]
    assert to_tensor(np.array([True]), "mask").dtype == torch.bool
    with refuses("The labels", "numbers are needed"):
        to_tensor(np.array(["a"]), "labels")
