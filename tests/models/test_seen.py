"""Who was right and how far nodes moved, from one evaluation to the next."""

from __future__ import annotations

import torch

from bes.graph.graph import Graph
from bes.graph.splits import make_split
from bes.models.seen import Seen


def test_it_counts_from_the_first_evaluation_on_and_passes_the_logits() -> None:
    y = torch.tensor([0, 1] * 20)
    split = make_split(Graph(torch.ones(40, 1), torch.zeros(2, 0, dtype=torch.int64), y), seed=0)
    seen = Seen(split, "val")
    right, hidden = torch.nn.functional.one_hot(y, 2).float(), torch.zeros(40, 3)
    assert seen((right, hidden)) is right
    assert seen.moved == []
    seen((1 - right, hidden + torch.tensor([3.0, 0.0, 4.0])))
    assert seen.moved == [5.0]
    assert [row.tolist() for row in seen.hits] == [[True] * split.val.numel(), [False] * split.val.numel()]
