"""What a link split must not be: parts that share a pair, in either direction, or a graph that knows too much."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from torch import Tensor

from bes.errors import InputError
from bes.graph import negatives
from bes.graph.arrays import Array, to_tensor
from bes.graph.graph import Graph


def check_disjoint(
    graph: Graph, train: Tensor, held: dict[str, Tensor], name: str, *, repeats: bool, leaky: bool = False
) -> None:
    """Refuse a split whose unordered pairs are in more than one part, or whose message graph holds other edges.

    Args:
        graph: The message graph.
        held: The edges `val` and `test`, and negatives under names that end in `_negatives`.
        repeats: A split by time: its edges, and the source's own negatives, are taken as they are.
        leaky: The message graph holds the held-out edges on purpose.
    """
    where = f"split '{name}' of graph '{graph.name}'"

    def keys(pairs: Tensor) -> Tensor:
        return negatives.pair_keys(pairs, graph.n_nodes).sort().values

    edges = {"train": keys(train), **{part: keys(held[part]) for part in ("val", "test")}}
    others = {part: keys(pairs) for part, pairs in held.items() if part.endswith("_negatives")}
    if not leaky and not keys(graph.edge_index).unique().equal(edges["train"].unique()):
        raise InputError(f"The message graph of {where} does not hold the training edges alone: take the others out.")
    for part, pairs in held.items():
        if (pairs[0] == pairs[1]).any():
            raise InputError(f"The part '{part}' of {where} pairs a node with itself: take such pairs out.")
    if repeats:
        return
    for part, found in {**edges, **others}.items():
        if found.unique().numel() < found.numel():
            raise InputError(f"The part '{part}' of {where} holds a pair twice, in one or both directions: drop one.")
    every = {**edges, **others}
    with_edges = [(edge, part) for edge in edges for part in others]
    for one, other in [*combinations(edges, 2), *with_edges, ("val_negatives", "test_negatives")]:
        if negatives.contains(every[one], every[other]).any():
            raise InputError(f"The parts '{one}' and '{other}' of {where} share a pair: make them disjoint.")


def read_pairs(arrays: dict[str, Array], key: str, path: Path, graph: Graph) -> Tensor:
    """The pairs `[2, P]` under `key` of a split file, checked against `graph`."""
    array = arrays.get(key)
    if array is None or array.ndim != 2 or array.shape[0] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"The split file {path} has no pairs '{key}' of shape (2, P): use one that a run has saved.")
    if array.size and not 0 <= array.min() <= array.max() < graph.n_nodes:
        raise InputError(f"The split file {path} names nodes outside graph '{graph.name}': use its own split.")
    return to_tensor(array, f"pairs '{key}' in {path}")
