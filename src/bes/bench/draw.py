"""The figures of a suite, from the runs that it kept and from its filled sheets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bes.bench import figures
from bes.bench.compare import metrics_of, ranked
from bes.bench.diagrams import critical_difference
from bes.bench.fill import FilledSheet
from bes.bench.model import ACCURACY, Suite
from bes.bench.suites.variants import SENSITIVITY
from bes.stored import StoredRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Folders of the runs that were kept, by the name of the picture.
Kept = Mapping[str, Path]

#: The seed that pictures are drawn from.
SEED = 0

Drawn = dict[str, "Figure"]


def draw(suite: Suite, filled: Sequence[FilledSheet], kept: Kept) -> Drawn:
    """Every figure that can be drawn, by its name; pictures whose data set is absent are left out."""
    drawn = {}
    if suite.figure == "sensitivity":
        if any(cell.values for sheet in filled for cell in sheet.cells):
            drawn["sensitivity"] = _sensitivity(filled)
    elif suite.figure and kept:
        drawn |= FIGURES[suite.figure](suite, kept)
    return drawn | _diagrams(filled)


def _diagrams(filled: Sequence[FilledSheet]) -> Drawn:
    """A critical-difference diagram for each honest sheet and metric with methods and data sets enough."""
    drawn = {}
    for sheet in filled:
        reference = sheet.sheet.reference
        for metric in metrics_of(sheet) if reference and sheet.sheet.protocol.honest else ():
            ranks = ranked(sheet, metric)
            if ranks is not None:
                kind = "" if metric == ACCURACY else f"-{metric.name.split(',')[0].lower()}"
                drawn[f"{sheet.sheet.name}{kind}-ranks"] = critical_difference(ranks, mark=reference)
    return drawn


def _sensitivity(filled: Sequence[FilledSheet]) -> Figure:
    here = [found for sheet in filled if (found := _with_values(sheet)).cells]
    defaults = {f"sensitivity-{name}": f"{default:g}" for name, (_, _, default) in SENSITIVITY.items()}
    return figures.sensitivity(here, defaults)


def _with_values(filled: FilledSheet) -> FilledSheet:
    """The sheet without the rows whose data set is absent."""
    rows = {cell.cell.row for cell in filled.cells if cell.values}
    cells = tuple(cell for cell in filled.cells if cell.cell.row in rows)
    return FilledSheet(replace(filled.sheet, cells=tuple(cell.cell for cell in cells)), cells)


def _stored(suite: Suite, kept: Kept) -> list[tuple[str, StoredRun]]:
    """Data set and run of each picture that was kept, in the suite's order."""
    return [
        (picture.name.split()[0], StoredRun(kept[picture.name])) for picture in suite.pictures if picture.name in kept
    ]


def _shaping_process(suite: Suite, kept: Kept) -> Drawn:
    return {"shaping-process": figures.shaping_process(_stored(suite, kept), SEED)}


def _encoders(suite: Suite, kept: Kept) -> Drawn:
    return {f"encoders-{name.lower()}": figures.encoders(run, SEED) for name, run in _stored(suite, kept)}


def _final_embeddings(suite: Suite, kept: Kept) -> Drawn:
    return {"final-embeddings": figures.final_embeddings(_stored(suite, kept), SEED)}


def _convergence(_: Suite, kept: Kept) -> Drawn:
    drawn = {}
    for task in ("NC", "LP"):
        panels: dict[str, dict[str, dict[str, object]]] = {}
        for name, path in kept.items():
            dataset, of, layers = name.split()
            if of == task:
                panels.setdefault(f"{dataset} {task}", {})[layers] = json.loads((path / "curves.json").read_text())
        if panels:
            drawn[f"convergence-{task.lower()}"] = figures.convergence(panels)
    return drawn


def _binary_vs_multiclass(suite: Suite, kept: Kept) -> Drawn:
    drawn = {}
    runs = {picture.name: StoredRun(kept[picture.name]) for picture in suite.pictures if picture.name in kept}
    for name, run in runs.items():
        dataset, _, kind = name.partition(" ")
        if kind == "binary" and f"{dataset} NC L1+2" in runs:
            figure = figures.binary_vs_multiclass(run, runs[f"{dataset} NC L1+2"], SEED)
            drawn[f"binary-vs-multiclass-{dataset.lower()}"] = figure
    return drawn


FIGURES: dict[str, Callable[[Suite, Kept], Drawn]] = {
    "shaping-process": _shaping_process,
    "encoders": _encoders,
    "final-embeddings": _final_embeddings,
    "convergence": _convergence,
    "binary-vs-multiclass": _binary_vs_multiclass,
}
