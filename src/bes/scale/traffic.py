"""What ranks hand over, from the sizes alone: the messages of `docs/scale.md`, which runs count (`traffic`)."""

from __future__ import annotations

from dataclasses import dataclass

from bes.scale.cost import Kind, Sizes, weights


@dataclass(frozen=True)
class Traffic:
    """Messages that each rank takes part in, and bytes that all ranks together hand over.

    Attributes:
        exchanges, exchanged: Of halo rows.
        sums, summed: Of tensors that are added up over ranks.
        gathered: Bytes of rows that every rank gets from all others.
    """

    exchanges: float = 0
    exchanged: float = 0
    sums: float = 0
    summed: float = 0
    gathered: float = 0

    def __add__(self, other: Traffic) -> Traffic:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Traffic(*(one + another for one, another in pairs))

    def times(self, count: float) -> Traffic:
        """The same so many times."""
        return Traffic(*(count * value for value in vars(self).values()))


def exchange(halo: float, width: float, count: float = 1) -> Traffic:
    """`halo` rows, those of all ranks, of `width` floats, `count` times."""
    return Traffic(exchanges=count, exchanged=4 * halo * width * count)


def _sums(ranks: int, size: int) -> Traffic:
    """Gradients with the loss, and two numbers of the score."""
    return Traffic(sums=2, summed=ranks * (4 * (size + 1) + 16))


def encoder_epoch(kind: Kind, sizes: Sizes, ranks: int, halo: float) -> Traffic:
    """A training step and its score: both layers forwards and backwards, and forwards again."""
    first, p = sizes.features, kind.propagations
    early = first < sizes.hidden  # features are propagated as they are, and have no gradient
    there = exchange(halo, first, 2 * p) if early else exchange(halo, sizes.hidden, 3 * p)
    found = weights(kind, first, sizes.hidden, sizes.classes)
    return there + exchange(halo, sizes.classes, 3 * p) + _sums(ranks, found)


def encoder(kind: Kind, sizes: Sizes, ranks: int, halo: float, epochs: int) -> Traffic:
    """All epochs, and the embeddings at the end."""
    last = exchange(halo, min(sizes.features, sizes.hidden), kind.propagations)
    return encoder_epoch(kind, sizes, ranks, halo).times(epochs) + last


def decoder_epoch(kind: Kind, sizes: Sizes, ranks: int, halo: float) -> Traffic:
    """The second layer forwards and backwards, and forwards again."""
    found = weights(kind, sizes.columns, sizes.hidden, sizes.classes)
    return exchange(halo, sizes.classes, 3 * kind.propagations) + _sums(ranks, found)


def decoder(kind: Kind, sizes: Sizes, ranks: int, halo: float, epochs: int) -> Traffic:
    """The propagation before training, all epochs, and the logits at the end."""
    p = kind.propagations
    once = exchange(halo, sizes.columns, p) + exchange(halo, sizes.classes, p)
    return once + decoder_epoch(kind, sizes, ranks, halo).times(epochs)


def shaping_layer(sizes: Sizes, ranks: int, boundary: float) -> Traffic:
    """Before a layer trains: class sums, region minima, the labelled rows with two numbers and a class each."""
    d, c = sizes.columns, sizes.classes
    return Traffic(
        sums=7,
        summed=ranks * (8 * (1 + d + c + c * d + d * d) + 8 * 4),
        gathered=sizes.labelled * (4 * d + 24) + 8 * boundary,
    )


def shaping_step(found: int, ranks: int, batch_changes: bool = True) -> Traffic:
    """An iteration: the gradient and a trial's loss, the displacement, and the size of a batch that is drawn anew.

    Args:
        found: Weights of the layer.
    """
    sizes = [4 * (found + 1), 4, 8, *([8] if batch_changes else [])]
    return Traffic(sums=len(sizes), summed=ranks * sum(sizes))


def shaper(sizes: Sizes, ranks: int, boundary: list[int], iterations: int, found: int, batch: int = 256) -> Traffic:
    """Every layer with its boundary nodes; with fewer than a batch these are the same in each iteration."""
    total = Traffic()
    for nodes in boundary:
        step = shaping_step(found, ranks, batch_changes=batch < nodes)
        total += shaping_layer(sizes, ranks, nodes) + step.times(iterations)
    return total
