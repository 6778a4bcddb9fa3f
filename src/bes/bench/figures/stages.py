"""What a run's figures show: its embedding by stage, the classes, and the boundary nodes of each stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bes.core import inputs
from bes.core.algorithm import Boundary, find_boundary
from bes.errors import InputError
from bes.graph.arrays import Array
from bes.pipeline.results import make_shaper
from bes.report.maps import sample
from bes.stored import StoredRun

#: Points of a panel, at most.
POINTS = 5_000


@dataclass(frozen=True)
class Stages:
    """The embedding of one seed, as it goes in and after each layer.

    Attributes:
        z: The embeddings, `[N, D]` each.
        at: The boundary nodes of each, bool `[N]`: those that its layer found, and those that one more would find.
        y: The class by which each row is coloured `[N]`, -1 where unknown.
    """

    z: list[Array]
    at: list[Array]
    y: Array

    @classmethod
    def of(cls, run: StoredRun, seed: int) -> Stages:
        rows = _rows(run, seed)
        z = [rows["before"], *rows["between"], rows["after"]] if rows["boundaries"].any() else [rows["before"]]
        at = list(rows["boundaries"][: len(z)])
        if len(at) < len(z):
            at.append(_found(run, seed, z[-1], rows))
        return cls(z, at, row_classes(run, rows))

    def drawn(self, limit: int = POINTS) -> Array:
        """The rows that are drawn, at most `limit`: those at a boundary first, then a share of each class."""
        return sample(np.any(self.at, axis=0), self.y, limit)


def row_classes(run: StoredRun, rows: dict[str, Array]) -> Array:
    """The class of each row `[N]`, also of those whose class the shaper was not told; -1 where unknown."""
    if "label" in rows and run.records[0].get("boundary_mode") != "classes":
        return rows["label"]
    return run.graph.y.cpu().numpy()


def told(run: StoredRun, seed: int, rows: dict[str, Array]) -> torch.Tensor:
    """The classes that the shaper was told `[N]`: of the training part, -1 elsewhere."""
    if "label" in rows:
        return torch.from_numpy(rows["label"])
    train = torch.from_numpy(run.split(seed)["train"])
    labels = torch.full_like(run.graph.y, -1)
    labels[train] = run.graph.y[train]
    return labels


def boundary_of(run: StoredRun, seed: int, z: Array, rows: dict[str, Array]) -> Boundary:
    """What the run's shaper sees in `z` `[N, D]` (lines 5 to 8 of Algorithm 1)."""
    graph = run.graph
    edges = inputs.both_directions(graph.edge_index, graph.n_nodes) if run.config.task == "node" else None
    return find_boundary(make_shaper(run.config, seed), torch.from_numpy(z), told(run, seed, rows), edges)


def _found(run: StoredRun, seed: int, z: Array, rows: dict[str, Array]) -> Array:
    at = np.zeros(len(z), dtype=bool)
    at[boundary_of(run, seed, z, rows).nodes.numpy()] = True
    return at


def _rows(run: StoredRun, seed: int) -> dict[str, Array]:
    if seed not in run.seeds:
        raise InputError(f"The run in {run.path} has no seed {seed}: use one of {', '.join(map(str, run.seeds))}.")
    return run.rows(seed)
