"""Methods in a run: resolved, tuned on validation alone, scored once, beside control and bes or without them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split
from bes.models.baselines import METHODS, make_method
from bes.models.baselines.method import Method, Supervised
from bes.models.baselines.settings import search_space
from bes.models.baselines.two_layer import TwoLayer
from bes.pipeline import arms_of, check, run_rival, run_seed, tuning
from bes.pipeline.methods import resolved, study_of, tune_methods
from bes.pipeline.tuning import LIKE, Study, Tried, tune
from bes.runs import run

Quick = Callable[..., RunConfig]

pytest.importorskip("optuna")


@pytest.fixture
def config(quick: Quick) -> RunConfig:
    return resolved(quick(methods={"gcn": {"epochs": 4, "hidden": 4}, "label-propagation": {}}))


def test_every_option_is_written_out_once(quick: Quick) -> None:
    plain = quick(methods={"gcn": {"hidden": 5}, "bes": {}})
    full = resolved(plain)
    assert set(full.methods["gcn"]) == set(METHODS["gcn"].options)
    assert full.methods["gcn"]["hidden"] == 5
    assert full.methods["bes"] == {}
    assert resolved(full) == full
    assert RunConfig.model_validate(json.loads(full.canonical())) == full


def test_methods_alone_are_the_arms(config: RunConfig, small_graph: Graph) -> None:
    check(config, small_graph, [0])
    result = run_seed(config, small_graph, 0)
    assert [arm.arm for arm in result.arms] == list(arms_of(config)) == ["gcn", "label-propagation"]
    assert result.model is None
    assert result.rows == {}
    for arm in result.arms:
        assert arm.predictions["prob"].shape == (small_graph.n_nodes, 3)
        assert set(arm.metrics) == {"val", "test"}
        assert arm.more["method"]["options"] == config.methods[arm.arm]
        assert arm.more["method"]["settings"] in ("paper", "ours")


def test_beside_bes_they_are_what_they_are_alone(quick: Quick, small_graph: Graph) -> None:
    methods = {"gcn": {"epochs": 4}, "bes": {}}
    beside = resolved(quick(methods=methods))
    assert arms_of(beside) == ("control", "bes", "gcn")
    *_, arm = run_seed(beside, small_graph, 0).arms
    alone = run_rival(resolved(quick(methods={"gcn": {"epochs": 4}})), small_graph, 0, "gcn")
    assert np.array_equal(arm.predictions["prob"], alone.predictions["prob"])
    assert "test_boundary" in arm.metrics


def test_links(quick: Quick, small_graph: Graph) -> None:
    given = {"task": "link", "rivals": ""}
    config = resolved(quick(**given, methods={"gcn": {"epochs": 3}, "sgc1l": {"epochs": 3}, "cn": {}}))
    check(config, small_graph, [0])
    result = run_seed(config, small_graph, 0)
    assert [arm.arm for arm in result.arms] == ["gcn", "sgc1l", "cn"]
    for arm in result.arms:
        assert {"val", "test", "test_hard"} <= set(arm.metrics)
        assert arm.more["message_graph"] == "train"
    assert len({arm.predictions["pair"].tobytes() for arm in result.arms}) == 1, "all on the same pairs"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"methods": "gnc"}, "The method 'gnc' is not known: did you mean .*gcn"),
        ({"methods": {"gcn": {"hiden": 3}}}, "has no option 'hiden'"),
        (
            {"methods": "label-propagation", "task": "link"},
            "predicts classes of nodes and no pairs",
        ),
        ({"methods": "cn"}, "The method 'cn' is not known"),
        ({"methods": {"bes": {"alpha": 1}}}, "'bes' takes no options under methods"),
        ({"tune": 3}, "--tune 3 has no method that it could be for"),
        ({"settings": "official"}, "--settings official has no method that it could be for"),
        ({"methods": "gcn", "tune": 3, "selection": "test-peek"}, "--tune is for selection=validation"),
        ({"methods": "supcon", "task": "link", "links": {"boundary": "clusters"}}, "learns from classes of nodes"),
    ],
)
def test_what_cannot_be_run_is_refused_first(
    given: dict[str, Any], said: str, quick: Quick, small_graph: Graph
) -> None:
    with pytest.raises(InputError, match=said):
        check(quick(**given), small_graph, [0])


def test_without_optuna_tuning_says_how_to_get_it(
    quick: Quick, small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'bes-graph\[arena\]'"):
        check(quick(methods="gcn", tune=2), small_graph, [0])


# Tuning


def test_the_best_on_validation_wins_and_the_test_part_stays_closed(
    config: RunConfig, small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    reveal, score = NodeSplit.reveal, NodeSplit.score
    monkeypatch.setattr(NodeSplit, "reveal", lambda self, part: opened.append(part) or reveal(self, part))

    def watched(self: NodeSplit, logits: torch.Tensor, part: Any = "val") -> tuple[float, float]:
        opened.append(part)
        return score(self, logits, part)

    monkeypatch.setattr(NodeSplit, "score", watched)
    study = study_of(config.model_copy(update={"tune": 4}), small_graph, "gcn")
    assert study is not None
    assert set(opened) == {"val"}
    assert len(study.tried) == 4
    assert study.tried[0]["options"] == {}, "first what it starts from"
    best = max(study.tried, key=lambda row: row["score"])
    assert study.options == {**config.methods["gcn"], **best["options"]}
    assert all("hidden" not in row["options"] for row in study.tried), "what was asked for stays"


def test_the_same_study_again_is_the_same(config: RunConfig, small_graph: Graph) -> None:
    tuned = config.model_copy(update={"tune": 3})
    first, second = tune_methods(tuned, small_graph), tune_methods(tuned, small_graph)
    assert list(first) == ["gcn", "label-propagation"]
    for name in first:
        assert first[name].options == second[name].options
        assert [row["score"] for row in first[name].tried] == [row["score"] for row in second[name].tried]
    assert tune_methods(config, small_graph) == {}


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("control", "of"), LIKE.items())
def test_a_control_is_proposed_what_its_method_is(
    control: str, of: str, pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as proposals are drawn at random, and the control has the options."""
    if pairs and not METHODS[of].kind.pairs:
        pytest.skip("for nodes only")
    drawn: dict[str, list[dict[str, Any]]] = {}

    def tried(name: str, options: dict[str, Any], _: Any) -> Tried:
        drawn.setdefault(name, []).append(options)
        return Tried((0.1 * len(drawn[name]), 0.0), 0.0)

    monkeypatch.setattr("bes.pipeline.tuning._try", tried)
    monkeypatch.setattr("bes.pipeline.tuning.AT_RANDOM", 100)
    nothing: Callable[[Method], Any] = {}.get
    studies = {name: tune(name, METHODS[name].options, 30, nothing, pairs=pairs) for name in (of, control)}
    assert studies[control].space == search_space(control, pairs=pairs)
    space = studies[control].space
    own = [METHODS[control].options | {key: options[key] for key in space} for options in drawn[of]]
    once = {repr(make_method(control, options)): options for options in reversed(own)}
    assert {repr(make_method(control, options)) for options in drawn[control]} == set(once)
    assert len(drawn[control]) == len(once) > 5


def test_what_a_method_stands_on_is_scored_beside_it(quick: Quick, small_graph: Graph) -> None:
    trained = {"epochs": 5, "hidden": 8, "lr": 0.05}
    plain = run_rival(quick(methods={"mlp": {**trained, "dropout": 0.5}}), small_graph, 0, "mlp")
    found = run_rival(quick(methods={"correct-and-smooth": trained}), small_graph, 0, "correct-and-smooth")
    base = found.more["base"]
    assert base["metrics"]["test"] == plain.metrics["test"]
    assert base["gain"] == pytest.approx(found.metrics["test"]["acc"] - plain.metrics["test"]["acc"])
    assert "base" not in plain.more


@pytest.mark.parametrize("task", ["node", "link"])
def test_the_best_trial_is_the_run_of_its_split(
    task: str, quick: Quick, small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a grid, where nobody watches; the same as trained once more, and other splits are trained."""
    config = resolved(quick(task=task, split="random", methods={"gcn": {"epochs": 4, "hidden": 4}}, tune=3))
    study = study_of(config, small_graph, "gcn")
    assert study is not None
    fits = []
    monkeypatch.setattr(TwoLayer, "fit", lambda self, problem: fits.append(self) or Supervised.fit(self, problem))
    reused = run_rival(config, small_graph, 0, "gcn", study)
    assert fits == []
    sent: Study = pickle.loads(pickle.dumps(study))
    assert sent.best is None
    again = run_rival(config, small_graph, 0, "gcn", sent)
    assert len(fits) == 1
    assert reused.metrics == again.metrics
    assert reused.selected == again.selected
    for key, value in again.predictions.items():
        np.testing.assert_array_equal(reused.predictions[key], value)
    run_rival(config, small_graph, 1, "gcn", study)
    assert len(fits) == 2


def test_trials_that_fail_are_recorded_and_never_win(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def attempt(_: str, options: dict[str, Any], __: Any) -> tuning.Tried:
        calls.append(options)
        return tuning.Tried((0.4, -1.0), 0.1) if len(calls) == 1 else tuning.Tried(tuning.FAILED, 0.1, "It diverged.")

    monkeypatch.setattr(tuning, "_try", attempt)
    start = {"hidden": 16, "dropout": 0.5, "weight_decay": 5e-4, "lr": 0.01, "features": None}

    def nothing(_: Method) -> Any:
        raise AssertionError

    study = tune("gcn", start, 5, nothing)
    assert study.options == start
    assert [row.get("error") for row in study.tried[1:]] == ["It diverged."] * 4
    calls.append({})
    with pytest.raises(InputError, match=r"It diverged\."):
        tune("gcn", start, 2, nothing)


def test_settings_under_which_training_diverges_have_failed(quick: Quick, small_graph: Graph) -> None:
    config = resolved(quick(methods={"gcn": {"epochs": 5, "lr": 1e38}}, tune=2))
    with pytest.raises(InputError, match=r"The method 'gcn' diverged: lower its lr\."):
        study_of(config, small_graph, "gcn")


def test_trials_are_told_to_who_watches(config: RunConfig, small_graph: Graph) -> None:
    seen: list[str] = []

    def watch(stage: str, total: int) -> Any:
        return lambda *_: seen.append(f"{stage} of {total}")

    study_of(config.model_copy(update={"tune": 3}), small_graph, "label-propagation", [watch])
    assert seen == ["tuning of label-propagation of 3"] * 3


def test_one_method_that_fails_leaves_the_others(quick: Quick, small_graph: Graph, tmp_path: Path) -> None:
    config = quick(methods={"gcn": {"epochs": 3}, "sage": {"epochs": 3, "lr": 1e38}, "mlp": {"epochs": 3}})
    with pytest.raises(InputError, match="diverged"):
        run(config, small_graph, [0, 1], tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert [(line["seed"], line["arm"]) for line in lines] == [(0, "gcn")]


def test_several_processes_record_what_one_does(config: RunConfig, small_graph: Graph, tmp_path: Path) -> None:
    one = run(config, small_graph, [0, 1], tmp_path / "one")
    two = run(config, small_graph, [0, 1], tmp_path / "two", jobs=2)

    def told(records: list[dict[str, Any]]) -> dict[Any, Any]:
        return {(r["seed"], r["arm"]): r["metrics"] for r in records}

    assert told(one.records) == told(two.records)
    assert len(one.records) == 4


def test_a_damaged_file_of_trials_is_refused(config: RunConfig, small_graph: Graph, tmp_path: Path) -> None:
    tuned = config.model_copy(update={"tune": 1})
    run(tuned, small_graph, [0], tmp_path)
    (tmp_path / "tuned.json").write_text('{"gcn": {"options": {}}}')
    with pytest.raises(InputError, match=r"tuned\.json is damaged: delete it to tune again\."):
        run(tuned, small_graph, [0, 1], tmp_path)


def test_what_is_not_resolved_gets_its_settings(quick: Quick, small_graph: Graph) -> None:
    plain = quick(methods={"sgc1l": {"epochs": 3}})
    (arm,) = run_seed(plain, small_graph, 0).arms
    assert arm.more["method"]["options"] == resolved(plain).methods["sgc1l"]
    alone = run_rival(plain, small_graph, 0, "sgc1l")
    assert np.array_equal(alone.predictions["prob"], arm.predictions["prob"])


@pytest.mark.parametrize("task", ["node", "link"])
def test_shaped_and_unshaped_are_bes_and_control(task: str, quick: Quick, small_graph: Graph) -> None:
    shaper = {"n_iter": 5, "delta": 20.0, "tau": 10.0, "alpha": 0.01}
    paired = quick(task=task, rivals="", shaper=shaper, encoders={"names": "gcn,cheb"}, decoder={"kind": "mlp"})
    control, bes = run_seed(paired, small_graph, 0).arms
    assert bes.steps["accepted"] > 0
    own = {"encoders": ["gcn", "cheb"], "channels": 8, "epochs": 5, "patience": paired.encoders.patience}
    own |= {"decoder": "mlp", "hidden": 16, "unit": paired.shaper.unit, **shaper}
    alone = paired.model_copy(update={"methods": {"unshaped": own, "shaped": own}})
    for arm, expected in zip(run_seed(alone, small_graph, 0).arms, (control, bes), strict=True):
        key = "prob" if task == "node" else "score"
        assert np.allclose(arm.predictions[key], expected.predictions[key], atol=1e-5), arm.arm


def test_a_run_is_tuned_once_and_says_what_was_tried(config: RunConfig, small_graph: Graph, tmp_path: Path) -> None:
    tuned = config.model_copy(update={"tune": 2})
    directory = run(tuned, small_graph, [0], tmp_path)
    kept = json.loads((tmp_path / "tuned.json").read_text())
    assert set(kept) == {"gcn", "label-propagation"}
    changed = {**kept["gcn"], "options": {**kept["gcn"]["options"], "hidden": 3}}
    (tmp_path / "tuned.json").write_text(json.dumps({**kept, "gcn": changed}))
    again = run(tuned, small_graph, [0, 1], tmp_path)
    by_seed = {record["seed"]: record for record in again.records if record["arm"] == "gcn"}
    assert by_seed[0]["method"]["tuned"]["tried"] == kept["gcn"]["tried"]
    assert by_seed[1]["method"]["options"]["hidden"] == 3, "what was found before is used, not found anew"
    assert len(directory.records) == 2


def test_splits_are_those_of_every_run(config: RunConfig, small_graph: Graph, tmp_path: Path) -> None:
    run(config, small_graph, [3], tmp_path)
    kept = np.load(tmp_path / "splits" / "3.npz")
    split = make_split(small_graph, config.split, 3)
    assert np.array_equal(kept["test"], split.test.numpy())
    assert not (tmp_path / "embeddings").exists()
