"""Link heuristics: scores of node pairs from the graph or its features alone, with nothing to train.

All scores are float64, `[P]` on the device of the pairs: counts and products of degrees stay exact, so that ties
stay ties. Degrees and neighbours are those of the given graph, which is to hold the known links only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import scipy.sparse as sp
import torch
from torch import Tensor

from bes.core.neighbors import BLOCK
from bes.graph.graph import Graph
from bes.graph.negatives import contains
from bes.graph.sparse import Sparse


def common_neighbors(graph: Graph, pairs: Tensor) -> Tensor:
    """The number of nodes next to both ends of each pair `[2, P]`."""
    return _over_common(graph, pairs, torch.ones_like(_degree(graph, pairs.device)))


def adamic_adar(graph: Graph, pairs: Tensor) -> Tensor:
    """The sum of 1 / log(degree) over the common neighbours of each pair `[2, P]`."""
    degree = _degree(graph, pairs.device)
    return _over_common(graph, pairs, 1 / degree.clamp(min=2).log())  # a common neighbour has two at least


def resource_allocation(graph: Graph, pairs: Tensor) -> Tensor:
    """The sum of 1 / degree over the common neighbours of each pair `[2, P]`."""
    return _over_common(graph, pairs, 1 / _degree(graph, pairs.device).clamp(min=2))


def preferential_attachment(graph: Graph, pairs: Tensor) -> Tensor:
    """The product of the degrees of both ends of each pair `[2, P]`."""
    return _degree(graph, pairs.device)[pairs].prod(0)


def feature_cosine(graph: Graph, pairs: Tensor) -> Tensor:
    """The cosine between the features of both ends of each pair `[2, P]`, 0 where one has none."""
    node, place = torch.unique(pairs, return_inverse=True)
    squares = _inner(graph.x, node.expand(2, -1))[place].prod(0)
    # one root of the product, not two roots: the cosine of equal rows is then 1 to the last bit
    return _inner(graph.x, pairs) / squares.clamp(min=torch.finfo(torch.float64).tiny).sqrt()


#: What a heuristic is called -> scores `[P]` of pairs `[2, P]` on a graph.
HEURISTICS: dict[str, Callable[[Graph, Tensor], Tensor]] = {
    "cn": common_neighbors,
    "aa": adamic_adar,
    "ra": resource_allocation,
    "pa": preferential_attachment,
    "cosine": feature_cosine,
}


def _degree(graph: Graph, device: torch.device) -> Tensor:
    return torch.bincount(graph.edge_index[0], minlength=graph.n_nodes).double().to(device)


def _over_common(graph: Graph, pairs: Tensor, weight: Tensor) -> Tensor:
    """The sum of `weight` `[N]` over the common neighbours of each pair.

    The neighbours of the end that has fewer are looked up among those of the other: a hub costs no more than
    the node that it is paired with.
    """
    n, (row, col) = graph.n_nodes, graph.edge_index.to(pairs.device)
    edges = row * n + col  # sorted, as the graph keeps them
    degree = torch.bincount(row, minlength=n)
    first = degree.cumsum(0) - degree
    few, many = torch.where(degree[pairs[0]] <= degree[pairs[1]], pairs, pairs.flip(0))
    score = torch.zeros(pairs.shape[1], dtype=torch.float64, device=pairs.device)
    for block in _blocks(degree[few]):
        pair, step = _expand(degree[few[block]])
        neighbor = col[first[few[block]][pair] + step]
        wanted = many[block][pair] * n + neighbor
        common = contains(edges, wanted)
        score[block] = score[block].index_add(0, pair[common], weight[neighbor[common]])
    return score


def _expand(size: Tensor) -> tuple[Tensor, Tensor]:
    """For each of `size[i]` entries of every i: the i, and the entry's number within it."""
    owner = torch.repeat_interleave(size)
    return owner, torch.arange(owner.numel(), device=size.device) - (size.cumsum(0) - size)[owner]


def _blocks(size: Tensor) -> Iterator[slice]:
    """Runs of pairs with about BLOCK entries; `size` `[P]` is what each pair has."""
    _, counts = torch.unique_consecutive(size.cumsum(0) // BLOCK, return_counts=True)
    stop = 0
    for count in counts.tolist():
        start, stop = stop, stop + count
        yield slice(start, stop)


def _inner(x: Tensor | Sparse, pairs: Tensor) -> Tensor:
    """The inner product of both rows of each pair, block by block, on the device of the pairs."""
    if isinstance(x, Sparse):
        return _inner_sparse(x, pairs)
    there = pairs.to(x.device)
    blocks = (x[there[:, block]].double() for block in _blocks(torch.full_like(there[0], x.shape[1])))
    return torch.cat([there.new_empty(0, dtype=torch.float64), *(a.mul(b).sum(1) for a, b in blocks)]).to(pairs.device)


def _inner_sparse(x: Sparse, pairs: Tensor) -> Tensor:
    """With scipy, which walks along two sorted rows; on the CPU."""
    csr, there = x.csr.cpu(), pairs.cpu()
    parts = csr.values().double().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy()
    rows = sp.csr_array(parts, shape=(x.shape[0], x.shape[1]))
    stored = csr.crow_indices().diff().long()
    score = torch.empty(there.shape[1], dtype=torch.float64)
    for block in _blocks(stored[there].sum(0)):
        u, v = there[:, block].numpy()
        score[block] = torch.from_numpy(rows[u].multiply(rows[v]).sum(1))
    return score.to(pairs.device)
