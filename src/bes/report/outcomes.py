"""What control and bes say of the test part, read back in one form for nodes, links and edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bes.graph.arrays import Array
from bes.stored import StoredRun

#: The two arms that every run pairs.
ARMS = ("control", "bes")


@dataclass(frozen=True)
class Outcome:
    """The test part of one seed.

    Attributes:
        items: What is tested: nodes `[n, 1]` or pairs of nodes `[n, 2]`.
        truth: Their classes `[n]`.
        prob: By arm, the probability of each class `[n, C]`.
        guess: By arm, the class that is predicted `[n]`.
    """

    seed: int
    items: Array
    truth: Array
    prob: dict[str, Array]
    guess: dict[str, Array]

    def right(self, arm: str) -> Array:
        """Where the arm is right, bool `[n]`."""
        found: Array = self.guess[arm] == self.truth
        return found

    def fixed(self) -> Array:
        """Where control was wrong and bes is right, bool `[n]`."""
        found: Array = ~self.right("control") & self.right("bes")
        return found

    def broken(self) -> Array:
        """Where control was right and bes is wrong, bool `[n]`."""
        found: Array = self.right("control") & ~self.right("bes")
        return found


def outcomes(run: StoredRun) -> list[Outcome]:
    """An outcome a seed that has both arms and something to test."""
    both = [seed for seed in run.seeds if set(ARMS) <= {r["arm"] for r in run.records if r["seed"] == seed}]
    read = _of_nodes if run.config.task == "node" else _of_pairs
    return [found for found in (read(run, seed) for seed in both) if len(found.truth)]


def class_names(run: StoredRun) -> tuple[str, ...]:
    """What the classes are called that the run predicts."""
    if run.config.task == "node":
        return run.graph.class_names
    if run.config.task == "link":
        return ("no link", "link")
    return edge_class_names(run)


def edge_class_names(run: StoredRun) -> tuple[str, ...]:
    """What the classes of edges are called: the graph's own, or those made from the classes of the nodes."""
    graph = run.graph
    if graph.edge_label is None:
        return ("different class", "same class")
    own = graph.names.edge_classes[: graph.n_edge_classes] if graph.names else ()
    return own or tuple(str(c) for c in range(graph.n_edge_classes))


def _of_nodes(run: StoredRun, seed: int) -> Outcome:
    y = run.graph.y.cpu().numpy()
    test = run.split(seed)["test"]
    test = test[y[test] >= 0]
    prob = {arm: run.predictions(seed, arm)["prob"][test] for arm in ARMS}
    return Outcome(seed, test[:, None], y[test], prob, {arm: found.argmax(1) for arm, found in prob.items()})


def _of_pairs(run: StoredRun, seed: int) -> Outcome:
    files = {arm: run.predictions(seed, arm) for arm in ARMS}
    here = files["control"]["part"] == "test"
    first = files["control"]
    guess = {arm: _decide(run, seed, arm, file["score"][here]) for arm, file in files.items()}
    prob = {arm: file["prob"][here] for arm, file in files.items()}
    return Outcome(seed, first["pair"][here], first["label"][here], prob, guess)


def _decide(run: StoredRun, seed: int, arm: str, score: Array) -> Array:
    """The class by logits `[n, 1]` or `[n, C]`: links at the threshold chosen on validation, as their accuracy is."""
    if score.shape[1] > 1:
        best: Array = score.argmax(1)
        return best
    threshold = 0.0
    if run.config.task == "link":
        record = next(r for r in run.records if r["seed"] == seed and r["arm"] == arm)
        threshold = record["metrics"]["val"].get("threshold") or 0.0
    return (score[:, 0].astype(np.float64) > threshold).astype(np.int64)
