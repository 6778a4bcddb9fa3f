"""Edges and node pairs as a graph keeps them: checked, in one form, with the classes of the edges along."""

from __future__ import annotations

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.negatives import pair_keys

#: The parts of a source's own link split: links held out, and pairs of nodes that are not links.
PAIRS = ("val_edges", "test_edges", "val_negatives", "test_negatives")


def undirected(edge_index: Tensor, n_nodes: int) -> Tensor:
    """Both directions of every edge once, without loops, sorted by row and column."""
    row, col = edge_index
    keep = row != col
    row, col = row[keep], col[keep]
    keys = torch.unique(torch.cat([row * n_nodes + col, col * n_nodes + row]))
    return torch.stack([keys // n_nodes, keys % n_nodes])


def undirected_labels(edge_index: Tensor, label: Tensor, n_nodes: int, name: str) -> Tensor:
    """The class of each column of `undirected(edge_index)`: the one known class among an edge's copies, else -1."""
    loop = edge_index[0] == edge_index[1]
    label = label[~loop]
    keys, copy_of = torch.unique(pair_keys(edge_index[:, ~loop], n_nodes), return_inverse=True)
    known = torch.full_like(keys, -1).scatter_reduce(0, copy_of, label, "amax")
    clash = (label >= 0) & (label != known[copy_of])
    if clash.any():
        at = int(torch.where(clash, copy_of, keys.numel()).argmin())  # the first in order, however edges are stored
        low, high = divmod(int(keys[copy_of[at]]), n_nodes)
        raise InputError(
            f"The edge between nodes {low} and {high} of graph '{name}' is given with the classes {int(label[at])} and "
            f"{int(known[copy_of[at]])}: give all copies and both directions of an edge one class, or -1 where unknown."
        )
    return known[torch.searchsorted(keys, pair_keys(undirected(edge_index, n_nodes), n_nodes))]


def check_edges(edge_index: Tensor, n: int, name: str, what: str = "edges") -> Tensor:
    """Node pairs `[2, E]` as int64; `what` they are is for the message."""
    if not whole(edge_index):
        raise InputError(
            f"The {what} of graph '{name}' have dtype {str(edge_index.dtype).removeprefix('torch.')}: "
            "node indices must be integers."
        )
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(
            f"The {what} of graph '{name}' have shape {tuple(edge_index.shape)}: give an array of shape (2, E)."
        )
    edge_index = edge_index.long()
    if edge_index.numel() and (int(edge_index.min()) < 0 or int(edge_index.max()) >= n):
        raise InputError(
            f"The {what} of graph '{name}' name nodes from {int(edge_index.min())} to {int(edge_index.max())}, "
            f"but it has {n} nodes: indices must lie in 0..{n - 1}."
        )
    return edge_index


def check_edge_labels(label: Tensor, n_edges: int, name: str) -> Tensor:
    if label.dim() != 1 or label.shape[0] != n_edges:
        raise InputError(
            f"The edge labels of graph '{name}' have shape {tuple(label.shape)}, but edge_index has {n_edges} columns: "
            "give one class a column, -1 where unknown, or no edge labels."
        )
    if not whole(label) or (n_edges and int(label.long().min()) < -1):
        raise InputError(
            f"The edge labels of graph '{name}' must be integers from 0, or -1 where unknown: "
            "number the classes 0, 1, 2, ..."
        )
    return label.long()


def check_pairs(pairs: dict[str, Tensor], n: int, name: str) -> dict[str, Tensor]:
    """The link split in the order of `PAIRS`, each part checked."""
    stray = [key for key in pairs if key not in PAIRS]
    if stray:
        raise InputError(f"The pairs of graph '{name}' have an unknown part '{stray[0]}': use {', '.join(PAIRS)}.")
    return {key: check_edges(pairs[key], n, name, f"pairs '{key}'") for key in PAIRS if key in pairs}


def whole(values: Tensor) -> bool:
    """Whether these are integers."""
    return not (values.dtype.is_floating_point or values.dtype.is_complex or values.dtype == torch.bool)
