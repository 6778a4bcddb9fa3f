"""Embeddings out of fold: whose rows they are, that no label of theirs is in them, and that they lie where they did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import make_split
from bes.pipeline import check, crossfit, run_seed
from bes.pipeline.crossfit import folds, out_of_fold, rotation
from bes.pipeline.start import begin
from bes.pipeline.trained import Trained

Quick = Callable[..., RunConfig]


def test_folds_deal_each_class_evenly_and_hold_each_node_once(small_graph: Graph) -> None:
    split = make_split(small_graph, "random", 0)
    found = folds(split, 4, torch.Generator().manual_seed(0))
    assert sorted(torch.cat(found).tolist()) == split.train.tolist()
    sizes = torch.stack([torch.bincount(small_graph.y[fold], minlength=3) for fold in found])
    assert int((sizes.max(0).values - sizes.min(0).values).max()) <= 1


def test_a_class_with_one_training_node_is_in_no_fold(small_graph: Graph) -> None:
    split = make_split(small_graph, "random", 0)
    first = [int(split.train[small_graph.y[split.train] == c][0]) for c in range(3)]
    few = replace(split, train=torch.tensor(sorted(first)))
    assert folds(few, 2, torch.Generator()) == []


def test_a_turn_is_found_again() -> None:
    rng = torch.Generator().manual_seed(0)
    a = torch.randn(50, 6, generator=rng)
    turn = torch.linalg.qr(torch.randn(6, 6, generator=rng)).Q
    torch.testing.assert_close(rotation(a, a @ turn), turn, atol=1e-5, rtol=0)


def test_rows_of_training_nodes_alone_change_and_stay_near(small_graph: Graph, quick: Quick) -> None:
    config = quick(crossfit=3, encoders={"epochs": 30})
    start = begin(config, small_graph, 0, (), Trained(keep=False))
    found = out_of_fold(config, start, 0)
    train = start.split.train
    outside = torch.ones(len(found), dtype=torch.bool)
    outside[train] = False
    assert torch.equal(found[outside], start.z[outside])
    moved = (found[train] - start.z[train]).norm(dim=1)
    assert (moved > 0).all()
    shuffled = (start.z[train.roll(1)] - start.z[train]).norm(dim=1)
    assert moved.mean() < shuffled.mean(), "a row is nearer to its own than to another's"


def test_a_nodes_row_does_not_depend_on_its_label(
    small_graph: Graph, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same folds and without the turn onto z, which saw every label, other labels of a fold move others."""
    config = quick(crossfit=2)
    start = begin(config, small_graph, 0, (), Trained(keep=False))
    fixed = folds(start.split, 2, torch.Generator().manual_seed(0))
    monkeypatch.setattr(crossfit, "folds", lambda *_: fixed)
    monkeypatch.setattr(crossfit, "rotation", lambda a, _: torch.eye(a.shape[1]))
    labels = start.split._labels.clone()
    labels[fixed[0]] = labels[fixed[0]].roll(1)
    other = replace(start, split=replace(start.split, _labels=labels))
    before, after = (out_of_fold(config, one, 0) for one in (start, other))
    assert torch.equal(before[fixed[0]], after[fixed[0]])
    assert not torch.equal(before[fixed[1]], after[fixed[1]])


def test_a_run_with_it_shapes_otherwise_and_leaves_control(small_graph: Graph, quick: Quick) -> None:
    plain, crossed = (run_seed(quick(crossfit=k, shaper={"delta": 50.0}), small_graph, 0) for k in (0, 3))
    control = [found.arms[0].predictions["prob"] for found in (plain, crossed)]
    assert np.array_equal(*control)
    assert not np.array_equal(plain.rows["after"], crossed.rows["after"])
    assert np.array_equal(plain.rows["before"], crossed.rows["before"])


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"crossfit": 1}, "crossfit=1 leaves"),
        ({"crossfit": 2, "shaping": "encoders"}, "crossfit is for shaping=layers"),
        ({"crossfit": 2, "task": "link", "split": "random"}, "crossfit is for nodes"),
    ],
)
def test_what_it_cannot_do_is_refused(small_graph: Graph, quick: Quick, given: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        check(quick(**given), small_graph, [0])
