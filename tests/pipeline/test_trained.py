"""Encoders that one run leaves for the next: the same ones, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.pipeline import run_seed
from bes.pipeline.results import SeedResult
from bes.pipeline.trained import Trained, encoder_key

Quick = Callable[..., RunConfig]


def links(quick: Quick, **given: Any) -> RunConfig:
    return quick(**{"task": "link", "rivals": "", **given})


@pytest.mark.parametrize(
    "given",
    [
        {"shaper": {"tau": 3.0}},
        {"shaper": {"targets": "all"}},
        {"rivals": "gcn"},
        {"preset": "official"},
        {"crossfit": 3},
        {"selection": "test-peek"},
        {"decoder": {"epochs": 9, "kind": "mlp"}},
    ],
)
def test_what_comes_after_the_encoders_of_nodes_is_not_in_their_key(quick: Quick, given: dict[str, Any]) -> None:
    assert quick(**given) != quick()
    assert encoder_key(quick(**given)) == encoder_key(quick())


def test_the_decoder_of_links_is_their_encoders_head(quick: Quick) -> None:
    assert encoder_key(links(quick, shaper={"tau": 3.0}, rivals="cn")) == encoder_key(links(quick))
    for decoder in ({"kind": "dot"}, {"hidden": 4}):
        assert encoder_key(links(quick, decoder=decoder)) != encoder_key(links(quick))


@pytest.mark.parametrize(
    "given",
    [
        {"encoders": {"names": "gcn"}},
        {"encoders": {"names": "cheb,gcn"}},
        {"encoders": {"epochs": 6}},
        {"encoders": {"lr": 0.02}},
        {"split": "random:plain"},
        {"features": "length"},
        {"allow_missing_classes": True},
        {"task": "link", "rivals": ""},
    ],
)
def test_what_the_encoders_depend_on_is(quick: Quick, given: dict[str, Any]) -> None:
    assert encoder_key(quick(**given)) != encoder_key(quick())


def test_what_chooses_encoders_that_predict_is(quick: Quick) -> None:
    plain, peek = (quick(shaping="encoders", selection=by) for by in ("validation", "test-peek"))
    assert encoder_key(plain) == encoder_key(quick())
    assert encoder_key(peek) != encoder_key(plain)


def test_data_and_messages_are(quick: Quick) -> None:
    assert encoder_key(quick().model_copy(update={"dataset": "other"})) != encoder_key(quick())
    keys = {encoder_key(links(quick, links={"message": m})) for m in ("train", "train+val", "all")}
    assert len(keys) == 3
    assert encoder_key(links(quick, links={"select": "hits@50"})) not in keys
    assert encoder_key(links(quick, links={"boundary": "clusters"})) not in keys, "labels are features under classes"


def test_only_the_last_is_kept_and_by_seed(quick: Quick) -> None:
    trained: Trained[str] = Trained()
    made = iter("abcdef")

    def get(config: RunConfig, seed: int) -> tuple[str, float, bool]:
        return trained.get(config, seed, lambda: (next(made), 1.5))

    wide = quick(encoders={"channels": 4})
    assert get(quick(), 0) == ("a", 1.5, False)
    assert get(quick(shaper={"tau": 2.0}), 0) == ("a", 1.5, True)
    assert get(quick(), 1) == ("b", 1.5, False)
    assert get(quick(), 0) == ("c", 1.5, False)
    assert get(wide, 0) == ("d", 1.5, False)
    assert get(wide, 0) == ("d", 1.5, True)


def test_a_training_that_fails_leaves_what_was_there_or_nothing(quick: Quick) -> None:
    def fail() -> tuple[str, float]:
        raise MemoryError

    trained: Trained[str] = Trained()
    with pytest.raises(MemoryError):
        trained.get(quick(), 0, fail)
    assert trained.get(quick(), 0, lambda: ("a", 1.0)) == ("a", 1.0, False)
    with pytest.raises(MemoryError):
        trained.get(quick(), 1, fail)
    assert trained.get(quick(), 1, lambda: ("b", 1.0)) == ("b", 1.0, False)


def test_what_was_made_of_encoders_is_kept_with_them_and_given_out_in_copies(quick: Quick) -> None:
    trained: Trained[str] = Trained()
    trained.get(quick(), 0, lambda: ("a", 1.0))
    first = trained.made("control", lambda: [1])
    first.append(2)
    assert trained.made("control", lambda: [9]) == [1]
    assert trained.made("shaping", lambda: [3]) == [3]
    trained.get(quick(shaper={"tau": 2.0}), 0, lambda: ("b", 1.0))
    assert trained.made("control", lambda: [9]) == [1]
    trained.get(quick(), 1, lambda: ("c", 1.0))
    assert trained.made("control", lambda: [9]) == [9], "others were made of others"


def test_a_run_by_itself_keeps_nothing(quick: Quick) -> None:
    nothing: Trained[str] = Trained(keep=False)
    for name in "ab":
        assert nothing.get(quick(), 0, lambda name=name: (name, 1.0)) == (name, 1.0, False)
        assert nothing.made("control", lambda name=name: name) == name


def same(one: SeedResult, two: SeedResult) -> bool:
    """All that a run leaves but for the time it took: metrics, predictions, embeddings, history."""
    assert [arm.arm for arm in one.arms] == [arm.arm for arm in two.arms]
    arms = zip(one.arms, two.arms, strict=True)
    return (
        all(a.metrics == b.metrics and a.selected == b.selected and a.boundary == b.boundary for a, b in arms)
        and all(
            np.array_equal(a.predictions[key], b.predictions[key])
            for a, b in zip(one.arms, two.arms, strict=True)
            for key in a.predictions
        )
        and all(np.array_equal(one.rows[key], two.rows[key], equal_nan=True) for key in ("before", "after"))
        and one.history == two.history
    )


@pytest.mark.parametrize("message", [None, "train", "train+val"])
def test_a_run_with_earlier_encoders_is_the_same_run(small_graph: Graph, quick: Quick, message: str | None) -> None:
    """Also with rivals, and where test pairs have embeddings of their own."""

    def make(**given: Any) -> RunConfig:
        if message is None:
            return quick(rivals="gcn", **given)
        shaper = {"n_iter": 5, "alpha": 0.01, "tol": 0.0, **given.pop("shaper", {})}
        return links(quick, rivals="cn,gcn,mlp", links={"message": message}, shaper=shaper, **given)

    trained: Trained[Any] = Trained()
    first = run_seed(make(), small_graph, 0, trained=trained)
    second = run_seed(make(shaper={"tau": 3.0}), small_graph, 0, trained=trained)
    assert same(first, run_seed(make(), small_graph, 0))
    assert same(second, run_seed(make(shaper={"tau": 3.0}), small_graph, 0))
    assert not same(first, second)
    assert same(first, run_seed(make(), small_graph, 0, trained=trained)), "shaping left them as they were"
    assert not any("encoders_reused" in arm.more for arm in first.arms)
    assert [arm.more.get("encoders_reused") for arm in second.arms[:2]] == [True, True]
    assert second.arms[0].seconds["encoders"] == first.arms[0].seconds["encoders"] > 0


def test_the_model_of_a_run_with_earlier_encoders_predicts_as_it_does(small_graph: Graph, quick: Quick) -> None:
    trained: Trained[Any] = Trained()
    run_seed(quick(), small_graph, 0, trained=trained)
    result = run_seed(quick(shaper={"tau": 3.0}), small_graph, 0, trained=trained)
    assert result.model is not None
    for arm in result.arms:
        assert np.array_equal(result.model.predict_proba(small_graph, arm.arm).numpy(), arm.predictions["prob"])


@pytest.mark.parametrize("task", ["node", "link"])
def test_a_chain_of_runs_on_one_memory_is_what_each_is_alone(task: str, small_graph: Graph, quick: Quick) -> None:
    one = {"shaper": {"n_layers": 1}}
    changes: list[dict[str, Any]] = [{}, one, {}, {"decoder": {"hidden": 8}}, {"shaper": {"tau": 2.0}}]
    if task == "node":
        changes += [{"selection": "test-peek"}, {"selection": "test-peek", **one}]
    memory: Trained[Any] = Trained()
    for change in changes:
        config = quick(**change) if task == "node" else links(quick, **change)
        chained, alone = run_seed(config, small_graph, 0, trained=memory), run_seed(config, small_graph, 0)
        for left, right in zip(chained.arms, alone.arms, strict=True):
            assert (left.arm, left.metrics, left.notes) == (right.arm, right.metrics, right.notes)
            assert left.selected == right.selected
            assert all(np.array_equal(left.predictions[key], right.predictions[key]) for key in right.predictions)
        assert chained.history == alone.history
        assert all(
            np.array_equal(chained.rows[key], alone.rows[key], equal_nan=True)
            for key in alone.rows
            if chained.rows[key].dtype.kind == "f"
        )
