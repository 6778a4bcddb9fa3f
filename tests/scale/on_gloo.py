"""Ranks over gloo: shapes embeddings of one graph, and leaves what each rank finds."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import torch
from oracles.forked import forked
from safetensors.torch import save_file
from torch import Tensor

from bes.core.shaper import BoundaryShaper
from bes.graph.graph import Graph
from bes.graph.synthetic import sbm
from bes.scale.exchange import Halo
from bes.scale.group import RankGroup
from bes.scale.halo import cut
from bes.scale.ranks import Ranks, joined

#: Batches smaller than the boundary, so that drawing them is tested too.
OPTIONS: dict[str, Any] = {"n_iter": 15, "delta": 20.0, "tau": 10.0, "alpha": 0.01, "tol": 0.0, "batch_size": 20}
CASES: dict[str, dict[str, Any]] = {
    "views": {"scope": "views", "n_views": 2},
    "self": {"scope": "self"},
    "neighbors": {"scope": "neighbors"},
    "graph": {"scope": "self", "neighborhood": "graph"},
}
#: On ranks over gloo: fewer iterations, since every message waits for its turn on a busy machine, and on four ranks
#: one case with a halo and one without.
ON_GLOO = {**OPTIONS, "n_iter": 8}
OF_SIZE = {2: tuple(CASES), 4: ("views", "neighbors")}


def problem(size: int) -> tuple[Graph, Tensor, Tensor]:
    """A graph whose features are embeddings, labels of a part of its nodes, and each node's rank.

    Parts are uneven, and no node of the last one has a label.
    """
    graph = sbm(n_nodes=200, n_classes=3, n_features=6, degree=5.0, noise=0.6, separation=0.7)
    draw = torch.Generator().manual_seed(3)
    owner = (torch.rand(200, generator=draw) ** 2 * size).long()
    labels = torch.where(torch.rand(200, generator=draw) < 0.7, graph.y, -1)
    return graph, labels.masked_fill(owner == size - 1, -1), owner


def shaped(ranks: Ranks) -> dict[str, Tensor]:
    """Own nodes' numbers and, case by case, their shaped embeddings, boundaries and shift scores."""
    graph, labels, owner = problem(ranks.size)
    part = list(cut(graph, owner, ranks.size))[ranks.rank]
    found = {"own": part.own}
    for case in OF_SIZE[ranks.size]:
        options = CASES[case]
        near = options["scope"] == "neighbors" or "neighborhood" in options
        group = RankGroup(part, Halo(part, ranks) if near else None, ranks)
        z, y = group.extended(part.x), group.extended(labels[part.own])
        edges = part.edge_index if near else None
        shaper = BoundaryShaper(**ON_GLOO, **options).fit(z, y, edges, group=group)
        found[f"{case}.z"] = shaper.transform(z, edges, group=group)[: part.n_own].contiguous()
        for layer, nodes in enumerate(shaper.boundary_):
            found[f"{case}.boundary.{layer}"] = part.own[torch.from_numpy(nodes)]
    return found


def leave_shaped(rank: int, size: int, port: int, folder: Path) -> None:
    """One rank, as torchrun would start it."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    with joined("cpu") as ranks:
        save_file(shaped(ranks), folder / f"{ranks.rank}.safetensors")


def start_ranks(size: int, folder: Path) -> None:
    """Shape on ranks that are processes."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    ranks = [forked().Process(target=leave_shaped, args=(rank, size, port, folder)) for rank in range(size)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(300)
        process.kill()
    assert [process.exitcode for process in ranks] == [0] * size
