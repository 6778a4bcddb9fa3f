"""A suite of the user's own, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bes.bench.model import ACCURACY, AUC, F1, PAIRED, Ask, Cell, Metric, Sheet, Suite
from bes.bench.suites.settings import HONEST, method_config
from bes.config import RunConfig
from bes.errors import InputError
from bes.models.baselines import METHODS
from bes.models.convs import CONVS, pick
from bes.models.heuristics import HEURISTICS
from bes.settings import merge, read_file, validate

METRICS: dict[str, Metric] = {
    "acc": ACCURACY,
    "balanced_acc": Metric("balanced accuracy", "metrics.test.balanced_acc"),
    "f1": F1,
    "auroc": AUC,
    "hits@50": Metric("Hits@50", "metrics.test.hits@50"),
}


#: What a suite's settings cannot change.
FIXED = frozenset({"dataset", "task", "rivals", "selection", "methods", "settings", "tune"})

#: Names in a store that are not suites.
TAKEN = frozenset({"runs", "records"})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Method(_Strict):
    """A row: an arm, and the settings in which it differs from the others.

    Attributes:
        options: Of a method by itself, see `bes methods`.
    """

    arm: str
    settings: dict[str, Any] = {}
    options: dict[str, Any] = {}


class SuiteFile(_Strict):
    """What a suite's file may say; see docs/bench.md."""

    title: str = ""
    task: Literal["node", "link"] = "node"
    datasets: list[str] = Field(min_length=1)
    methods: dict[str, Method | str] = Field(min_length=1)
    metrics: list[Literal["acc", "balanced_acc", "f1", "auroc", "hits@50"]] = Field(["acc"], min_length=1)
    splits: int = Field(5, ge=1, le=1000)
    tune: int = Field(0, ge=0)
    settings: dict[str, Any] = {}
    reference: str = ""


def read_suite(path: Path) -> Suite:
    """The suite of a `.yaml` or `.json` file: every method on every data set, selected on validation."""
    given = validate(SuiteFile, read_file(path))
    methods = {row: Method(arm=m) if isinstance(m, str) else m for row, m in given.methods.items()}
    rows = list(methods)
    _check(given, path)
    if given.reference and given.reference not in rows:
        raise InputError(f"The reference '{given.reference}' in {path} is not one of its methods: name one of {rows}.")
    cells = [
        Cell(row, _column(dataset, metric, given), _ask(method, dataset, METRICS[metric], given))
        for row, method in methods.items()
        for dataset in given.datasets
        for metric in given.metrics
    ]
    title = given.title or path.stem
    return Suite(path.stem, title, (Sheet(path.stem, title, HONEST, tuple(cells), "", given.reference or rows[-1]),))


def _check(given: SuiteFile, path: Path) -> None:
    if path.stem in TAKEN:
        raise InputError(f"A suite cannot be called '{path.stem}', as a part of the store is: rename {path}.")
    other = {"node": ("hits@50", "link"), "link": ("balanced_acc", "node")}
    name, task = other[given.task]
    if name in given.metrics:
        raise InputError(
            f"The metrics of {path} name {name}, which is for {task}s only: take it out, or use task: {task}."
        )
    for settings in [given.settings, *(m.settings for m in given.methods.values() if isinstance(m, Method))]:
        for key in FIXED & settings.keys():
            raise InputError(f"The settings of {path} name '{key}', which the suite itself decides: take it out.")
        links = settings.get("links")
        if isinstance(links, dict) and links.get("message") == "all":
            raise InputError(f"The settings of {path} let messages pass over the test edges: take links.message out.")


def _column(dataset: str, metric: str, given: SuiteFile) -> str:
    stems = [Path(name).stem for name in given.datasets]
    alone = dataset.endswith(".npz") and stems.count(Path(dataset).stem) == 1
    name = Path(dataset).stem if alone else dataset
    return name if len(given.metrics) == 1 else f"{name} {METRICS[metric].name}"


def _ask(method: Method, dataset: str, metric: Metric, given: SuiteFile) -> Ask:
    settings: dict[str, Any] = {"task": given.task, "rivals": ()}
    merge(settings, given.settings)
    merge(settings, method.settings)
    by_itself = method.arm in METHODS and (method.arm not in CONVS or bool(method.options) or given.tune > 0)
    if method.arm not in PAIRED:
        pick({**METHODS, **(HEURISTICS if given.task == "link" else {})}, method.arm, "arm")
        if method.arm in CONVS and not by_itself:
            merge(settings, {"encoders": {"names": (method.arm,)}})
    elif method.options:
        raise InputError(f"The arm '{method.arm}' has no options: write them under settings.")
    config = RunConfig.build(dataset, given=settings)
    if by_itself:
        config = method_config(config, method.arm, tune=given.tune, options=method.options)
    return Ask(config, method.arm, metric, tuple(range(given.splits)))
