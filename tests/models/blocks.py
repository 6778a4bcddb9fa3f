"""A small stochastic block graph, and the checks that encoders and decoders share."""

from collections.abc import Callable

import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import NodeSplit, split_nodes
from bes.models.encoders import EncoderEnsemble
from bes.seeding import generator


def block_graph(n: int = 120, n_classes: int = 3, *, sparse: bool = False, seed: int = 0) -> Graph:
    """Classes of equal size; edges mostly within a class, features a weak hint of it."""
    rng = generator(seed, "blocks")
    y = torch.arange(n) % n_classes
    chance = torch.where(y[:, None] == y, 0.12, 0.02)
    edges = (torch.rand(n, n, generator=rng) < chance).triu(1).nonzero().t()
    words = torch.rand(n, 12, generator=rng) < 0.1 + 0.25 * (torch.arange(12) % n_classes == y[:, None])
    x = words.float()
    if sparse:
        row, col = x.nonzero().t()
        return Graph(Sparse.from_coo(row, col, torch.ones(row.numel()), (n, 12)), edges, y)
    return Graph(x, edges, y)


def encoded_blocks() -> tuple[Graph, NodeSplit, EncoderEnsemble]:
    """The graph with a tenth of its labels, and two encoders that were trained a little."""
    graph = block_graph()
    split = split_nodes(graph, 0.1, 0.4)
    return graph, split, EncoderEnsemble(["gcn", "sage"], 8, epochs=15).fit(graph, split)


def relabelled(graph: Graph, part: str) -> tuple[Graph, NodeSplit, NodeSplit]:
    """The graph without labels, its split, and the same split with the labels of `part` rolled."""
    split = split_nodes(graph)
    other = graph.y.clone()
    nodes = getattr(split, part)
    other[nodes] = (other[nodes] + 1) % graph.n_classes
    changed = NodeSplit(split.train, split.val, split.test, split.name, split.n_classes, other)
    return graph.without_labels(), split, changed


def recorder(states: list[list[Tensor]]) -> Callable[..., None]:
    """A callback that keeps every parameter and buffer of every epoch."""

    def record(_epoch: int, model: torch.nn.Module, _row: dict[str, float]) -> None:
        states.append([value.clone() for value in model.state_dict().values()])

    return record


def same(first: list[list[Tensor]], second: list[list[Tensor]]) -> bool:
    return len(first) == len(second) and all(
        torch.equal(a, b) for one, two in zip(first, second, strict=True) for a, b in zip(one, two, strict=True)
    )
