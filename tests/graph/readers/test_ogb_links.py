from __future__ import annotations

import os
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bes.errors import InputError
from bes.graph.readers.ogb_links import read_link_split

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
TRAIN = {"edge": np.array([[1, 0], [1, 2], [0, 1]]), "weight": np.ones(3, dtype=np.float32), "year": np.full(3, 2001)}
VALID = {"edge": np.array([[0, 1], [3, 0]]), "year": np.full(2, 2018), "edge_neg": np.array([[2, 3]])}
TEST = {"edge": np.array([[2, 0]], dtype=np.int32), "edge_neg": np.array([[0, 3], [3, 1]])}
EXPECTED = {
    "val_edges": [[0, 1], [3, 0]],
    "val_negatives": [[2, 3]],
    "test_edges": [[2, 0]],
    "test_negatives": [[0, 3], [3, 1]],
}


class Attack:
    def __init__(self, call: Any, *arguments: Any) -> None:
        self.parts = (call, arguments)

    def __reduce__(self) -> Any:
        return self.parts


def write(folder: Path, legacy: bool = False, split: str = "time", **parts: Any) -> Path:
    """The files of a split; returns the folder with them."""
    target = folder / "split" / split
    target.mkdir(parents=True, exist_ok=True)
    for part, content in ({"train": TRAIN, "valid": VALID, "test": TEST} | parts).items():
        if content is not None:
            torch.save(content, target / f"{part}.pt", _use_new_zipfile_serialization=not legacy)
    return target


def as_old_numpy(path: Path) -> None:
    """Rewrite a legacy file as numpy before 2.0 wrote it; in text opcodes the name has no length."""
    raw = path.read_bytes()
    assert b"cnumpy._core.multiarray\n" in raw
    path.write_bytes(raw.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"))


def lists(pairs: dict[str, torch.Tensor]) -> dict[str, list[list[int]]]:
    return {key: pair.T.tolist() for key, pair in pairs.items()}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("tensors", [False, True])
def test_both_formats_with_arrays_or_tensors(tmp_path, legacy, tensors):
    parts = {"train": TRAIN, "valid": VALID, "test": TEST}
    if tensors:
        parts = {part: {key: torch.from_numpy(a) for key, a in arrays.items()} for part, arrays in parts.items()}
    write(tmp_path, legacy, "random", **parts)
    pairs = read_link_split(tmp_path, EDGES, 4)
    assert lists(pairs) == EXPECTED
    assert {pair.dtype for pair in pairs.values()} == {torch.int64}


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="this numpy writes the old name itself")
def test_arrays_under_numpys_old_name(tmp_path):
    for path in write(tmp_path, legacy=True).iterdir():
        as_old_numpy(path)
    assert lists(read_link_split(tmp_path, EDGES, 4)) == EXPECTED


def test_any_order_of_bytes_and_axes(tmp_path):
    edge = np.asfortranarray(VALID["edge"].astype(">i4"))
    write(tmp_path, valid={"edge": edge, "edge_neg": np.zeros((0, 2), dtype=np.uint8), "flag": np.array([True])})
    assert lists(read_link_split(tmp_path, EDGES, 4)) == EXPECTED | {"val_negatives": []}


@pytest.mark.parametrize("legacy", [False, True])
def test_numpys_own_unpickling_is_not_run(tmp_path, legacy):
    """A flag in a pickled dtype would have numpy take numbers for pointers; here it is not looked at."""

    class Flagged(np.ndarray):
        def __reduce__(self) -> Any:
            rebuild, arguments, (version, shape, _, fortran, data) = np.asarray(self).__reduce__()
            dtype = Attack(np.dtype, "i8", False, True)
            dtype.parts += ((3, "<", None, None, None, -1, -1, 63),)
            return rebuild, arguments, (version, shape, dtype, fortran, data)

    write(tmp_path, legacy, valid=VALID | {"edge": VALID["edge"].view(Flagged)})
    assert lists(read_link_split(tmp_path, EDGES, 4)) == EXPECTED


def test_what_the_process_allows_stays_as_it_was(tmp_path):
    write(tmp_path)
    before = torch.serialization.get_safe_globals()
    try:
        torch.serialization.add_safe_globals([np.ndarray])
        read_link_split(tmp_path, EDGES, 4)
        assert set(torch.serialization.get_safe_globals()) == {*before, np.ndarray}
    finally:
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(before)


def test_without_a_split_there_are_no_pairs(tmp_path, refuses):
    (tmp_path / "split" / "time").mkdir(parents=True)
    (tmp_path / "split" / "time" / "other.pt").write_bytes(b"not read")
    assert read_link_split(tmp_path, EDGES, 4) == {}
    write(tmp_path, split="a")
    write(tmp_path, split="b")
    with refuses("split", "a and b", "keep one"):
        read_link_split(tmp_path, EDGES, 4)


@pytest.mark.parametrize(
    "attack",
    [
        Attack(os.system, "touch owned"),
        Attack(eval, "open('owned', 'w')"),
        Attack(np.fromfile, "owned"),
        {"edge": Attack(os.mkdir, "owned")},
    ],
)
@pytest.mark.parametrize("legacy", [False, True])
def test_calls_are_refused_and_not_made(tmp_path, monkeypatch, attack, legacy, refuses):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, legacy, valid=attack)
    with refuses("valid.pt", "asks for", "refused"):
        read_link_split(tmp_path, EDGES, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["split"]


@pytest.mark.parametrize("legacy", [False, True])
def test_arrays_of_objects_are_refused(tmp_path, legacy, refuses):
    write(tmp_path, legacy, valid=VALID | {"edge": np.array([[0, 1]], dtype=object)})
    with refuses("valid.pt", "plain arrays"):
        read_link_split(tmp_path, EDGES, 4)


def test_plain_pickles_and_zip_archives_are_refused(tmp_path, refuses):
    path = write(tmp_path) / "test.pt"
    path.write_bytes(pickle.dumps(TEST, protocol=2))
    with refuses("test.pt", "not torch's file"):
        read_link_split(tmp_path, EDGES, 4)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("edge.csv", "0,1")
    with refuses("test.pt", "not torch's file"):
        read_link_split(tmp_path, EDGES, 4)


@pytest.mark.parametrize(
    ("part", "content", "words"),
    [
        ("train", None, "does not exist"),
        ("test", None, "does not exist"),
        ("train", {"edge": TRAIN["edge"][:1]}, "other links than raw/edge.csv.gz"),
        ("train", {"edge": np.array([[0, 1], [1, 2], [2, 3]])}, "other links than raw/edge.csv.gz"),
        ("train", [TRAIN["edge"]], "not a dict"),
        ("valid", {"edge": VALID["edge"]}, "no array 'edge_neg'"),
        ("valid", VALID | {"edge": [[0, 1]]}, "no array 'edge'"),
        ("valid", VALID | {"edge": VALID["edge"].T[:, :1]}, "shape (n, 2)"),
        ("valid", VALID | {"edge_neg": np.arange(4)}, "shape (n, 2)"),
        ("test", TEST | {"edge": TEST["edge"].astype(float)}, "integers"),
        ("test", TEST | {"edge": torch.ones(1, 2)}, "integers"),
        ("test", TEST | {"edge": torch.ones(1, 2, dtype=torch.int64).to_sparse()}, "expected"),
        ("test", TEST | {"edge_neg": np.array([[0, 4]])}, "outside 0..3"),
        ("test", TEST | {"edge_neg": np.array([[0, -1]])}, "outside 0..3"),
    ],
)
def test_other_contents_are_refused(tmp_path, part, content, words, refuses):
    write(tmp_path, **{part: content})
    with refuses(f"{part}.pt", words):
        read_link_split(tmp_path, EDGES, 4)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("keep", [0, 3, 40, -20])
def test_truncated_files_are_refused(tmp_path, legacy, keep, refuses):
    path = write(tmp_path, legacy) / "valid.pt"
    path.write_bytes(path.read_bytes()[:keep])
    with refuses("valid.pt", "damaged"):
        read_link_split(tmp_path, EDGES, 4)


@given(at=st.integers(0, 10**6), flip=st.integers(1, 255), legacy=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_scrambled_files_never_fail_otherwise(tmp_path, at, flip, legacy):
    path = write(tmp_path, legacy) / "valid.pt"
    raw = bytearray(path.read_bytes())
    raw[at % len(raw)] ^= flip
    path.write_bytes(raw)
    with suppress(InputError):  # and nothing else; a byte that no check covers may pass
        read_link_split(tmp_path, EDGES, 4)
