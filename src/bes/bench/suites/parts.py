"""Sheets that hold preset `strong` against rows with some of its parts, on splits of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bes.bench.model import ACCURACY, Ask, Cell, Metric, Sheet
from bes.bench.suites.settings import CONTROL, HONEST, Sections, method_config
from bes.config import RunConfig

#: Options of a run, by key.
Given = Mapping[str, Any]

#: Splits that are looked at here alone, and how many of them a graph of more than 10,000 nodes gets.
FRESH = tuple(range(100, 120))
FEWER = FRESH[:10]
LARGE = frozenset({"pubmed", "coauthor_cs", "amazon_computers"})

#: From the same encoders, in the same epochs, with the same guard: shaping with one of its parts or none. Sizes of
#: classes mean nothing where nobody is taught, and pseudo-labels are as they are known.
PARTS: dict[str, Given] = {
    "more epochs": {"sizes": None, "weight": 0.0, "gravity": 0.0},
    "prototypes": {"sizes": None, "weight": 0.0, "pulled": "labelled"},
    "pseudo-labels": {
        "sizes": None,
        "teacher": "smooth",
        "steps": 2,
        "restart": 0.0,
        "first": 0.5,
        "last": 0.5,
        "weight": 1.0,
        "balance": 0.0,
        "gravity": 0.0,
    },
    "look-alikes alone": {"sizes": None, "first": 0.0, "last": 0.0, "gravity": 0.0},
    "without sizes": {"sizes": None},
    "without gravity": {"gravity": 0.0},
    "without the guard": {"guard": None},
}
CONTROLS = ("more epochs", "prototypes", "pseudo-labels", "look-alikes alone")

#: What most graphs are held against.
JUDGED = {row: PARTS[row] for row in (*CONTROLS, "without the guard")}

#: The same where edges are noisy: the controls take the graph as it is; two more rows say what trust alone is worth,
#: and the rest without it.
NOISY_PARTS: dict[str, Given] = {
    **{row: {**PARTS[row], "trust": None} for row in CONTROLS},
    "without gravity": PARTS["without gravity"],
    "without trusted edges": {"trust": None},
    "trusted edges alone": {"sizes": None, "weight": 0.0, "gravity": 0.0},
}

#: Gravity beside pseudo-labels: on the quarter below the clear half, and on the hopeless quarter after it too.
BAND_PARTS: dict[str, Given] = {
    "pseudo-labels": PARTS["pseudo-labels"],
    "gravity on the band": {**PARTS["pseudo-labels"], "gravity": 0.3, "band": 0.25},
    "gravity on the hopeless too": {**PARTS["pseudo-labels"], "gravity": 0.3, "band": 0.5},
}

#: Methods of the arena that use the same nodes otherwise: a GCN from the start, of the same width and features.
ALONE = {"GCN": "gcn", "GCN, prototypes": "prototypes", "GCN, pseudo-labels": "pseudo-label"}

#: How preset `strong` shapes is nothing to them; with this their runs are those that were recorded before it had sizes.
UNSHAPED: Sections = {"encoder_shaper": {"sizes": None}}

#: All that is chosen is chosen by balanced accuracy: the rows, and the arms that they are.
BALANCED = {"BES, balanced": "bes", f"{CONTROL}, balanced": "control"}

#: Shaping of frozen embeddings, as the paper has it, by a decoder behind: three views of the graph.
FROZEN: Given = {"features": "unit", "encoders": {"names": ("mlp", "gcn", "cheb"), "channels": 64}}

#: What a row is, by its name.
ROWS = {
    "more epochs": "with the labelled nodes alone",
    "prototypes": "with gravity on all labelled nodes",
    "pseudo-labels": "with the clearest half of the other nodes by predictions smoothed twice",
    "gravity on the band": "with these and gravity on the quarter below them",
    "gravity on the hopeless too": "with these and gravity on all below them",
    "look-alikes alone": "with the labelled nodes alone, then read from look-alikes too by the rule that BES has",
    "without sizes": "as BES, whose classes may grow as its teacher has it",
    "without gravity": "as BES but without gravity at the boundary",
    "without the guard": "as BES, whose best epoch is kept if it alone is better on validation",
    "without trusted edges": "as BES on the graph as it is",
    "trusted edges alone": "with the labelled nodes alone on the weighted graph",
}


def _about(rows: Sequence[str], alone: Sequence[str] = ()) -> str:
    """The note of a sheet with these rows."""
    text = "Preset `strong`, one setting for all graphs. "
    named = [f"{ROWS[row]} (`{row}`)" for row in rows if row in ROWS]
    if named:
        text += (
            f"BES and these rows start from the encoders that `{CONTROL}` is, and train them on for as many epochs, "
            f"under the same guard unless it says otherwise: {'; '.join(named)}. "
        )
    if alone:
        text += "A GCN is the method of the arena, 64 wide with features of the same length. "
    return text + "Splits from 100 on, 20 or, on graphs of more than 10,000 nodes, 10; settings were chosen on others. "


def frozen_sheet(name: str, title: str, graphs: Mapping[str, str], split: str, variants: Mapping[str, Given]) -> Sheet:
    """Variants of shaping frozen embeddings beside the control that all of them have."""
    first = next(iter(variants.values()))
    rows = {**variants, CONTROL: first}
    cells = tuple(
        Cell(row, column, Ask(config, "control" if row == CONTROL else "bes", ACCURACY, FRESH))
        for row, given in rows.items()
        for column, graph in graphs.items()
        for config in [RunConfig.build(graph, given={"split": split, **FROZEN, **given})]
    )
    note = (
        "Preset `paper` with an MLP, a GCN and Cheb as encoders, 64 wide each, frozen; what they embed is shaped, and "
        "a decoder reads them. Splits from 100 on, 20 of them. "
    )
    return Sheet(name, f"{title}, test accuracy", HONEST, cells, note, CONTROL)


def strong_sheet(
    name: str,
    title: str,
    graphs: Mapping[str, str],
    split: str,
    parts: Mapping[str, Given],
    alone: Sequence[str] = (),
    *,
    balanced: bool = False,
    note: str = "",
    reference: str = "BES",
    metric: Metric = ACCURACY,
) -> Sheet:
    """BES, its control and rows with some of its parts, then methods alone, on graphs by their titles.

    Args:
        balanced: Whether BES and its control are there once more, chosen by balanced accuracy.
    """
    cells = tuple(
        Cell(row, column, _ask(row, graph, split, parts, metric))
        for row in ("BES", CONTROL, *parts, *alone, *(BALANCED if balanced else ()))
        for column, graph in graphs.items()
    )
    if balanced:
        note += "In rows called balanced, validation counts classes alike (`scoring=balanced_accuracy`), in both arms. "
    return Sheet(name, title, HONEST, cells, _about(tuple(parts), alone) + note, reference)


def _ask(row: str, graph: str, split: str, parts: Mapping[str, Given], metric: Metric) -> Ask:
    seeds = FEWER if graph in LARGE else FRESH
    if row in ALONE:
        method = ALONE[row]
        config = method_config(
            strong_config(graph, split, UNSHAPED), method, options={"features": "unit", "hidden": 64}
        )
        return Ask(config, method, metric, seeds)
    if row in BALANCED:
        return Ask(strong_config(graph, split, {"scoring": "balanced_accuracy"}), BALANCED[row], metric, seeds)
    own: Sections = {"encoder_shaper": parts[row]} if row in parts else {}
    return Ask(strong_config(graph, split, own), "control" if row == CONTROL else "bes", metric, seeds)


def strong_config(graph: str, split: str, more: Given | None = None) -> RunConfig:
    return RunConfig.build(graph, preset="strong", given={"split": split, **(more or {})})
