"""What each stage costs: flops, bytes moved, messages and bytes on the network, from the sizes alone.

The formulas of `docs/scale.md`. A stage is a list of operations (`bes.scale.work`); its traffic is what ranks of
torchrun hand over (`bes.scale.ranks` counts it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bes.scale.memory import kept_propagated
from bes.scale.work import Work, dense, gathered, passes, sparse


@dataclass(frozen=True)
class Sizes:
    """A graph and what is made of it.

    Attributes:
        nodes, edges: Of the graph; edges are counted once.
        features: Columns of dense features.
        hidden: Width of an encoder, and of a decoder's hidden layer.
        classes: Of the labels.
        columns: Of the embeddings that are shaped.
        labelled: Nodes with a label in training.
    """

    nodes: float
    edges: float
    features: int = 64
    hidden: int = 64
    classes: int = 10
    columns: int = 64
    labelled: float = 0.0


@dataclass(frozen=True)
class Kind:
    """A convolution: its weights, its propagations, and whether a node is among its own neighbours."""

    weights: int
    propagations: int
    loops: bool


KINDS = {
    "gcn": Kind(1, 1, True),
    "sgc": Kind(1, 1, True),
    "ssgc": Kind(1, 1, True),
    "cheb": Kind(3, 2, False),
    "sage": Kind(2, 1, False),
    "kgnn": Kind(2, 1, False),
}

#: Bytes an entry of a hidden layer beside products: bias 8, ReLU 8; in training also dropout 18 (16 random bits, their
#: comparison, what was kept as a byte, the product by blocks), and backwards 9 by that byte, ReLU 12 and the sum for
#: the bias 4.
FORWARD, TRAINED = 16, 59

#: Adam's bytes a weight: gradient and weight, both moments read and written.
ADAM = 28


def entries(kind: Kind, sizes: Sizes) -> float:
    """Stored entries of the matrix by which a convolution propagates."""
    return 2 * sizes.edges + (sizes.nodes if kind.loops else 0)


def weights(kind: Kind, first: int, hidden: int, last: int) -> int:
    """Parameters of two layers with their biases."""
    return kind.weights * (first * hidden + hidden * last) + hidden + last


def layer(kind: Kind, sizes: Sizes, inner: int, outer: int, *, trained: bool, inputs: bool) -> list[Work]:
    """One convolution from `inner` to `outer` columns.

    Args:
        trained: With the way back, to the weights.
        inputs: Its input has a gradient too.
    """
    n, k, stored = sizes.nodes, kind.weights, entries(kind, sizes)
    first = inner < outer  # the narrower side is propagated
    work = [dense("product", n, k * inner, outer)] if first else [dense("product", n, inner, k * outer)]
    hop = sparse("propagation", n, stored, inner if first else outer)
    ways = 1 + (trained and (inputs or not first))
    work += [hop] * (kind.propagations * ways)
    if trained:
        work.append(dense("gradient of the weight", n, inner, k * outer, result=k * inner * outer))
    if inputs:
        work.append(dense("gradient of the input", n, k * outer, inner))
    return work


def encoder_step(name: str, sizes: Sizes, *, ranks: bool = False) -> list[Work]:
    """A training step of an encoder on the full graph: forwards, backwards, Adam.

    Args:
        ranks: On ranks, which propagate features in each step.
    """
    kind, hidden, c = KINDS[name], sizes.hidden, sizes.classes
    wide = kind.weights * sizes.features
    kept = not ranks and kept_propagated(sizes.nodes, 2 * sizes.edges, wide, hidden)
    return [
        *(_propagated(sizes, wide) if kept else layer(kind, sizes, sizes.features, hidden, trained=True, inputs=False)),
        passes("hidden layer", sizes.nodes * hidden, TRAINED),
        *layer(kind, sizes, hidden, c, trained=True, inputs=True),
        passes("Adam", weights(kind, sizes.features, hidden, c), ADAM),
    ]


def _propagated(sizes: Sizes, wide: int) -> list[Work]:
    """A first layer and its way back, from `wide` columns that were propagated once before."""
    hidden = sizes.hidden
    return [
        dense("product", sizes.nodes, wide, hidden),
        dense("gradient of the weight", sizes.nodes, wide, hidden, result=wide * hidden),
    ]


def inference(name: str, sizes: Sizes) -> list[Work]:
    """Logits of all nodes."""
    kind, hidden = KINDS[name], sizes.hidden
    return [
        *layer(kind, sizes, sizes.features, hidden, trained=False, inputs=False),
        passes("hidden layer", sizes.nodes * hidden, FORWARD),
        *layer(kind, sizes, hidden, sizes.classes, trained=False, inputs=False),
    ]


def decoder_step(name: str, sizes: Sizes) -> list[Work]:
    """A training step of a decoder, whose first propagation was made once before."""
    kind, hidden, c = KINDS[name], sizes.hidden, sizes.classes
    return [
        *_propagated(sizes, kind.weights * sizes.columns),
        passes("hidden layer", sizes.nodes * hidden, TRAINED),
        *layer(kind, sizes, hidden, c, trained=True, inputs=True),
        passes("Adam", weights(kind, sizes.columns, hidden, c), ADAM),
    ]


def decoder_inference(name: str, sizes: Sizes) -> list[Work]:
    """Its logits of all nodes, likewise."""
    kind = KINDS[name]
    return [
        dense("product", sizes.nodes, kind.weights * sizes.columns, sizes.hidden),
        passes("hidden layer", sizes.nodes * sizes.hidden, FORWARD),
        *layer(kind, sizes, sizes.hidden, sizes.classes, trained=False, inputs=False),
    ]


def region(sizes: Sizes) -> list[Work]:
    """Class sums of the labelled rows, in float64, and the slabs of all pairs of classes, tested for all rows."""
    n, labelled, d, c = sizes.nodes, sizes.labelled, sizes.columns, sizes.classes
    pairs = c * (c - 1) / 2
    read = gathered("labelled rows", labelled, d)
    return [
        read.times(2),  # once for the mean, once for the sums about it
        passes("as float64", labelled * d, 36),
        Work("sums", 2 * (2 * labelled * d * (d + c)), 8 * labelled * (2 * d + c)),  # half the rate in float64
        # rows as float64, and for each pair its distance, made and changed in place
        Work("slabs", 2 * (2 * n * d * pairs), 20 * n * d + 32 * n * pairs),
    ]


def neighbours(sizes: Sizes, asked: float | None = None, exact: float = 1 << 30) -> list[Work]:
    """The nearest labelled rows, exactly up to `exact` distances, by cells above.

    Args:
        asked: Labelled rows that look for neighbours where a rank asks for its own alone; None for all of them.
    """
    n, d = sizes.labelled, sizes.columns
    asked = n if asked is None else asked
    if asked * n < exact:
        return [Work("distances", 2 * asked * n * d, 12 * asked * n)]
    cells = 4 * math.sqrt(n)
    looked = 8 * n / cells  # rows of the near cells
    learned = 5 * min(n, 32 * cells)
    return [
        Work("cells", 2 * (n + learned) * cells * d, 4 * (n + learned) * d),
        Work("distances", 2 * asked * looked * d, 12 * asked * looked, 4 * 8 * asked * d),
    ]


def displacement(rows: float, columns: int) -> list[Work]:
    """Eq. 12 of `rows` nodes with one view: they are laid out, moved, and the lengths added up."""
    return [
        passes("laid out", rows * columns, 8),
        Work("moved", 2 * rows * columns**2, 8 * rows * columns),
        passes("lengths", rows * columns, 12, 2),
    ]


def iteration(batch: float, sample: float, columns: int, classes: int) -> list[Work]:
    """An iteration of shaping: gradient and acceptance on the batch, the displacement by a sample."""
    trial = Work("batch", 2 * batch * columns * (columns + classes), 12 * batch * columns)
    back = Work("gradient", 2 * batch * columns**2, 12 * batch * columns)
    small = Work("weights", 10 * columns**3, 4 * 12 * columns**2)
    return [trial.times(2), back, small, gathered("sample", sample, columns), *displacement(sample, columns)]


def apply(sizes: Sizes) -> list[Work]:
    """A layer of the shaper on all rows, in blocks."""
    n, d = sizes.nodes, sizes.columns
    return [passes("laid out", n * d, 8), Work("layer", 2 * n * d * d, 8 * n * d), passes("sum", n * d, 12)]


def shaping(sizes: Sizes, layers: int = 2, iterations: int = 200, batch: int = 256, sample: float = 0) -> list[Work]:
    """All of it: each layer looks for the boundary, trains and is applied."""
    step = iteration(batch, sample or sizes.nodes, sizes.columns, sizes.classes)
    once = [*region(sizes), *neighbours(sizes), *apply(sizes), *apply(sizes)]
    return [work.times(layers) for work in (*once, *(part.times(iterations) for part in step))]


def flops(works: Iterable[Work]) -> float:
    """All flops of a stage."""
    return sum(work.flops for work in works)


def moved(works: Iterable[Work]) -> float:
    """All bytes of a stage."""
    return sum(work.bytes for work in works)
