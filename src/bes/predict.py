"""Classes for every node of a run, and for nodes that came later, as a table that its owner can join to the input."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from bes.errors import InputError
from bes.files import whole_file
from bes.graph.arrays import Array
from bes.graph.extend import extend
from bes.graph.graph import Graph
from bes.stored import StoredRun
from bes.summary import TIE, headline, values

#: The file of a run's predictions.
PREDICTIONS = "predictions.csv"

#: The path of a CSV file, or a pandas DataFrame.
Rows = str | Path | Any


def choose_arm(records: list[dict[str, Any]]) -> tuple[str, str]:
    """The arm that is better on validation, `control` on a tie, and a sentence that says so. Test plays no part."""
    metric, name = headline(records)
    by_arm = [values(records, arm, metric, "val") for arm in ("control", "bes")]
    both = sorted(by_arm[0].keys() & by_arm[1].keys())
    if not both:
        raise InputError("No seed has validation figures of both control and bes yet: let `bes run` end first.")
    control, shaped = (fmean(found[seed] for seed in both) for found in by_arm)
    arm = "bes" if shaped - control > TIE else "control"
    tie = " (a tie goes to the simpler one)" if abs(shaped - control) <= TIE else ""
    seeds = f"{len(both)} seed" + ("s" if len(both) > 1 else "")
    peek = ", with epochs selected on test (test-peek)" if records[0].get("selection") == "test-peek" else ""
    figures = f"mean {name} over {seeds} is {control:.2%} for control and {shaped:.2%} for bes"
    return arm, f"Arm {arm} was chosen on validation, where {figures}{tie}{peek}."


def mean_prob(run: StoredRun, arm: str) -> Array:
    """Probability of each class `[N, C]`, the mean over the run's seeds."""
    _check_task(run)
    shape = (run.graph.n_nodes, run.graph.n_classes)
    seeds = run.seeds_of(arm)
    total = np.zeros(shape)
    for seed in seeds:
        prob = run.predictions(seed, arm).get("prob")
        if prob is None or prob.shape != shape or prob.dtype.kind != "f":
            name = f"predictions/{seed}-{arm}.npz"
            raise InputError(f"The file {run.path / name} does not fit the run's graph: run it again.")
        total += prob
    return total / len(seeds)


def predict_run(run: StoredRun) -> tuple[Path, str]:
    """Write `predictions.csv` into the run's folder: every node, in the input's order, by the arm chosen on validation.

    Returns:
        The file, and the sentence of `choose_arm`.
    """
    _check_task(run)
    _check_arms(run)
    arm, sentence = choose_arm(run.records)
    path, graph = run.path / PREDICTIONS, run.graph
    write_predictions(path, graph.ids, id_column(graph), graph.class_names, mean_prob(run, arm))
    return path, sentence


def predict_new(
    run: StoredRun,
    nodes: Rows,
    edges: Rows | None,
    out: Path,
    *,
    arm: str | None = None,
    device: str | torch.device = "auto",
    over: Callable[[list[int]], Iterable[int]] = list,
) -> tuple[int, list[str]]:
    """Write the classes of nodes that were not there in training, by every seed's model.

    Args:
        nodes: Their table, with the columns that the run's nodes had; see `bes.graph.extend.extend`.
        edges: Their edges, to one another and to nodes of the run; None if there are none.
        out: The CSV file to write, a row a new node.
        arm: `control` or `bes`; unless given, the one chosen on validation.
        over: Goes through the seeds, as a progress bar does.

    Returns:
        How many nodes were predicted, and notes for their owner, a sentence each.
    """
    _check_task(run)
    _check_arms(run)
    _check_target(run, out, nodes, edges)
    notes: list[str] = []
    if arm is None:
        arm, sentence = choose_arm(run.records)
        notes.append(sentence)
    seeds, classes = run.seeds_of(arm), run.graph.class_names
    columns(id_column(run.graph), classes)
    graph, old = extend(run.graph, nodes, edges)
    total = np.zeros((graph.n_nodes - old, len(classes)))
    for seed in over(seeds):
        total += run.model(seed, device).predict_proba(graph, arm)[old:].cpu().numpy()
    write_predictions(out, graph.ids[old:], id_column(graph), classes, total / len(seeds))
    return len(total), notes + list(graph.names.notes if graph.names else ())


def write_predictions(path: Path, ids: Sequence[str], id_column: str, classes: Sequence[str], prob: Array) -> None:
    """A CSV file in UTF-8, whole or not at all: a row a node with its id, its likeliest class and all probabilities.

    Args:
        ids: What each node is called; cells hold exactly that, also where a spreadsheet would see a formula.
        prob: Probabilities `[N, C]`, written with six significant digits.
    """
    header = columns(id_column, classes)
    if prob.shape != (len(ids), len(classes)):
        raise InputError(
            f"The probabilities have shape {prob.shape}, but there are {len(ids)} ids and {len(classes)} classes: "
            "give a row an id and a column a class."
        )
    likeliest = prob.argmax(1).tolist() if len(ids) else []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            # its lines end with \r\n: with \n alone Python leaves a \r in an id unquoted
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(header)
            for name, best, row in zip(ids, likeliest, prob.tolist(), strict=True):
                writer.writerow([name, classes[best], *(f"{p:.6g}" for p in row)])
    except OSError as error:
        raise InputError(f"The file {path} cannot be written ({error.strerror}): choose another place.") from None


def columns(id_column: str, classes: Sequence[str]) -> list[str]:
    """The header of a table of predictions, if the ids' column can stand in it."""
    own = ["prediction", *(f"prob_{name}" for name in classes)]
    if id_column in own:
        raise InputError(f"The id column is called {id_column!r}, as a column of the predictions is: rename it.")
    return [id_column, *own]


def check_columns(graph: Graph) -> None:
    """Refuse, before anything is trained, a graph whose predictions could not be written."""
    columns(id_column(graph), graph.class_names)


def id_column(graph: Graph) -> str:
    """What the graph's owner calls the ids."""
    return graph.names.id_column if graph.names else "node"


def _check_target(run: StoredRun, out: Path, *inputs: Rows | None) -> None:
    """Refuse to write over what is read, and over the run's own predictions."""
    target = out.resolve()
    given = [Path(path).resolve() for path in inputs if isinstance(path, str | Path)]
    if target in given or target == (run.path / PREDICTIONS).resolve():
        raise InputError(f"The predictions would replace {out}, which is still needed: choose another --out.")


def _check_task(run: StoredRun) -> None:
    if run.config.task != "node":
        raise InputError(
            f"The run in {run.path} is of task {run.config.task}, and gives no classes to nodes: use one of task node."
        )


def _check_arms(run: StoredRun) -> None:
    """Refuse a run that has neither arm whose model can be kept."""
    if not run.config.paired:
        raise InputError(
            f"The run in {run.path} is of methods alone and kept no model to predict with: run it with bes among its "
            "--method, or read predictions/SEED-METHOD.npz for the nodes that were there."
        )
