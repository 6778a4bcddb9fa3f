"""Maps by t-SNE: one map for all stages, the same each time, with rings and crosses where they belong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bes.bench.figures import maps
from bes.bench.figures.stages import Stages
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.runs import run as run_all
from bes.stored import StoredRun

FEW = 40


def drawn(ax: Any, gid: str) -> np.ndarray:
    """Positions of what was drawn under this name."""
    found = [one.get_offsets() for one in ax.collections if one.get_gid() == gid]
    return np.concatenate(found) if found else np.empty((0, 2))


@pytest.fixture(scope="module")
def blobs() -> np.ndarray:
    rng = np.random.default_rng(0)
    return 6 * np.eye(3)[np.arange(90) % 3] + rng.normal(size=(90, 3))


def test_the_same_seed_gives_the_same_positions(blobs: np.ndarray) -> None:
    first, second = (maps.shared_map(blobs, blobs + 0.1, seed=3, iterations=FEW) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_later_stage_does_not_change_the_map(blobs: np.ndarray) -> None:
    alone = maps.shared_map(blobs, iterations=FEW)[0]
    np.testing.assert_allclose(alone, maps.shared_map(blobs, blobs[::-1], iterations=FEW)[0], atol=1e-9)


def test_an_unchanged_stage_lands_where_it_was(blobs: np.ndarray) -> None:
    before, later = maps.shared_map(blobs, blobs, iterations=200)
    away = np.linalg.norm(later - before, axis=1)
    between = np.linalg.norm(before - before.mean(0), axis=1).mean()
    assert np.median(away) < 0.1 * between


def test_rows_that_change_class_move_to_the_other_class(blobs: np.ndarray) -> None:
    moved = blobs.copy()
    moved[::3] = blobs[1::3]
    before, later = maps.shared_map(blobs, moved, iterations=200)
    target, source = before[1::3].mean(0), before[::3].mean(0)
    assert (np.linalg.norm(later[::3] - target, axis=1) < np.linalg.norm(later[::3] - source, axis=1)).all()


def test_a_map_of_three_rows_is_refused() -> None:
    with pytest.raises(InputError, match="at least 4 rows"):
        maps.shared_map(np.zeros((3, 2)))


def test_the_process_has_a_panel_a_stage_with_its_boundary_ringed(stored: StoredRun) -> None:
    figure = maps.shaping_process([("Small", stored)], 0, iterations=FEW)
    stages = Stages.of(stored, 0)
    assert len(figure.axes) == len(stages.z) == 3
    for ax, at in zip(figure.axes, stages.at, strict=True):
        points, rings = drawn(ax, "points"), drawn(ax, "rings")
        assert len(points) == len(stages.y)
        assert len(rings) == at.sum() > 0
        assert {*map(tuple, rings)} <= {*map(tuple, points)}
        assert (ax.get_xlim(), ax.get_ylim()) == (figure.axes[0].get_xlim(), figure.axes[0].get_ylim())
        assert ax.get_xlabel() == f"{at.sum()} boundary nodes"
    assert [ax.get_title() for ax in figure.axes] == ["before shaping", "after layer 1", "after layer 2"]
    assert figure.axes[0].get_ylabel() == "Small"


def test_each_encoder_has_its_own_map_and_all_have_one(two_views: StoredRun) -> None:
    figure = maps.encoders(two_views, 0, iterations=FEW)
    assert [ax.get_xlabel() for ax in figure.axes] == ["(a) GCN", "(b) GATv2", "(c) GCN + GATv2"]
    before = two_views.rows(0)["before"]
    half = before.shape[1] // 2
    for ax, view in zip(figure.axes, (before[:, :half], before[:, half:], before), strict=True):
        expected = maps.shared_map(view, iterations=FEW)[0]
        np.testing.assert_allclose(np.sort(drawn(ax, "points"), axis=0), np.sort(expected, axis=0))


@pytest.mark.parametrize("arm", ["control", "bes"])
def test_the_hidden_layer_is_the_one_that_predicted(stored: StoredRun, arm: str) -> None:
    net = stored.model(0, "cpu").decoders[arm].net_
    logits = net.conv2(torch.from_numpy(maps.hidden(stored, 0, arm)), stored.graph.operators)
    np.testing.assert_allclose(logits.softmax(1), stored.predictions(0, arm)["prob"], atol=1e-5)


def test_crosses_are_the_test_nodes_that_are_wrong(stored: StoredRun) -> None:
    figure = maps.final_embeddings([("Small", stored)], 0, iterations=FEW)
    test, y = stored.split(0)["test"], stored.graph.y.numpy()
    assert [ax.get_title() for ax in figure.axes] == ["without shaping", "with shaping"]
    for ax, arm in zip(figure.axes, ("control", "bes"), strict=True):
        wrong = stored.predictions(0, arm)["prob"].argmax(1)[test] != y[test]
        assert len(drawn(ax, "crosses")) == wrong.sum()
        assert ax.get_xlabel() == f"{wrong.sum()} of {len(test)} test nodes wrong"


def test_a_run_that_was_not_shaped_has_one_panel(unshaped: StoredRun, stored: StoredRun) -> None:
    figure = maps.shaping_process([("Small", stored), ("Apart", unshaped)], 0, iterations=FEW)
    assert [ax.axison for ax in figure.axes] == [True] * 4 + [False] * 2
    assert len(drawn(figure.axes[3], "rings")) == 0


@pytest.mark.parametrize("mode", ["classes", "clusters", "pairs"])
def test_pairs_are_drawn_by_what_the_shaper_was_told(tmp_path: Path, small_graph: Graph, quick: Any, mode: str) -> None:
    links = {"boundary": mode, "n_clusters": 3, "shaping_pairs": 60}
    run = StoredRun(run_all(quick(task="link", links=links), small_graph, [0], tmp_path / "run").path)
    rows = run.rows(0)
    figure = maps.shaping_process([("Links", run)], 0, iterations=FEW)
    assert len(drawn(figure.axes[0], "points")) == len(rows["before"])
    assert len(drawn(figure.axes[0], "rings")) == rows["boundaries"][0].sum()
    with pytest.raises(InputError, match="predicts pairs"):
        maps.final_embeddings([("Links", run)], 0, iterations=FEW)
