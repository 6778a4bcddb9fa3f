"""Features are held dense where products are faster so."""

from __future__ import annotations

import torch

from bes.graph.graph import Graph
from bes.graph.scaling import densely
from bes.graph.sparse import Sparse


def test_features_with_many_entries_are_held_dense() -> None:
    few, many = torch.zeros(10, 10), torch.zeros(10, 10)
    few[0], many[:3] = 1.0, 2.0
    edges = torch.tensor([[0, 1], [1, 0]])
    for x, dense in ((few, False), (many, True)):
        graph = Graph(Sparse.from_dense(x), edges, torch.zeros(10, dtype=torch.long))
        found = densely(graph)
        assert isinstance(found.x, Sparse) is not dense
        assert found.operators is graph.operators
        assert torch.equal(found.x if dense else found.x.to_dense(), x)
    plain = Graph(many, edges, torch.zeros(10, dtype=torch.long))
    assert densely(plain) is plain
