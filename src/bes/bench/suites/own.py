"""A suite of the user's own, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bes.bench.model import ACCURACY, AUC, F1, PAIRED, Ask, Cell, Metric, Sheet, Suite
from bes.bench.suites.settings import HONEST
from bes.config import RunConfig
from bes.errors import InputError
from bes.models.convs import CONVS, pick
from bes.models.heuristics import HEURISTICS
from bes.settings import merge, read_file, validate

METRICS: dict[str, Metric] = {
    "acc": ACCURACY,
    "f1": F1,
    "auroc": AUC,
    "hits@50": Metric("Hits@50", "metrics.test.hits@50"),
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Method(_Strict):
    """A row: an arm, and the settings in which it differs from the others."""

    arm: str
    settings: dict[str, Any] = {}


class SuiteFile(_Strict):
    """What a suite's file may say; see docs/bench.md."""

    title: str = ""
    task: Literal["node", "link"] = "node"
    datasets: list[str] = Field(min_length=1)
    methods: dict[str, Method | str] = Field(min_length=1)
    metrics: list[Literal["acc", "f1", "auroc", "hits@50"]] = ["acc"]
    splits: int = Field(5, ge=1)
    settings: dict[str, Any] = {}
    reference: str = ""


def read_suite(path: Path) -> Suite:
    """The suite of a `.yaml` or `.json` file: every method on every data set, selected on validation."""
    given = validate(SuiteFile, read_file(path))
    methods = {row: Method(arm=m) if isinstance(m, str) else m for row, m in given.methods.items()}
    rows = list(methods)
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


def _column(dataset: str, metric: str, given: SuiteFile) -> str:
    name = Path(dataset).stem if dataset.endswith(".npz") else dataset
    return name if len(given.metrics) == 1 else f"{name} {METRICS[metric].name}"


def _ask(method: Method, dataset: str, metric: Metric, given: SuiteFile) -> Ask:
    settings: dict[str, Any] = {"task": given.task, "rivals": ()}
    merge(settings, given.settings)
    if method.arm not in PAIRED:
        pick({**CONVS, **(HEURISTICS if given.task == "link" else {})}, method.arm, "arm")
        if method.arm in CONVS:
            merge(settings, {"encoders": {"names": (method.arm,)}})
    merge(settings, method.settings)
    if settings.get("selection", "validation") != "validation":
        raise InputError("A suite of one's own selects on validation: leave `selection` out of its settings.")
    return Ask(RunConfig.build(dataset, given=settings), method.arm, metric, tuple(range(given.splits)))
