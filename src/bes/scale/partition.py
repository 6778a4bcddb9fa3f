"""A graph cut into parts of about equal size with few edges between them.

`metis` is the k-way method of the package pymetis. `communities` needs no package: clusters are joined in pairs, level
by level, those first that share the most edges for their sizes; nodes in the order of the tree that this makes are cut
into runs of equal length; and nodes then move to the part that holds more of their neighbours, as far as sizes allow.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.graph import Graph

#: Who cuts the graph.
Partitioner = Literal["metis", "communities"]

#: How far a part may be from the mean size where nodes move between parts.
SLACK = 0.05

#: How often all nodes are asked whether they would move.
ROUNDS = 50


def partition(graph: Graph, n_parts: int, kind: Partitioner, rng: torch.Generator) -> Tensor:
    """The part of each node `[N]`, 0 .. n_parts - 1; no part is empty.

    Args:
        rng: Stream on the graph's device that settles ties; `metis` has its own and is the same each time.
    """
    if not 1 <= n_parts <= graph.n_nodes:
        raise InputError(f"The graph '{graph.name}' cannot be cut into {n_parts} parts: give 1 to {graph.n_nodes}.")
    if kind == "metis":
        return _metis(graph, n_parts)
    part = _runs(_order(graph.edge_index, graph.n_nodes, rng), n_parts)
    return _refined(part, graph.edge_index, n_parts, rng)


def halo_share(graph: Graph, part: Tensor) -> float:
    """Halo rows of all parts for each node: how often a node is a neighbour in a part that is not its own."""
    row, col = graph.edge_index
    across = part[row] != part[col]
    seen = torch.unique(part[row[across]] * graph.n_nodes + col[across])
    return float(seen.numel() / graph.n_nodes)


def _metis(graph: Graph, n_parts: int) -> Tensor:
    try:
        from pymetis import CSRAdjacency, part_graph
    except ImportError:
        raise InputError(
            "Cutting a graph by METIS needs the package pymetis: pip install 'bes-graph[scale]', "
            "or use batching=full, or partition=communities for a method that has it."
        ) from None
    degree = torch.bincount(graph.edge_index[0], minlength=graph.n_nodes)
    starts = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
    edges = CSRAdjacency(starts.cpu().numpy(), graph.edge_index[1].contiguous().cpu().numpy())
    found = part_graph(n_parts, edges, recursive=False).vertex_part
    return _filled(torch.tensor(list(found), dtype=torch.long), n_parts).to(graph.device)


def _filled(part: Tensor, n_parts: int) -> Tensor:
    """Each empty part gets a node of the part that is largest by then."""
    size = torch.bincount(part, minlength=n_parts)
    for empty in (size == 0).nonzero().flatten().tolist():
        largest = int(size.argmax())
        part[int((part == largest).nonzero()[-1])] = empty
        size[largest] -= 1
        size[empty] += 1
    return part


def _runs(order: Tensor, n_parts: int) -> Tensor:
    """Runs of an order of the nodes, whose lengths differ by at most one."""
    part = torch.empty_like(order)
    part[order] = torch.arange(len(order), device=order.device) * n_parts // len(order)
    return part


def _order(edge_index: Tensor, n_nodes: int, rng: torch.Generator) -> Tensor:
    """Nodes in an order of the leaves of the tree of joined clusters."""
    row, col = edge_index
    weight = torch.ones(len(row), dtype=torch.double, device=row.device)
    size = torch.ones(n_nodes, dtype=torch.double, device=row.device)
    cluster = torch.arange(n_nodes, device=row.device)
    order = cluster
    while len(row):
        joined = _joined(row, col, weight / (size[row] * size[col]), len(size), rng)
        count = int(joined.max()) + 1
        if count == len(size):
            break
        cluster = joined[cluster]
        order = order[torch.argsort(cluster[order], stable=True)]
        size = torch.zeros(count, dtype=torch.double, device=row.device).index_add_(0, joined, size)
        row, col, weight = _contracted(joined[row], joined[col], weight, count)
    return order


def _joined(row: Tensor, col: Tensor, score: Tensor, count: int, rng: torch.Generator) -> Tensor:
    """The new cluster of each of `count` clusters, after most of them are joined in pairs.

    Two that are best for each other are a pair. The others that want the same one are paired among themselves, or
    the neighbours of a hub would be joined one a level.
    """
    tie = torch.rand(count, dtype=torch.double, device=row.device, generator=rng)
    score = score * (1 + 1e-6 * (tie[row] + tie[col]))
    best = score.new_zeros(count).scatter_reduce_(0, row, score, "amax")
    hit = score == best[row]
    wanted = row.new_full((count,), -1).scatter_reduce_(0, row[hit], col[hit], "amax")
    own = torch.arange(count, device=row.device)
    mutual = (wanted >= 0) & (wanted[wanted] == own)
    root = torch.where(mutual, torch.minimum(own, wanted), own)
    left = ((wanted >= 0) & ~mutual).nonzero().flatten()
    left = left[torch.argsort(wanted[left], stable=True)]
    second = _rank(wanted[left]) % 2 == 1
    root[left[second]] = left[second.roll(-1)]
    joined: Tensor = torch.unique(root, return_inverse=True)[1]
    return joined


def _contracted(row: Tensor, col: Tensor, weight: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Edges between clusters, each once, with summed weights."""
    between = row != col
    return added_up(row[between], col[between], weight[between], count)


def added_up(row: Tensor, col: Tensor, value: Tensor, n_columns: int) -> tuple[Tensor, Tensor, Tensor]:
    """Entries of a matrix sorted by row, those of the same place added up."""
    key, place = torch.unique(row * n_columns + col, return_inverse=True)
    total = torch.zeros(len(key), dtype=value.dtype, device=value.device).index_add_(0, place, value)
    return key // n_columns, key % n_columns, total


def _refined(part: Tensor, edge_index: Tensor, n_parts: int, rng: torch.Generator) -> Tensor:
    """Nodes move to the part with most of their neighbours; sizes stay within `SLACK` of the mean, and above 0."""
    mean = len(part) / n_parts
    low, high = max(1, int(mean * (1 - SLACK))), -int(-mean * (1 + SLACK) // 1)
    for _ in range(ROUNDS):
        mover, target = _wishes(part, edge_index, n_parts, rng)
        size = torch.bincount(part, minlength=n_parts)
        kept = _rank(target) < (high - size)[target]
        mover, target = mover[kept], target[kept]
        kept = _rank(part[mover]) < (size - low)[part[mover]]
        if not bool(kept.any()):
            break
        part[mover[kept]] = target[kept]
    return part


def _wishes(part: Tensor, edge_index: Tensor, n_parts: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Nodes with more neighbours in another part than in their own, those that gain most first, and that part.

    A coin keeps half of them back, so that neighbours do not change places for ever.
    """
    key, count = torch.unique(edge_index[0] * n_parts + part[edge_index[1]], return_counts=True)
    node, there = key // n_parts, key % n_parts
    own = there == part[node]
    held = torch.zeros_like(part).index_add_(0, node[own], count[own])
    gain = count - held[node]
    best = torch.zeros_like(part).scatter_reduce_(0, node, gain, "amax")
    willing = torch.rand(len(part), device=part.device, generator=rng) < 0.5
    wish = ((gain > 0) & (gain == best[node]) & willing[node]).nonzero().flatten()
    wish = wish[_rank(node[wish]) == 0]  # one part of those that are equally good
    wish = wish[torch.argsort(gain[wish], descending=True, stable=True)]
    return node[wish], there[wish]


def _rank(group: Tensor) -> Tensor:
    """The place of each entry among the entries of its group, from 0, in their order."""
    order = torch.argsort(group, stable=True)
    ordered = group[order]
    rank = torch.empty_like(group)
    rank[order] = torch.arange(len(group), device=group.device) - torch.searchsorted(ordered, ordered)
    return rank
