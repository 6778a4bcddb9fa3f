"""Variants of a graph, by words after its name: `cora#edges:1`, `cora#features:0.5`, `cora#binary`.

`binary` keeps the two largest classes. `edges:R` adds R times as many edges as there are, each between random nodes of
two classes; `features:R` sets a share R of the features to zero. Noise is drawn once, so that every run of a variant
sees the same graph; `edges:1:7` draws it by seed 7. It knows all labels: it is an experiment, not a method.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.negatives import collect, pair_keys
from bes.graph.sparse import Sparse, rows_of

#: What parts a name from its variants, and a variant from its numbers.
MARK, COLON = "#", ":"


def base_name(name: str) -> str:
    """The name without its variants."""
    return name.partition(MARK)[0]


def vary(graph: Graph, name: str) -> Graph:
    """The variants that `name` asks for, one after another; the graph gets that name."""
    _, *wanted = name.split(MARK)
    for word in wanted:
        graph = _one(graph, word)
    return replace(graph, name=name) if wanted else graph


def _one(graph: Graph, word: str) -> Graph:
    kind, *numbers = word.split(COLON)
    if kind == "binary" and not numbers:
        return two_classes(graph)
    try:
        if kind not in ("edges", "features") or not 1 <= len(numbers) <= 2:
            raise ValueError
        share, seed = float(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 0
        if not 0 <= share <= (1 if kind == "features" else 100):
            raise ValueError
    except ValueError:
        raise InputError(
            f"The variant '{MARK}{word}' of a graph is not known: use {MARK}edges:R with R from 0 to 100, "
            f"{MARK}features:R with R from 0 to 1, or {MARK}binary."
        ) from None
    return with_edges(graph, share, seed) if kind == "edges" else without_features(graph, share, seed)


def with_edges(graph: Graph, share: float, seed: int = 0) -> Graph:
    """The graph with `share` times as many edges more, uniform over unlinked pairs of two classes."""
    rng, y = seeding.generator(seed, "noise", "edges"), graph.y.cpu()
    sizes = torch.bincount(y[y >= 0])
    edges = graph.edge_index.cpu()
    taken = pair_keys(edges, graph.n_nodes).unique()
    count = round(share * taken.numel())
    across = (int(sizes.sum()) ** 2 - int((sizes**2).sum())) // 2
    crossing = int((y[edges] >= 0).all(0).logical_and(y[edges[0]] != y[edges[1]]).sum()) // 2
    if 2 * count > across - crossing:  # beyond half of them, drawing would crawl
        raise InputError(
            f"Graph '{graph.name}' cannot get {count} more edges between classes, as {across - crossing} pairs are "
            "free: add fewer."
        )

    def draw(missing: int) -> Tensor:
        pairs = torch.randint(graph.n_nodes, (2, 2 * missing + 8), generator=rng)
        return pairs[:, (y[pairs] >= 0).all(0) & (y[pairs[0]] != y[pairs[1]])]

    found = collect(draw, count, graph.n_nodes, taken, rounds=None)
    return replace(graph, edge_index=torch.cat([edges, found, found.flip(0)], dim=1).to(graph.device))


def without_features(graph: Graph, share: float, seed: int = 0) -> Graph:
    """The graph with a share of its features, drawn one by one, set to zero."""
    rng, x = seeding.generator(seed, "noise", "features"), graph.x
    if not isinstance(x, Sparse):
        kept = torch.rand(x.shape, generator=rng) >= share
        return replace(graph, x=x * kept.to(x.device))
    row, column, value = x.coo()
    kept = (torch.rand(value.shape, generator=rng) >= share).to(x.device)
    return replace(graph, x=Sparse.from_coo(row[kept], column[kept], value[kept], (x.shape[0], x.shape[1])))


def two_classes(graph: Graph) -> Graph:
    """The subgraph of the two classes with the most nodes, as classes 0 and 1."""
    y = graph.y
    counts = torch.bincount(y[y >= 0])
    if int((counts > 0).sum()) < 2:
        raise InputError(f"Graph '{graph.name}' has one class only: '{MARK}binary' needs two.")
    chosen = counts.topk(2).indices.sort().values
    nodes = torch.isin(y, chosen).nonzero().flatten()
    place = torch.full((graph.n_nodes,), -1)
    place[nodes] = torch.arange(nodes.numel())
    edges = place[graph.edge_index]
    return Graph(rows_of(graph.x, nodes), edges[:, (edges >= 0).all(0)], (y[nodes] == chosen[1]).long(), graph.name)
