"""Traffic by formula against the messages of a run, written out one by one."""

from __future__ import annotations

import pytest

from bes.scale import traffic
from bes.scale.cost import KINDS, Sizes, weights
from bes.scale.traffic import Traffic


def written_out(kind: str, sizes: Sizes, ranks: int, halo: int, epochs: int) -> Traffic:
    """What training an encoder exchanges, propagation by propagation."""
    hops, narrow = range(KINDS[kind].propagations), sizes.features < sizes.hidden
    exchanges = exchanged = sums = summed = 0
    for _ in range(epochs):
        widths = [sizes.features if narrow else sizes.hidden for _ in hops]  # forwards
        widths += [sizes.classes for _ in hops]
        widths += [sizes.classes for _ in hops]  # backwards
        widths += [] if narrow else [sizes.hidden for _ in hops]
        widths += [min(sizes.features, sizes.hidden) for _ in hops] + [sizes.classes for _ in hops]  # the score
        exchanges += len(widths)
        exchanged += sum(4 * halo * width for width in widths)
        sums += 2
        summed += ranks * (4 + 4 * weights(KINDS[kind], sizes.features, sizes.hidden, sizes.classes) + 2 * 8)
    exchanges += len(hops)
    exchanged += sum(4 * halo * min(sizes.features, sizes.hidden) for _ in hops)
    return Traffic(exchanges, exchanged, sums, summed)


@pytest.mark.parametrize("kind", ["gcn", "cheb", "sage"])
@pytest.mark.parametrize("features", [5, 40])
def test_an_encoder_hands_over_what_is_written_out(kind: str, features: int) -> None:
    sizes = Sizes(100, 300, features=features, hidden=16, classes=4)
    assert traffic.encoder(KINDS[kind], sizes, 3, 50, 7) == written_out(kind, sizes, 3, 50, 7)


def test_a_decoder_propagates_its_embeddings_once() -> None:
    sizes = Sizes(100, 300, hidden=16, classes=4, columns=32)
    found = traffic.decoder(KINDS["cheb"], sizes, 2, 50, 3)
    assert found.exchanges == 2 + 3 * 6 + 2
    assert found.exchanged == 4 * 50 * (2 * 32 + 3 * 6 * 4 + 2 * 4)
    assert found.sums == 6


def test_an_iteration_of_shaping_does_not_depend_on_the_nodes() -> None:
    step = traffic.shaping_step(10, 2)
    assert (step.sums, step.summed) == (4, 2 * (44 + 20))
    assert traffic.shaping_step(10, 2, batch_changes=False).sums == 3
    few, many = (Sizes(n, 7 * n, labelled=100) for n in (1_000, 1_000_000))
    assert traffic.shaping_layer(few, 2, 9) == traffic.shaping_layer(many, 2, 9)
    layer = traffic.shaping_layer(few, 2, 9)
    assert traffic.shaper(few, 2, [9, 9], 5, 10, batch=4) == (layer + step.times(5)).times(2)
