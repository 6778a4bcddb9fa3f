from __future__ import annotations

import json

import pytest

from bes.graph.readers import read_wikics

RAW = {
    "features": [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]],
    "labels": [0, 2, 1],
    "links": [[1, 1, 0], [0], []],
    "train_masks": [[True, False, False], [False, True, False]],
    "val_masks": [[False, True, False], [True, False, False]],
    "stopping_masks": [[False, False, False], [False, False, False]],
    "test_mask": [False, False, True],
}


def test_published_file(tmp_path):
    (tmp_path / "data.json").write_text(json.dumps(RAW))
    graph = read_wikics(tmp_path / "data.json")
    assert (graph.name, graph.n_nodes, graph.n_edges, graph.n_classes) == ("wikics", 3, 1, 3)
    assert graph.x.tolist() == RAW["features"]
    assert graph.masks["train_mask"].tolist() == [[True, False], [False, True], [False, False]]
    assert graph.masks["stopping_mask"].shape == (3, 2)
    assert graph.masks["test_mask"].tolist() == RAW["test_mask"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": [[1.0], [1.0, 2.0], []]}, "unequal length"),
        ({"features": [[1.0], [float("nan")], [0.0]]}, "NaN"),
        ({"labels": [0, 1]}, "one class a node"),
        ({"labels": [0.5, 1, 2]}, "integers"),
        ({"links": [[7], [], []]}, "0..2"),
        ({"links": [[0.5], [], []]}, "must be integers"),
        ({"links": 3}, "wrong type"),
        ({"train_masks": [[True]]}, "train_mask"),
    ],
)
def test_bad_values_are_refused(tmp_path, change, words, refuses):
    (tmp_path / "data.json").write_text(json.dumps(RAW | change))
    with refuses(words):
        read_wikics(tmp_path / "data.json")


@pytest.mark.parametrize("text", ["", "[1, 2]", "{}", json.dumps(RAW)[:-10]])
def test_other_files_are_refused(tmp_path, text, refuses):
    (tmp_path / "data.json").write_text(text)
    with refuses("data.json", "published data.json"):
        read_wikics(tmp_path / "data.json")
    with refuses("none.json", "missing"):
        read_wikics(tmp_path / "none.json")
