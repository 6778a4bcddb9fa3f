from __future__ import annotations

import pickle
import pickletools
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from bes.graph.readers import read_planetoid

# Three training nodes, five known ones (0..4), test nodes 8, 5, 6 in this order; nothing describes node 7.
ALLX = np.diag([1, 2, 3, 4, 5]).astype(np.float32)
TX = np.array([[0, 8, 0, 0, 0], [0, 0, 0, 0, 5], [6, 0, 0, 0, 0]], dtype=np.float32)
ALLY = np.eye(3, dtype=np.int32)[[0, 1, 2, 0, 1]]
TY = np.eye(3, dtype=np.int32)[[2, 1, 2]]


def python2_pickle(value) -> bytes:
    """`value` as Python 2, old numpy and old scipy wrote it: byte strings as str, old module names."""
    raw = pickle.dumps(value, protocol=3)
    ops = list(pickletools.genops(raw))
    ends = [op[2] for op in ops[1:]] + [len(raw)]
    out = b""
    for (code, argument, start), end in zip(ops, ends, strict=True):
        piece = raw[start:end]
        if code.name in ("BINBYTES", "SHORT_BINBYTES"):
            piece = {"B": b"T", "C": b"U"}[code.code] + piece[1:]
        elif code.name == "GLOBAL":
            module, name = argument.split()
            old = {"numpy._core.multiarray": "numpy.core.multiarray", "scipy.sparse._csr": "scipy.sparse.csr"}
            piece = f"c{(old | {'builtins': '__builtin__'}).get(module, module)}\n{name}\n".encode()
        out += b"\x80\x02" if code.name == "PROTO" else piece
    return out


def write(folder, **change):
    graph = defaultdict(list, {0: [1, 1, 0], 1: [0, 2], 8: [3], 3: [8], 7: []})
    parts = {
        "x": sp.csr_matrix(ALLX[:3]),
        "tx": sp.csr_matrix(TX),
        "allx": sp.csr_matrix(ALLX),
        "y": ALLY[:3],
        "ty": TY,
        "ally": ALLY,
        "graph": graph,
    }
    for key, value in (parts | change).items():
        if key != "index":
            (folder / f"ind.toy.{key}").write_bytes(python2_pickle(value))
    (folder / "ind.toy.test.index").write_text(change.get("index", "8\n5\n6\n"))


def test_published_files(tmp_path):
    write(tmp_path)
    graph = read_planetoid(tmp_path, "toy")
    x = torch.zeros(9, 5)
    x[:5] = torch.from_numpy(ALLX)
    x[[8, 5, 6]] = torch.from_numpy(TX)
    assert torch.equal(graph.x.to_dense(), x)
    assert graph.y.tolist() == [0, 1, 2, 0, 1, 1, 2, 0, 2]
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [3, 8], [8, 3]]
    assert graph.masks["train_mask"].nonzero().flatten().tolist() == [0, 1, 2]
    assert graph.masks["val_mask"].nonzero().flatten().tolist() == [3, 4]
    assert graph.masks["test_mask"].nonzero().flatten().tolist() == [5, 6, 8]


def test_equal_to_pyg_reading_the_same_files(tmp_path):
    from torch_geometric.io import read_planetoid_data

    rng = np.random.default_rng(0)
    allx = sp.csr_matrix(rng.integers(0, 2, (505, 5)).astype(np.float32))  # PyG insists on 500 validation nodes
    write(tmp_path, allx=allx, ally=np.eye(3, dtype=np.int32)[rng.integers(0, 3, 505)], index="508\n505\n506\n")
    for part in (*"xy", "tx", "allx", "ty", "ally", "graph", "test.index"):
        (tmp_path / f"ind.citeseer.{part}").write_bytes((tmp_path / f"ind.toy.{part}").read_bytes())
    ours, theirs = read_planetoid(tmp_path, "citeseer"), read_planetoid_data(str(tmp_path), "citeseer")
    assert torch.equal(ours.x.to_dense(), theirs.x)
    assert torch.equal(ours.y, theirs.y)
    for key in ("train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours.masks[key], theirs[key])


def test_geom_gcn_splits_beside_the_files(tmp_path):
    write(tmp_path)
    for k in range(2):
        masks = {f"{part}_mask": np.arange(9) % 3 == i for i, part in enumerate(("train", "val", "test"))}
        np.savez(tmp_path / f"toy_split_0.6_0.2_{k}.npz", **masks)
    graph = read_planetoid(tmp_path, "toy")
    assert graph.masks["geom_train_mask"].shape == (9, 2)
    assert graph.masks["train_mask"].shape == (9,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"index": "8\n5\n"}, "do not fit"),
        ({"index": "8\n5\n1\n"}, "do not fit"),
        ({"index": "8\n5\n5\n"}, "do not fit"),
        ({"index": "8\nfive\n6\n"}, "not a list of nodes"),
        ({"ty": TY[:2]}, "differ"),
        ({"tx": sp.csr_matrix(TX[:, :4])}, "differ"),
        ({"allx": ALLX}, "not a csr_matrix"),
        ({"graph": [[1], [0]]}, "not a dict"),
        ({"graph": {0: ["one"]}}, "lists of nodes"),
        ({"graph": {0: [99]}}, "0..8"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, change, words, refuses):
    write(tmp_path, **change)
    with refuses("toy", words):
        read_planetoid(tmp_path, "toy")


def test_missing_file_is_refused(tmp_path, refuses):
    with refuses("ind.toy.allx", "does not exist"):
        read_planetoid(tmp_path, "toy")
