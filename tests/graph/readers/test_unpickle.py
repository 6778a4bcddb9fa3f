from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bes.graph.readers.unpickle import unpickle


class Attack:
    def __init__(self, call, *arguments):
        self.parts = (call, arguments)

    def __reduce__(self):
        return self.parts


@pytest.mark.parametrize(
    "attack",
    [
        Attack(os.system, "touch owned"),
        Attack(eval, "open('owned', 'w')"),
        Attack(getattr, "", "join"),
        Attack(np.fromfile, "owned"),
        [1, {"deep": Attack(os.mkdir, "owned")}],
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_calls_are_refused_and_not_made(tmp_path, monkeypatch, attack, protocol, refuses):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(attack, protocol=protocol))
    with refuses("x.pkl", "refused", "asks for"):
        unpickle(tmp_path / "x.pkl", dict)
    assert [path.name for path in tmp_path.iterdir()] == ["x.pkl"]


def test_arrays_matrices_and_dicts_pass(tmp_path):
    path = tmp_path / "x.pkl"
    matrix = sp.csr_matrix(np.eye(3, dtype=np.float32))
    for value, kind in ((np.arange(3), np.ndarray), (matrix, sp.csr_matrix), ({1: [2]}, dict)):
        path.write_bytes(pickle.dumps(value, protocol=3))
        back = unpickle(path, kind)
        assert isinstance(back, kind)
    path.write_bytes(pickle.dumps(matrix, protocol=3))
    assert (unpickle(path, sp.csr_matrix) != matrix).nnz == 0


@pytest.mark.parametrize("raw", [b"", b"garbage", pickle.dumps({1: [2]}, protocol=3)[:-4]])
def test_damaged_pickles_are_refused(tmp_path, raw, refuses):
    (tmp_path / "x.pkl").write_bytes(raw)
    with refuses("x.pkl", "refused", "published file"):
        unpickle(tmp_path / "x.pkl", dict)
