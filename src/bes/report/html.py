"""The run's report: one HTML file that opens without a network."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from bes.files import whole_file
from bes.graph.graph import Graph
from bes.records import RunDirectory, writing
from bes.report.figures import embedding_map
from bes.summary import Summary, difference, values, verdict

METRICS = {"acc": "accuracy", "f1": "macro F1", "auroc": "AUROC"}
PARTS = {"val": "validation", "test": "test", "test_boundary": "test, at the boundary"}


def write_report(directory: RunDirectory, graph: Graph) -> Path:
    """Write `report.html` into a run's folder from its records and return its path."""
    records = sorted(directory.records, key=lambda r: (r["seed"], r["arm"]))
    template = resources.files("bes.report").joinpath("template.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(template).render(
        config=directory.config,
        graph=graph,
        verdict=verdict(records),
        peeked=directory.config.selection == "test-peek",
        rows=table(records),
        records=records,
        figure=_figure(directory, graph, records),
        versions=records[0]["versions"] if records else {},
        settings=directory.config.model_dump(mode="json"),
    )
    path = directory.path / "report.html"
    with writing(directory.path), whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def table(records: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Mean and standard error of each metric by arm, and the paired difference, as text in percent."""
    rows = []
    for part, part_name in PARTS.items():
        for metric, metric_name in METRICS.items():
            by_arm = {
                arm: Summary.of(list(values(records, arm, metric, part).values())).text() for arm in ("control", "bes")
            }
            paired = difference(records, metric, part).text(signed=True)
            rows.append({"part": part_name, "metric": metric_name, **by_arm, "difference": paired})
    return rows


def _figure(directory: RunDirectory, graph: Graph, records: list[dict[str, Any]]) -> str:
    """The map of the first recorded seed."""
    if not records:
        return ""
    seed = records[0]["seed"]
    with np.load(directory.path / "embeddings" / f"{seed}.npz", allow_pickle=False) as file:
        arrays = {key: file[key] for key in ("before", "after", "boundary")}
    with np.load(directory.path / "splits" / f"{seed}.npz", allow_pickle=False) as file:
        train = file["train"]
    return embedding_map(**arrays, y=graph.y.cpu().numpy(), train=train)
