"""Methods under one protocol: Graph -> split -> Problem -> Method -> Answer -> scores."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from torch import Tensor

from bes import seeding
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.scaling import scale
from bes.graph.splits import NodeSplit, make_split
from bes.metrics import clustering
from bes.models.baselines import METHODS, make_method
from bes.models.baselines.method import Method
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.pair_problem import PairProblem
from bes.models.baselines.problem import Answer, Problem
from bes.models.baselines.settings import settings_of, sources_of
from bes.models.convs import CONVS, pick
from bes.models.heuristics import HEURISTICS
from bes.models.kmeans import kmeans
from bes.pipeline import watching
from bes.pipeline.arms import PairTask, heuristic_arm, make_decoder, score_arm
from bes.pipeline.results import ArmResult, SeedResult, score_nodes
from bes.pipeline.setting import Setting, pair_split, pair_task, pick_mode
from bes.pipeline.tuning import Study, Tried, check_tuner, tune
from bes.progress import Watch
from bes.tasks.node import NodeTask, check_labels, score
from bes.training import SELECTED_ON, Callback

#: The split on whose validation part settings are tuned.
TUNED_ON = 0

#: Starts of k-means, whose mean is recorded: one alone is mostly luck.
STARTS = 5

#: What scores the arms of a run.
Task = NodeTask | PairTask

#: The studies of a run's methods by name.
Studies = Mapping[str, Study]


def resolved(config: RunConfig) -> RunConfig:
    """The configuration with every option of its methods: as given, else as their settings say."""
    full = {name: _options(config, name) for name in config.methods}
    return config.model_copy(update={"methods": full})


def _options(config: RunConfig, name: str) -> dict[str, Any]:
    given = config.methods[name]
    if name not in METHODS:
        return given
    found = settings_of(name, config.dataset, source=config.settings, pairs=config.task != "node")
    every = asdict(make_method(name, {**found, **given}))
    plain: dict[str, Any] = json.loads(json.dumps({key: every[key] for key in METHODS[name].options}))
    return plain


def with_networks(config: RunConfig) -> RunConfig:
    """The rivals that are networks or heuristics among the methods: networks as wide and trained as the encoders.

    Whose `settings` methods get is no matter of theirs: those are for methods that were named.
    """
    own = config.encoders
    wanted = {"hidden": own.channels, **own.model_dump(include={"epochs", "lr", "weight_decay", "dropout", "patience"})}
    rivals = {name: wanted if name in CONVS else {} for name in config.rivals if name in CONVS or name in HEURISTICS}
    full = resolved(config.model_copy(update={"methods": rivals, "settings": None})).methods
    return config.model_copy(update={"methods": {**full, **config.methods}})


def check_methods(config: RunConfig, graph: Graph) -> None:
    """Refuse methods that are not known, cannot do the task, or have options they do not know."""
    known = {**METHODS, **(HEURISTICS if config.task == "link" else {}), "control": None, "bes": None}
    for name, options in config.methods.items():
        pick(known, name, "method")
        if name not in METHODS:
            if options:
                raise InputError(f"'{name}' takes no options under methods: leave them out.")
            continue
        made = make_method(name, options)
        if config.task != "node" and not made.pairs:
            raise InputError(f"The method '{name}' predicts classes of nodes and no pairs: use --task node.")
        if config.task != "node" and made.learns_classes and pick_mode(config, graph) != "classes":
            raise InputError(
                f"The method '{name}' learns from classes of nodes, which no pair task but --boundary classes gives: "
                "use that, or another method."
            )
    if not config.methods_alone and (config.tune or config.settings):
        what = f"--tune {config.tune}" if config.tune else f"--settings {config.settings}"
        raise InputError(f"{what} has no method that it could be for: name some by --method.")
    if config.tune:
        if config.selection != "validation":
            raise InputError(f"--tune is for selection=validation, not {config.selection}: leave one of them out.")
        check_tuner()


def tune_methods(config: RunConfig, graph: Graph) -> dict[str, Study]:
    """A study for each method that can be tuned; empty where nothing is to be tuned."""
    if not config.tune:
        return {}
    found = {name: study_of(config, graph, name) for name in config.methods_alone}
    return {name: study for name, study in found.items() if study is not None}


def study_of(config: RunConfig, graph: Graph, name: str, watchers: Sequence[Watch] = ()) -> Study | None:
    """Settings of one method, tried on the validation part of split 0; the test part stays closed.

    Options that differ from the method's settings were asked for, and stay. None for what has no settings to try.
    """
    if name not in METHODS:
        return None
    usual = _options(config.model_copy(update={"methods": {name: {}}}), name)
    asked = {key for key, value in config.methods[name].items() if value != usual[key]}

    def problem(method: Method) -> Problem:
        return case_of(config, graph, TUNED_ON, method).problem

    steps = watching.stage(watchers, f"tuning of {name}", config.tune)

    def step() -> None:
        for call in steps:
            call(0, None, {})

    return tune(name, config.methods[name], config.tune, problem, asked, pairs=config.task != "node", step=step)


def run_methods(
    config: RunConfig,
    graph: Graph,
    seed: int,
    watchers: Sequence[Watch] = (),
    studies: Studies | None = None,
    only: str | None = None,
) -> SeedResult:
    """Every method of one seed, or `only` one of them, all on one split."""
    config = resolved(config)
    if only is not None:
        config = config.model_copy(update={"methods": {only: config.methods[only]}})
    if config.task == "node":
        split = make_split(graph, config.split, seed, config.scoring)
        check_labels(graph, split, allow_missing=config.allow_missing_classes)
        arrays = split.arrays()
    else:
        arrays = pair_split(config, graph, seed).arrays()
    return SeedResult(seed, arrays, method_arms(config, graph, seed, None, watchers, studies), {}, [])


def method_arms(
    config: RunConfig,
    graph: Graph,
    seed: int,
    task: Task | None,
    watchers: Sequence[Watch] = (),
    studies: Studies | None = None,
    setting: Setting | None = None,
) -> list[ArmResult]:
    """The methods of a configuration on one split.

    Args:
        graph: As it was given, features unscaled.
        task: Of the arms beside which they stand, so that all are scored at one boundary; without it none is known.
        studies: What tuning found; where it is wanted and missing, it is done here.
        setting: Of the pairs, where it is at hand: heuristics need no other.
    """
    found = tune_methods(config, graph) if studies is None else studies
    return [
        method_arm(config, graph, seed, name, task, watchers, found.get(name), setting) for name in config.methods_alone
    ]


def method_arm(
    config: RunConfig,
    graph: Graph,
    seed: int,
    name: str,
    task: Task | None = None,
    watchers: Sequence[Watch] = (),
    study: Study | None = None,
    setting: Setting | None = None,
) -> ArmResult:
    """One method on one split, scored once."""
    if name in HEURISTICS and config.task == "link":
        setting = setting or Setting.of(config, graph, seed)
        assert not isinstance(task, NodeTask)
        return setting.describe(heuristic_arm(name, task or pair_task(setting.split, None), setting.bare))
    options = config.methods[name] if study is None else study.options
    method = make_method(name, options)
    case = case_of(config, graph, seed, method, watching.stage(watchers, name, method.epochs))
    # who watches wants to see every epoch
    tried = study.best if study is not None and seed == TUNED_ON and not watchers else None
    answer, spent = _answered(method, case.problem, tried)
    seconds = {"encoders": spent, "shaping": 0.0, "decoder": 0.0}
    result = case.score(name, answer, seconds, task)
    result.selected = {"encoders": [answer.log.best_epoch] if answer.log.best_epoch >= 0 else []}
    result.notes += answer.notes
    result.more |= answer.more
    whose = None if name in config.rivals else config.settings
    about: dict[str, Any] = {"options": options, "settings": whose or sources_of(name)[0]}
    if answer.embedding is not None:
        result.more["clusters"] = clusters_of(answer.embedding, graph, seed)
    result.more["method"] = about | ({} if study is None else {"tuned": study.as_dict(TUNED_ON)})
    return result


def _answered(method: Method, problem: Problem, tried: Tried | None) -> tuple[Answer, float]:
    """What a method says and its seconds: in its best trial, if that was on this split, or else now."""
    if tried is not None and tried.answer is not None:
        return replace(tried.answer), tried.seconds
    start = time.perf_counter()
    return method.fit(problem), time.perf_counter() - start


def clusters_of(z: Tensor, graph: Graph, seed: int) -> dict[str, float]:
    """How well k-means on embeddings `z` finds the classes: the mean of some starts, over all labelled nodes."""
    y = graph.y.cpu()
    known, k = y >= 0, min(graph.n_classes, graph.n_nodes)
    starts = [kmeans(z, k, seed=STARTS * seed + i).cpu() for i in range(STARTS)]
    found = [clustering(y[known].numpy(), cluster[known].numpy()) for cluster in starts]
    return {key: fmean(one[key] for one in found) for key in ("nmi", "ari")}


@dataclass(frozen=True)
class NodeCase:
    """One split of a graph's nodes: what a method gets, and how its answer is scored."""

    problem: NodeProblem
    split: NodeSplit

    def score(self, arm: str, answer: Answer, seconds: dict[str, float], task: Task | None) -> ArmResult:
        """Open the test part: `task` says at which boundary, if it is known."""
        assert answer.prob is not None
        assert not isinstance(task, PairTask)
        what = f"The method '{arm}' on graph '{self.problem.graph.name}'"
        found = score_nodes(
            arm, task or NodeTask(self.split, None), answer.prob, seconds, what, "its lr (of rivals: encoders.lr)"
        )
        if answer.base is not None:
            base = score(self.split, answer.base)
            own, before = found.metrics["test"]["acc"], base["test"]["acc"]
            gain = None if own is None or before is None else own - before
            found.more["base"] = {"metrics": base, "gain": gain}
        return found


@dataclass(frozen=True)
class PairCase:
    """The same for a split of pairs."""

    problem: PairProblem
    setting: Setting

    def score(self, arm: str, answer: Answer, seconds: dict[str, float], task: Task | None) -> ArmResult:
        """Open the test part."""
        assert answer.pairs is not None
        assert not isinstance(task, NodeTask)
        result = score_arm(arm, task or pair_task(self.setting.split, None), answer.pairs, seconds)
        return self.setting.describe(result)


def case_of(
    config: RunConfig, graph: Graph, seed: int, method: Method, steps: Sequence[Callback] = ()
) -> NodeCase | PairCase:
    """One split, with the features scaled as the method wants them."""
    config = config.model_copy(update={"features": method.features or config.features})
    if config.task == "node":
        here = scale(graph, config.features).to(seeding.pick_device(config.device))
        split = make_split(here, config.split, seed, config.scoring)
        check_labels(here, split, allow_missing=config.allow_missing_classes)
        return NodeCase(NodeProblem(here, split, seed, SELECTED_ON[config.selection], steps), split)
    setting = Setting.of(config, graph, seed)
    problem = PairProblem(
        setting.split, lambda: make_decoder(config, seed), setting.labels, graph.n_classes, seed, steps
    )
    return PairCase(problem, setting)
