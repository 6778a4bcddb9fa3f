"""Pairs of nodes that are not linked: uniform, two hops apart, or matched by degree."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.sparse import Sparse

#: Draws after which a hard negative that cannot be found is given up.
ROUNDS = 30

#: Nodes on each side, in the order of degrees, that count as equally connected.
WINDOW = 10


def pair_keys(pairs: Tensor, n_nodes: int) -> Tensor:
    """One number an unordered pair `[2, P]` -> `[P]`: (u, v) and (v, u) are the same pair."""
    return torch.minimum(pairs[0], pairs[1]) * n_nodes + torch.maximum(pairs[0], pairs[1])


def key_pairs(keys: Tensor, n_nodes: int) -> Tensor:
    """The pairs `[2, P]` of `pair_keys`, smaller node first."""
    return torch.stack([keys // n_nodes, keys % n_nodes])


def contains(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    """Which of `keys` `[P]` are among `sorted_keys`, bool `[P]`."""
    if sorted_keys.numel() == 0:
        return torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(sorted_keys, keys).clamp(max=sorted_keys.numel() - 1)
    return sorted_keys[place] == keys


def uniform(count: int, n_nodes: int, taken: Tensor, rng: torch.Generator) -> Tensor:
    """`count` different unordered pairs `[2, count]`, uniform over all pairs but `taken` (sorted keys)."""
    free = n_nodes * (n_nodes - 1) // 2 - taken.numel()
    if count > free:
        raise InputError(
            f"{count} pairs of nodes without an edge are needed, but the graph has {free}: it is too dense to "
            "predict links in."
        )
    if free < 4 * count:  # so few that drawing would crawl; then all pairs are not many more than the edges
        rows = torch.triu_indices(n_nodes, n_nodes, 1, device=taken.device)
        keys = pair_keys(rows, n_nodes)
        keys = keys[~contains(taken, keys)]
        order = torch.randperm(free, generator=rng, device=rng.device).to(keys.device)
        return key_pairs(keys[order[:count]], n_nodes)

    def draw(missing: int) -> Tensor:
        shape = (2, missing + missing // 8 + 8)
        return torch.randint(n_nodes, shape, generator=rng, device=rng.device).to(taken.device)

    return collect(draw, count, n_nodes, taken, rounds=None)


def two_hop(count: int, edge_index: Tensor, n_nodes: int, taken: Tensor, rng: torch.Generator) -> Tensor:
    """Up to `count` pairs `[2, <= count]` that share a neighbour in `edge_index` and are not `taken`.

    They are the ends of random paths of two edges, so that pairs with many common neighbours come
    more often. Fewer than `count` where the graph has not as many.
    """
    if edge_index.shape[1] == 0:
        return edge_index
    ones = torch.ones(edge_index.shape[1], device=edge_index.device)
    pointer = Sparse.from_coo(edge_index[0], edge_index[1], ones, (n_nodes, n_nodes)).csr.crow_indices().long()

    def draw(missing: int) -> Tensor:
        edge = torch.randint(edge_index.shape[1], (2 * missing + 8,), generator=rng, device=rng.device)
        start, middle = edge_index[:, edge.to(edge_index.device)]
        part = torch.rand(edge.shape, generator=rng, device=rng.device, dtype=torch.float64).to(edge_index.device)
        degree = pointer[middle + 1] - pointer[middle]
        step = torch.minimum((part * degree).long(), degree - 1)
        return torch.stack([start, edge_index[1, pointer[middle] + step]])

    return collect(draw, count, n_nodes, taken, rounds=ROUNDS)


def degree_matched(pairs: Tensor, degree: Tensor, taken: Tensor, rng: torch.Generator) -> Tensor:
    """For each of `pairs` `[2, P]` one with the same first end and a second end of about the same degree.

    Either end may be the one that is kept. Degrees alone cannot tell these from `pairs`. Pairs for
    which none is found after some draws are left out.
    """
    n_nodes = degree.numel()
    shuffle = torch.randperm(n_nodes, generator=rng, device=rng.device).to(degree.device)
    order = shuffle[torch.sort(degree[shuffle], stable=True).indices]  # equal degrees in random order
    place = torch.empty_like(order).scatter_(0, order, torch.arange(n_nodes, device=degree.device))
    ranked = degree[order].contiguous()
    swap = torch.randint(2, (pairs.shape[1],), generator=rng, device=rng.device).bool().to(pairs.device)
    kept, replaced = torch.where(swap, pairs[1], pairs[0]), torch.where(swap, pairs[0], pairs[1])
    alike = degree[replaced].contiguous()
    low = torch.minimum(torch.searchsorted(ranked, alike), place[replaced] - WINDOW).clamp(min=0)
    high = torch.maximum(torch.searchsorted(ranked, alike, right=True), place[replaced] + WINDOW + 1)
    high = high.clamp(max=n_nodes)
    found, open_ = torch.empty(0, dtype=torch.long, device=degree.device), torch.arange(len(kept), device=degree.device)
    for _ in range(ROUNDS):
        part = torch.rand(open_.shape, generator=rng, device=rng.device, dtype=torch.float64).to(degree.device)
        chosen = order[torch.minimum(low[open_] + (part * (high - low)[open_]).long(), high[open_] - 1)]
        keys = pair_keys(torch.stack([kept[open_], chosen]), n_nodes)
        good = (chosen != kept[open_]) & ~contains(taken, keys) & ~torch.isin(keys, found) & _first(keys)
        found, open_ = torch.cat([found, keys[good]]), open_[~good]
        if open_.numel() == 0:
            break
    return key_pairs(found, n_nodes)


def collect(draw: Callable[[int], Tensor], count: int, n_nodes: int, taken: Tensor, rounds: int | None) -> Tensor:
    """Different pairs from `draw` that are neither loops nor `taken`, until there are `count` or `rounds` are over."""
    found = torch.empty(0, dtype=torch.long, device=taken.device)
    while found.numel() < count and rounds != 0:
        pairs = draw(count - found.numel())
        pairs = pairs[:, pairs[0] != pairs[1]]
        keys = pair_keys(pairs, n_nodes)
        keys = torch.cat([found, keys[~contains(taken, keys)]])
        found = keys[_first(keys)]
        rounds = None if rounds is None else rounds - 1
    return key_pairs(found[:count], n_nodes)


def _first(keys: Tensor) -> Tensor:
    """Where each key occurs for the first time, bool `[P]`."""
    order = torch.sort(keys, stable=True)
    new = torch.ones_like(keys, dtype=torch.bool)
    new[order.indices[1:]] = order.values[1:] != order.values[:-1]
    return new
