"""Batches of parts: who is in them, which edges, and that rows of their own nodes are those of the whole graph."""

from __future__ import annotations

import pytest
import torch

from bes.graph.graph import Graph
from bes.graph.sparse import Operators
from bes.graph.synthetic import sbm
from bes.scale.batches import Parts, Piece, cut, sizes


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(n_nodes=200, n_classes=4, n_features=6, degree=5.0, seed=3)


@pytest.fixture(scope="module")
def parts(graph: Graph) -> Parts:
    return cut(graph, 7, 2)


def edges_of(piece: Piece) -> set[tuple[int, int]]:
    return {(int(piece.nodes[i]), int(piece.nodes[j])) for i, j in piece.operators.edge_index.T.tolist()}


def test_an_epoch_and_a_pass_in_blocks_own_every_node_once(parts: Parts) -> None:
    for pieces in (list(parts.steps(torch.Generator())), list(parts.blocks())):
        assert len(pieces) == parts.n_steps == 4
        assert torch.cat([piece.own for piece in pieces]).sort().values.equal(torch.arange(200))


def test_a_batch_has_the_edges_of_its_own_nodes_in_both_directions(graph: Graph, parts: Parts) -> None:
    whole = set(map(tuple, graph.edge_index.T.tolist()))
    for piece in parts.steps(torch.Generator()):
        own = set(piece.own.tolist())
        found = edges_of(piece)
        assert found == {(i, j) for i, j in whole if i in own or j in own}
        assert set(piece.nodes.tolist()) == own | {j for i, j in whole if i in own}
        assert piece.operators.edge_index[0].diff().min() >= 0


def test_a_block_has_the_edges_into_its_own_nodes(graph: Graph, parts: Parts) -> None:
    whole = set(map(tuple, graph.edge_index.T.tolist()))
    for piece in parts.blocks():
        own = set(piece.own.tolist())
        assert edges_of(piece) == {(i, j) for i, j in whole if i in own}


@pytest.mark.parametrize("name", ["gcn", "cheb", "mean", "sum"])
def test_rows_of_own_nodes_are_exact_in_every_operator(graph: Graph, parts: Parts, name: str) -> None:
    expected = getattr(graph.operators, name) @ graph.x
    for piece in [*parts.steps(torch.Generator()), *parts.blocks()]:
        found = getattr(piece.operators, name) @ graph.x[piece.nodes]
        torch.testing.assert_close(found[: piece.n_own], expected[piece.own])


@pytest.mark.parametrize("name", ["gcn", "cheb", "sum"])
def test_operators_of_a_batch_are_symmetric(parts: Parts, name: str) -> None:
    for piece in parts.steps(torch.Generator()):
        matrix = getattr(piece.operators, name).to_dense()
        torch.testing.assert_close(matrix, matrix.T)


def test_parts_are_drawn_anew_in_each_epoch_by_the_stream(parts: Parts) -> None:
    def epochs(seed: int) -> list[list[int]]:
        rng = torch.Generator().manual_seed(seed)
        return [piece.own.tolist() for _ in range(2) for piece in parts.steps(rng)]

    assert epochs(0) == epochs(0)
    assert epochs(0)[: parts.n_steps] != epochs(0)[parts.n_steps :]


def test_given_degrees_stand_for_neighbours_that_are_elsewhere() -> None:
    ops = Operators(torch.tensor([[0, 1], [1, 0]]), 2, torch.tensor([4.0, 1.0]))
    assert ops.mean.to_dense().tolist() == [[0.0, 0.25], [1.0, 0.0]]
    assert ops.with_loops.degree.tolist() == [5.0, 2.0]
    assert ops.to("cpu").degree.tolist() == [4.0, 1.0]


def test_usual_sizes_make_steps_of_bounded_size() -> None:
    assert sizes(100, 0, 0) == (8, 4)
    assert sizes(3, 0, 0) == (3, 4)
    n_parts, per_step = sizes(1_000_000, 0, 0)
    assert 20_000 < 1_000_000 / n_parts * per_step < 40_000
    assert sizes(1_000, 10, 3) == (10, 3)
