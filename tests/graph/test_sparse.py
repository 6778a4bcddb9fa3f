from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.graph import sparse
from bes.graph.graph import Graph, undirected
from bes.graph.sparse import Operators, Sparse, product


def test_what_a_product_gives_can_be_changed_in_place(monkeypatch):
    monkeypatch.setattr(sparse, "CACHED", 0)
    right = torch.ones(3, 10, requires_grad=True)
    (Sparse.from_dense(torch.eye(3)) @ right).add_(1).square().sum().backward()
    assert torch.equal(right.grad, torch.full((3, 10), 4.0))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**31))
def test_product_and_its_gradients_are_those_of_the_dense_matrix(rows, cols, width, seed):
    rng = torch.Generator().manual_seed(seed)
    dense = torch.randn(rows, cols, generator=rng) * (torch.rand(rows, cols, generator=rng) < 0.5)
    right = torch.randn(cols, width, generator=rng)
    matrix = Sparse.from_dense(dense)
    assert torch.allclose(matrix @ right, dense @ right, atol=1e-6)
    first, second = right.clone().requires_grad_(), right.clone().requires_grad_()
    (matrix @ first).pow(2).sum().backward()
    (dense @ second).pow(2).sum().backward()
    assert torch.allclose(first.grad, second.grad, atol=1e-5)
    assert torch.equal(matrix.to_dense(), dense)
    assert torch.equal(matrix.transposed.to_dense(), dense.T)
    assert matrix.transposed.transposed is matrix


@pytest.mark.parametrize("cached", [0, 1 << 22])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [0, 1, 5, 64])
def test_product_takes_any_layout_and_any_row(dtype, width, cached, monkeypatch):
    """Empty rows, a row of all columns, a transposed and a cut factor, and none; in whole lines of a cache or not."""
    monkeypatch.setattr(sparse, "CACHED", cached)
    rng = torch.Generator().manual_seed(0)
    dense = torch.randn(7, 9, generator=rng, dtype=dtype) * (torch.rand(7, 9, generator=rng) < 0.3)
    dense[2], dense[4] = 0, 1
    csr = Sparse.from_dense(dense).csr
    for right in (torch.randn(width, 9, dtype=dtype).t(), torch.randn(9, width + 3, dtype=dtype)[:, 2 : 2 + width]):
        torch.testing.assert_close(product(csr, right), dense @ right, atol=1e-5, rtol=1e-5)
    vector = torch.randn(9, dtype=dtype)
    torch.testing.assert_close(product(csr, vector), dense @ vector, atol=1e-5, rtol=1e-5)
    nothing = Sparse.from_dense(torch.zeros(3, 4, dtype=dtype)).csr
    assert torch.equal(product(nothing, torch.ones(4, 2, dtype=dtype)), torch.zeros(3, 2, dtype=dtype))


def test_rows_are_brought_into_whole_lines_where_many_reach_into_one_more(monkeypatch):
    monkeypatch.setattr(sparse, "CACHED", 100)
    found = {width: sparse._in_lines(torch.ones(50, width)).shape[1] for width in (2, 3, 7, 10, 15, 16, 20, 40, 47)}
    assert found == {2: 2, 3: 3, 7: 16, 10: 16, 15: 16, 16: 16, 20: 20, 40: 40, 47: 48}
    few = torch.ones(10, 10)
    assert sparse._in_lines(few) is few
    wide = sparse._in_lines(torch.ones(50, 10))
    assert wide.sum() == 500


def test_product_can_be_differentiated_twice():
    matrix = Sparse.from_dense(torch.tensor([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]).double())
    right = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: matrix @ z, right)
    assert torch.autograd.gradgradcheck(lambda z: matrix @ z**2, right)


def test_coo_is_sorted_and_indices_are_small():
    matrix = Sparse.from_dense(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
    row, col, value = matrix.coo()
    assert (row.tolist(), col.tolist(), value.tolist()) == ([0, 1, 1], [1, 0, 1], [1.0, 2.0, 3.0])
    assert matrix.csr.col_indices().dtype == torch.int32


def test_to_the_same_device_is_the_same_object():
    matrix = Sparse.from_dense(torch.eye(2))
    operators = Operators(torch.tensor([[0, 1], [1, 0]]), 2)
    assert matrix.to("cpu") is matrix
    assert operators.to("cpu") is operators


@pytest.fixture
def adjacency() -> torch.Tensor:
    """Five nodes, the last one isolated."""
    a = torch.zeros(5, 5)
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 3)):
        a[i, j] = a[j, i] = 1
    return a


def test_operators_are_their_formulas(adjacency):
    edges = undirected(adjacency.nonzero().T, 5)
    operators = Operators(edges, 5)
    degree = adjacency.sum(1)
    looped = adjacency + torch.eye(5)
    naive = {name: torch.zeros(5, 5) for name in ("sum", "mean", "cheb", "gcn")}
    for i in range(5):
        for j in range(5):
            naive["gcn"][i, j] = looped[i, j] / (looped[i].sum() * looped[j].sum()) ** 0.5
            if adjacency[i, j]:
                naive["sum"][i, j] = 1
                naive["mean"][i, j] = 1 / degree[i]
                naive["cheb"][i, j] = -1 / (degree[i] * degree[j]) ** 0.5
    for name, expected in naive.items():
        operator = getattr(operators, name)
        assert torch.allclose(operator.to_dense(), expected), name
        assert torch.allclose(operator.transposed.to_dense(), expected.T), name
    assert torch.equal(operators.degree, degree)
    assert operators.gcn is operators.gcn


def test_operators_of_a_graph_without_edges():
    operators = Operators(torch.zeros(2, 0, dtype=torch.int64), 3)
    assert torch.equal(operators.gcn.to_dense(), torch.eye(3))
    assert torch.equal(operators.mean @ torch.ones(3, 2), torch.zeros(3, 2))


NAMES = ("degree", "sum", "mean", "cheb", "gcn", "looped mean")


def dense(operators: Operators, name: str) -> torch.Tensor:
    if name == "degree":
        return operators.degree
    found = operators.with_loops.mean if name == "looped mean" else getattr(operators, name)
    return found.to_dense()


@pytest.mark.parametrize("name", NAMES)
def test_equal_weights_change_nothing(small_graph: Graph, name: str) -> None:
    edges, n = small_graph.edge_index, small_graph.n_nodes
    same = Operators(edges, n, weight=torch.ones(edges.shape[1]))
    assert torch.allclose(dense(same, name), dense(Operators(edges, n), name), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_weights_stand_in_the_dense_formulas(small_graph: Graph, name: str) -> None:
    edges, n = small_graph.edge_index, small_graph.n_nodes
    half = torch.rand(n, n, generator=torch.Generator().manual_seed(0)) + 0.1
    a = torch.zeros(n, n).index_put_(tuple(edges), (half + half.T)[tuple(edges)])
    d, looped = a.sum(1), a + torch.eye(n)
    wanted = {
        "degree": d,
        "sum": a,
        "mean": a / d.clamp_min(1e-12)[:, None],
        "cheb": -a / (d[:, None] * d).sqrt().clamp_min(1e-12),
        "gcn": looped / ((d + 1)[:, None] * (d + 1)).sqrt(),
        "looped mean": looped / looped.sum(1)[:, None],
    }[name]
    assert torch.allclose(dense(Operators(edges, n, weight=a[tuple(edges)]), name), wanted, atol=1e-6)


@pytest.mark.parametrize("weight", [None, torch.ones(2)])
def test_other_devices_get_the_weights_too(weight: torch.Tensor | None) -> None:
    moved = Operators(torch.tensor([[0, 1], [1, 0]]), 2, weight=weight).to("meta")
    assert moved.degree.device.type == "meta"
    assert moved.weight is None if weight is None else moved.weight.device.type == "meta"
