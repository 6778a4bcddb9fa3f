"""Features are held dense where products are faster so."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import get_args

import pytest
import torch
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.scaling import Scaling, held_sparse, scale
from bes.graph.sparse import Sparse


def test_scaled_copies_stay_in_their_process() -> None:
    graph = Graph(torch.rand(4, 3), torch.tensor([[0, 1], [1, 2]]), torch.tensor([0, 1, 0, 1]))
    scaled = scale(graph, "row")
    there: Graph = pickle.loads(pickle.dumps(graph))
    assert "scaled" not in there.__dict__
    assert torch.equal(scale(there, "row").x, scaled.x)  # type: ignore[arg-type]
    assert scale(graph, "row") is scaled


@pytest.mark.parametrize("how", get_args(Scaling))
def test_features_with_many_entries_are_held_dense(how: Scaling) -> None:
    few, many = torch.zeros(10, 10), torch.zeros(10, 10)
    few[0], many[:3] = 1.0, 2.0
    edges = torch.tensor([[0, 1], [1, 0]])
    for x, dense in ((few, False), (many, True)):
        graph = Graph(Sparse.from_dense(x), edges, torch.zeros(10, dtype=torch.long))
        found = scale(graph, how)
        assert held_sparse(graph.x) is not dense
        assert isinstance(found.x, Sparse) is not dense
        assert found.operators is graph.operators
        plain = Graph(x, edges, torch.zeros(10, dtype=torch.long))
        assert torch.allclose(found.x if dense else found.x.to_dense(), scale(plain, how).x)
    assert scale(plain, "raw") is plain


def test_features_are_scaled_once_in_each_way() -> None:
    graph = Graph(torch.eye(4), torch.tensor([[0], [1]]), torch.zeros(4, dtype=torch.long))
    assert scale(graph, "length") is scale(graph, "length")
    assert scale(graph, "unit") is not scale(graph, "length")
    assert torch.equal(scale(graph, "unit").x, torch.eye(4))
    assert torch.equal(scale(graph, "length").x, 8 * torch.eye(4))


def test_row_features_sum_to_one_dense_or_sparse(small_graph: Graph) -> None:
    x = small_graph.x.abs()
    x *= x == x.amax(1, keepdim=True)  # so few are held sparse
    x[5] = 0  # a node without features stays without
    row, col = x.nonzero().t()
    sparse = Sparse.from_coo(row, col, x[row, col], (150, 8))
    dense = scale(replace(small_graph, x=x), "row").x
    assert isinstance(dense, Tensor)
    assert torch.allclose(dense.sum(1), (torch.arange(150) != 5).float())
    scaled = scale(replace(small_graph, x=sparse), "row").x
    assert isinstance(scaled, Sparse)
    assert torch.allclose(scaled.csr.to_dense(), dense)
    assert scale(small_graph, "raw") is small_graph


@pytest.mark.parametrize("features", ["row", "length"])
def test_scaled_features_have_one_size(small_graph: Graph, features: Scaling) -> None:
    graph = scale(replace(small_graph, x=small_graph.x.abs()), features)
    assert isinstance(graph.x, Tensor)
    size = graph.x.sum(1) if features == "row" else graph.x.norm(dim=1)
    torch.testing.assert_close(size, torch.full((150,), 1.0 if features == "row" else 8.0))
    assert torch.equal(graph.edge_index, small_graph.edge_index)
