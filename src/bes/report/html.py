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
from bes.report import tables
from bes.report.figures import embedding_map
from bes.summary import headline, verdict

#: What "at the boundary" means, by task or by what was shaped.
AT_BOUNDARY = {
    "node": "the test nodes whose five nearest training nodes, in the unshaped embedding, do not all have one class",
    "classes": "the test pairs with an end whose five nearest labelled nodes (itself among them), in the unshaped "
    "embedding, do not all have one class",
    "clusters": "the test pairs with an end whose five nearest nodes (itself among them), in the unshaped "
    "embedding, are not all in one cluster",
    "pairs": "the test pairs whose five nearest training pairs, in the unshaped embedding, do not all have one class",
}


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
        rows=tables.paired(records),
        arms=tables.arms(records),
        headline=headline(records),
        at_boundary=AT_BOUNDARY[records[0].get("boundary_mode", "node") if records else "node"],
        records=records,
        figure=_figure(directory, graph, records),
        versions=records[0]["versions"] if records else {},
        settings=directory.config.model_dump(mode="json"),
    )
    path = directory.path / "report.html"
    with writing(directory.path), whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _figure(directory: RunDirectory, graph: Graph, records: list[dict[str, Any]]) -> str:
    """The map of the first recorded seed."""
    if not records:
        return ""
    seed = records[0]["seed"]
    with np.load(directory.path / "embeddings" / f"{seed}.npz", allow_pickle=False) as file:
        arrays = {key: file[key] for key in ("before", "after", "boundary")}
        if "label" in file.files:  # rows with the classes that the shaper saw
            y = file["label"]
            return embedding_map(**arrays, y=y, train=np.flatnonzero(y >= 0))
    with np.load(directory.path / "splits" / f"{seed}.npz", allow_pickle=False) as file:
        train = file["train"]
    return embedding_map(**arrays, y=graph.y.cpu().numpy(), train=train)
