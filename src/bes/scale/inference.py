"""Exact inference in blocks of rows: one layer over all nodes, block by block, then the next.

A block sees its own nodes and their neighbours with the degrees of the whole graph, so that each of its rows is what a
pass over the whole graph gives. Beyond the layer's input and output, memory holds one block at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from bes.graph.sparse import Features, Operators, rows_of
from bes.scale.batches import Parts

#: A map over one hop: from the layer's input, what the sweep before gave (if there was one) and operators to rows.
Sweep = Callable[[Features, Tensor | None, Operators], Tensor]


def layer(sweeps: Sequence[Sweep], x: Features, parts: Parts) -> Tensor:
    """A layer `[N, out]` of all nodes of features `[N, F]`.

    Args:
        sweeps: What the layer is made of (`Conv.sweeps`), each over one hop.
    """
    before: Tensor | None = None
    for sweep in sweeps:
        after: Tensor | None = None
        for piece in parts.blocks():
            seen = None if before is None else before.index_select(0, piece.nodes)
            rows = sweep(rows_of(x, piece.nodes), seen, piece.operators)[: piece.n_own]
            if after is None:
                after = rows.new_empty(parts.n_nodes, rows.shape[1])
            after[piece.own] = rows
        before = after
    assert before is not None
    return before
