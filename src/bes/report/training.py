"""How shaping went: loss and displacement by iteration, a pair of charts a layer; and how long everything took."""

from __future__ import annotations

import statistics
from typing import Any

from bes.report.charts import Chart, chart, padded
from bes.summary import Record

#: Points of a curve, at most, and steps that are few enough to be drawn one and all.
POINTS, FEW = 300, 100

#: What an iteration did, with the mark and the words it gets.
STEPS = {
    "kept": ("h0", "the step was kept"),
    "refused": ("m-3,-3l6,6m0,-6l-6,6", "refused: the loss would not fall"),
    "none": ("m-3,0h6", "no step: the batch is separated already, or nothing moves"),
}

#: What is drawn where the encoders were shaped, by its key in the history.
EPOCHS = {
    "loss": "loss",
    "score": "score on validation, which chose the epoch",
    "joined": "nodes without a label that joined",
    "displacement": "mean distance that nodes moved in an epoch",
}

#: Stages of a run in order, and what they are called.
STAGES = {"encoders": "encoders", "shaping": "shaping", "decoder": "decoder", "evaluate": "evaluation"}


def kind(row: dict[str, Any]) -> str:
    """Whether an iteration's step was kept, was refused, or was none."""
    return "kept" if row["accepted"] else "refused" if row["displacement"] > 0 else "none"


def curves(history: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Charts by layer, and how many steps were what; None without iterations."""
    if not history:
        return None
    if "share" in history[0]:  # the encoders were shaped, by all nodes in every epoch
        return {"layers": [{"charts": [_curve(title, history, key) for key, title in EPOCHS.items()]}]}
    layers = []
    for layer in sorted({row["layer"] for row in history}):
        rows = [row for row in history if row["layer"] == layer]
        count = {name: sum(kind(row) == name for row in rows) for name in STEPS}
        every = -(-len(rows) // POINTS)
        layers.append({"layer": layer, "count": count, "every": every, "charts": _charts(layer, rows, every)})
    seen = {name: step for name, step in STEPS.items() if any(one["count"][name] for one in layers)}
    return {"layers": layers, "seen": seen}


def told(record: Record) -> str:
    """What was decided where the encoders were shaped, and by what; empty for other shaping."""
    guard, trust = record.get("guard"), record.get("trust")
    if guard is None or trust is None:
        return ""
    kept, epoch = record.get("encoders_kept") or [], record["selected_epoch"]["shaping"]
    text = f"Encoders: {', '.join(kept)}. " if kept else ""
    text += f"Teacher: {record['teacher']}. "
    if record.get("both_views"):
        text += "Predictions are read from the graph and from nodes that look alike. "
    if trust["weighted"]:
        text += "Edges counted by how far they can be trusted. "
    if "better" in guard:  # records of before have it not
        text += f"On validation {guard['better']:.0%} of the epochs were better than the encoders as they came"
        if guard["asked"] is not None:
            text += f", where {guard['asked']:.0%} were asked for"
        text += ". "
    return text + ("The encoders were kept as they came." if epoch < 0 else f"Epoch {epoch} was kept.")


def _charts(layer: int, rows: list[dict[str, Any]], every: int) -> list[Chart]:
    """Loss and displacement of one layer."""
    drawn = []
    titles = {"loss": "loss of the batch", "displacement": "displacement Δ of the virtual step (Eq. 12)"}
    for key, title in titles.items():
        one = _curve(f"Layer {layer}: {title}", rows, key, every)
        for name, (shape, _) in STEPS.items():
            found = [row for row in rows if kind(row) == name]
            found = found if len(found) <= FEW else found[::every]
            one.marks([(row["iteration"], row[key]) for row in found], shape, name)
        drawn.append(one)
    return drawn


def _curve(title: str, rows: list[dict[str, Any]], key: str, every: int = 1) -> Chart:
    """One value by iteration."""
    values = [row[key] for row in rows]
    x = ("iteration", float(rows[0]["iteration"]), float(rows[-1]["iteration"]))
    one = chart(title, x, ("", *padded(values, zero=key == "displacement")))
    one.about = f"From {values[0]:.4g} in the first iteration to {values[-1]:.4g} in the last of {len(values)}."
    one.line([(row["iteration"], row[key]) for row in rows[::every]], "curve")
    return one


def times(records: list[Record]) -> dict[str, Any]:
    """Mean seconds by stage and arm, and each stage's share of the slowest arm; the largest peak memory."""
    arms = []
    for arm in dict.fromkeys(record["arm"] for record in records):
        seconds = [record["seconds"] for record in records if record["arm"] == arm]
        mean = {stage: statistics.fmean(s.get(stage, 0.0) for s in seconds) for stage in STAGES}
        arms.append({"arm": arm, "seconds": mean, "total": sum(mean.values())})
    arms.sort(key=lambda one: {"control": 0, "bes": 1}.get(one["arm"], 2))
    slowest = max(one["total"] for one in arms) or 1.0
    for one in arms:
        one["shares"] = {stage: 100 * value / slowest for stage, value in one["seconds"].items()}
    peaks = [record["peak_mib"] for record in records if record["peak_mib"]]
    return {"stages": STAGES, "arms": arms, "peak": max(peaks, default=None)}
