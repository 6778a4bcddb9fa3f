"""A run whose shaping trains the encoders: what it shares with its control, keeps, and refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from bes.checkpoint import NodeModel
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import Scoring, make_split
from bes.graph.synthetic import sbm
from bes.pipeline import ARMS, check, run_seed
from bes.pipeline.results import SeedResult
from bes.pipeline.trained import Trained

Quick = Callable[..., RunConfig]

#: Labels so few that the others must take part.
FEW: dict[str, Any] = {"shaping": "encoders", "split": "low:3", "features": "unit"}


@pytest.fixture(scope="module")
def config(quick: Quick) -> RunConfig:
    return quick(**FEW, encoder_shaper={"epochs": 30})


@pytest.fixture(scope="module")
def result(small_graph: Graph, config: RunConfig) -> SeedResult:
    return run_seed(config, small_graph, 0)


def test_both_arms_and_what_they_share(result: SeedResult) -> None:
    control, shaped = result.arms
    assert (control.arm, shaped.arm) == ARMS
    assert shaped.steps["accepted"] > 0, "the quick settings must shape, or these tests show nothing"
    assert shaped.steps["accepted"] == shaped.selected["shaping"] + 1 <= shaped.steps["tried"] == 30
    assert control.selected["encoders"] == shaped.selected["encoders"]
    assert shaped.more["teacher"] in ("smooth", "alike", "beliefs", "own")
    assert control.metrics["test_boundary"]["n"] == shaped.metrics["test_boundary"]["n"] > 0
    assert control.seconds["shaping"] == 0.0 < shaped.seconds["shaping"]
    assert set(shaped.seconds) == {"encoders", "shaping", "decoder", "evaluate"}
    assert shaped.metrics["val"]["acc"] >= control.metrics["val"]["acc"], "it begins where control is"


def test_embeddings_before_and_after_are_kept_with_the_band(result: SeedResult) -> None:
    before, after = result.rows["before"], result.rows["after"]
    assert before.shape == after.shape == (150, 16)
    assert not np.array_equal(before, after)
    band = result.rows["boundary"]
    assert result.arms[1].boundary == [{"layer": 1, "region": result.arms[1].boundary[0]["region"], "set": len(band)}]
    assert result.rows["boundaries"].nonzero()[1].tolist() == sorted(band.tolist())
    assert not set(band.tolist()) & set(result.split["train"].tolist()), "the band has no labels of its own"
    assert result.rows["between"].shape == (0, 150, 16)
    assert np.isnan(result.rows["shift_scores"]).all()
    assert len(result.history) == 30


def test_its_model_comes_back_with_both_arms(
    result: SeedResult, small_graph: Graph, config: RunConfig, tmp_path: Path
) -> None:
    assert result.model is not None
    result.model.save(tmp_path / "0.safetensors")
    model = NodeModel.load(tmp_path / "0.safetensors")
    assert model.config == config
    for arm in result.arms:
        assert np.array_equal(model.predict_proba(small_graph, arm.arm).numpy(), arm.predictions["prob"])
    with pytest.raises(InputError, match="arm"):
        model.predict_proba(small_graph, "gcn")


def test_test_labels_change_nothing_but_the_scores(result: SeedResult, small_graph: Graph, config: RunConfig) -> None:
    test = make_split(small_graph, config.split, 0).test
    y = small_graph.y.clone()
    hidden = test[torch.bincount(y)[y[test]] > 0]
    y[hidden] = y[hidden.flip(0)]  # the same classes on other nodes of the test part
    other = run_seed(config, replace(small_graph, y=y), 0)
    if np.array_equal(other.split["test"], result.split["test"]):
        for one, two in zip(result.arms, other.arms, strict=True):
            assert np.array_equal(one.predictions["prob"], two.predictions["prob"])
        assert other.arms[0].metrics["test"] != result.arms[0].metrics["test"]
    else:
        pytest.fail("the labels must leave the split as it is, or this test shows nothing")


def test_encoders_of_a_layered_run_are_used_again(small_graph: Graph, quick: Quick, result: SeedResult) -> None:
    trained: Trained[Any] = Trained()
    run_seed(quick(split="low:3", features="unit"), small_graph, 0, trained=trained)
    again = run_seed(quick(**FEW, encoder_shaper={"epochs": 30}), small_graph, 0, trained=trained)
    assert again.arms[0].more["encoders_reused"]
    for one, two in zip(result.arms, again.arms, strict=True):
        assert np.array_equal(one.predictions["prob"], two.predictions["prob"])


@pytest.mark.parametrize("guard", [None, 1.0])
def test_the_same_epochs_serve_another_guard(
    small_graph: Graph, quick: Quick, result: SeedResult, guard: float | None
) -> None:
    trained: Trained[Any] = Trained()
    first = run_seed(quick(**FEW, encoder_shaper={"epochs": 30}), small_graph, 0, trained=trained)
    other = quick(**FEW, encoder_shaper={"epochs": 30, "guard": guard})
    alone, shared = run_seed(other, small_graph, 0), run_seed(other, small_graph, 0, trained=trained)
    for one, two in zip(alone.arms, shared.arms, strict=True):
        assert np.array_equal(one.predictions["prob"], two.predictions["prob"])
    told = alone.arms[1], shared.arms[1]
    for name in ("boundary", "steps", "selected", "notes"):
        assert getattr(told[0], name) == getattr(told[1], name)
    assert told[0].more["guard"] == told[1].more["guard"]
    assert shared.arms[1].seconds["shaping"] == first.arms[1].seconds["shaping"], "no epoch was run again"
    assert shared.model is not None
    assert shared.model.config == other
    if guard:
        assert told[0].selected["shaping"] == -1 < result.arms[1].selected["shaping"], "the two must differ"


def test_it_says_where_shaping_was_not_kept(small_graph: Graph, quick: Quick) -> None:
    result = run_seed(quick(**FEW, encoder_shaper={"epochs": 3, "lr": 1e-12, "weight_decay": 0.0}), small_graph, 0)
    control, shaped = result.arms
    assert shaped.steps == {"tried": 3, "accepted": 0, "halvings": 0}
    assert "kept as they were" in shaped.notes[0]
    assert np.array_equal(control.predictions["prob"], shaped.predictions["prob"])


def test_methods_stand_beside(small_graph: Graph, quick: Quick) -> None:
    config = quick(**FEW, encoder_shaper={"epochs": 3}, methods={"bes": {}, "mlp": {"epochs": 3}}, rivals=("gcn",))
    result = run_seed(config, small_graph, 0)
    assert [arm.arm for arm in result.arms] == ["control", "bes", "gcn", "mlp"]


@pytest.mark.parametrize("scoring", get_args(Scoring))
def test_what_validation_counts_is_what_chooses(quick: Quick, scoring: Scoring) -> None:
    """Decoders, encoders and methods alike; one class has most of the nodes."""
    graph = sbm(n_nodes=240, n_classes=3, n_features=8, degree=6.0, noise=0.3, separation=0.7)
    graph = replace(graph, y=graph.y.where(torch.arange(240) % 3 == 0, 0))
    metric = "acc" if scoring == "accuracy" else "balanced_acc"
    result = run_seed(quick(scoring=scoring), graph, 0)
    assert result.model is not None
    for arm in result.arms:
        val = arm.metrics["val"]
        assert val["acc"] != pytest.approx(val["balanced_acc"])
        assert result.model.decoders[arm.arm].log_.best_score[0] == pytest.approx(val[metric], abs=1e-6)
    alone = quick(scoring=scoring, shaping="encoders", encoders={"names": ("gcn",)}, encoder_shaper={"epochs": 2})
    shaped = run_seed(alone, graph, 0)
    assert shaped.model is not None
    log = shaped.model.encoders.logs_[0]
    assert log.best_score[0] == pytest.approx(shaped.arms[0].metrics["val"][metric], abs=1e-6)
    tuned = quick(scoring=scoring, methods={"gcn": {"epochs": 5}}, tune=1)
    (found,) = run_seed(tuned, graph, 0).arms
    (tried,) = found.more["method"]["tuned"]["tried"]
    assert tried["score"] == pytest.approx(found.metrics["val"][metric], abs=1e-6)


@pytest.mark.parametrize("task", ["link", "edge"])
def test_pairs_are_refused(small_graph: Graph, quick: Quick, task: str) -> None:
    for given, word in (
        ({"shaping": "encoders"}, "shaping=encoders"),
        ({"encoders": {"keep": 1}}, "keep"),
        ({"scoring": "balanced_accuracy"}, "scoring=balanced_accuracy"),
    ):
        with pytest.raises(InputError, match=f"{word} is for nodes, not for --task {task}"):
            check(quick(task=task, split="random", **given), small_graph, [0])


@pytest.mark.parametrize("shaping", ["layers", "encoders"])
def test_encoders_that_are_kept_are_named_and_come_back(
    small_graph: Graph, quick: Quick, tmp_path: Path, shaping: str
) -> None:
    names = ("mlp", "sage", "gcn")
    result = run_seed(quick(shaping=shaping, encoders={"names": names, "keep": 2}), small_graph, 0)
    kept = result.arms[0].more["encoders_kept"]
    assert len(kept) == 2
    assert set(kept) < set(names)
    assert result.rows["before"].shape == (150, 16)
    assert result.model is not None
    result.model.save(tmp_path / "0.safetensors")
    model = NodeModel.load(tmp_path / "0.safetensors")
    for arm in result.arms:
        assert np.array_equal(model.predict_proba(small_graph, arm.arm).numpy(), arm.predictions["prob"])
