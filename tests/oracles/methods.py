"""What several methods have in common, checked in one way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, split_links
from bes.graph.splits import split_nodes
from bes.models.baselines.method import Method
from bes.models.baselines.pair_problem import PairProblem
from bes.models.pairs import PairDecoder
from bes.seeding import generator


def dropout_is_for_training(graph: Graph, network: Callable[..., nn.Module]) -> None:
    """The same stream gives the same outputs, another one others; without dropout training and evaluation agree."""
    net = network(graph)
    out = [net(graph, generator(seed, "dropout")) for seed in (0, 0, 1)]
    assert torch.equal(out[0], out[1])
    assert not torch.equal(out[0], out[2])
    calm = network(graph, dropout=0.0)
    torch.testing.assert_close(calm(graph, generator(0, "dropout")), calm.eval()(graph))


def links_use_classes_and_need_them(method: Method, name: str, graph: Graph) -> None:
    """Other classes of the training nodes give other links, and without any the method is refused by its name."""
    split = split_links(graph)
    labels = split_nodes(graph).mask_labels(graph.y)
    answer = method.fit(_pairs(split, labels))
    others = torch.where(labels >= 0, torch.arange(len(labels)) // 3 % 3, -1)  # not the same groups renamed
    other = method.fit(_pairs(split, others))
    assert answer.pairs is not None
    assert other.pairs is not None
    assert answer.score == split.score(answer.pairs("val"))
    assert not torch.equal(answer.pairs("test"), other.pairs("test"))
    with pytest.raises(InputError, match=f"'{name}' learns from classes"):
        method.fit(_pairs(split, None))


def _pairs(split: LinkSplit, labels: Tensor | None) -> PairProblem:
    return PairProblem(split, lambda: PairDecoder("mlp", hidden=8, epochs=5), labels, 3, 0)
