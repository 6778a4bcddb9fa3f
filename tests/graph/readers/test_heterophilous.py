from __future__ import annotations

import numpy as np
import pytest

from bes.graph.readers import read_heterophilous

PARTS = {
    "node_features": np.array([[0.5], [1.0], [1.5]], dtype=np.float32),
    "node_labels": np.array([0, 1, 1]),
    "edges": np.array([[0, 1], [1, 2], [2, 0], [0, 1]]),
    "train_masks": np.eye(2, 3, dtype=bool),
    "val_masks": np.eye(2, 3, k=1, dtype=bool),
    "test_masks": np.zeros((2, 3), dtype=bool),
}


def test_published_file(tmp_path):
    np.savez(tmp_path / "roman_empire.npz", **PARTS)
    graph = read_heterophilous(tmp_path / "roman_empire.npz")
    assert (graph.name, graph.n_nodes, graph.n_edges) == ("roman_empire", 3, 3)
    assert graph.x.flatten().tolist() == [0.5, 1.0, 1.5]
    assert graph.y.tolist() == [0, 1, 1]
    assert graph.masks["train_mask"].tolist() == [[True, False], [False, True], [False, False]]
    assert graph.masks["val_mask"].shape == graph.masks["test_mask"].shape == (3, 2)


@pytest.mark.parametrize("key", ["node_features", "node_labels", "edges"])
def test_missing_arrays_are_refused(tmp_path, key, refuses):
    np.savez(tmp_path / "x.npz", **{name: array for name, array in PARTS.items() if name != key})
    with refuses("x.npz", f"'{key}'"):
        read_heterophilous(tmp_path / "x.npz")
