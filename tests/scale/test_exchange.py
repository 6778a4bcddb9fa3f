"""Propagation by ranks is that of the whole graph, forward and backward."""

from __future__ import annotations

import pytest
import torch
from oracles.ranks import ThreadRanks, on_threads
from torch import Tensor

from bes.graph.graph import Graph
from bes.graph.synthetic import sbm
from bes.models.convs import CONVS
from bes.scale.exchange import Halo, RankOperators
from bes.scale.halo import cut

KINDS = [name for name in CONVS if name not in ("gat", "gatv2")]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(n_nodes=60, n_classes=3, n_features=5, degree=4.0)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("wide", [3, 9])  # transform first, propagate first
def test_two_layers_and_their_gradients_are_those_of_the_whole_graph(
    graph: Graph, size: int, name: str, wide: int
) -> None:
    def layers() -> list[torch.nn.Module]:
        start = torch.Generator().manual_seed(1)
        return [CONVS[name](5, wide, generator=start), CONVS[name](wide, 2, generator=start)]

    def through(x: Tensor, ops: object, convs: list[torch.nn.Module]) -> Tensor:
        out: Tensor = convs[1](convs[0](x, ops).relu(), ops)
        return out

    weight = torch.randn(60, 2, generator=torch.Generator().manual_seed(2))
    alone = layers()
    expected = through(graph.x, graph.operators, alone)
    (expected * weight).sum().backward()
    owner = torch.arange(60) * size // 70  # uneven
    parts = list(cut(graph, owner, size))

    def work(ranks: ThreadRanks) -> tuple[Tensor, list[Tensor]]:
        part, convs = parts[ranks.rank], layers()
        out = through(part.x, RankOperators(part, Halo(part, ranks)), convs)  # type: ignore[arg-type]
        (out * weight[part.own]).sum().backward()
        return out.detach(), [ranks.sum(p.grad) for conv in convs for p in conv.parameters() if p.grad is not None]

    for part, (out, gradients) in zip(parts, on_threads(size, work), strict=True):
        torch.testing.assert_close(out, expected.detach()[part.own], atol=1e-5, rtol=1e-5)
        whole = [p.grad for conv in alone for p in conv.parameters()]
        torch.testing.assert_close(gradients, whole, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["gcn", "cheb", "mean", "sum"])
def test_a_matrix_and_its_transpose_are_those_of_the_whole_graph(graph: Graph, name: str) -> None:
    """<A a, b> = <a, A^T b>, over all ranks, with A of the whole graph."""
    whole = getattr(graph.operators, name).to_dense()
    parts = list(cut(graph, torch.arange(60) % 3, 3))
    a, b = torch.randn(2, 60, 2, generator=torch.Generator().manual_seed(0))

    def work(ranks: ThreadRanks) -> tuple[Tensor, Tensor]:
        part = parts[ranks.rank]
        matrix = getattr(RankOperators(part, Halo(part, ranks)), name)  # type: ignore[arg-type]
        return matrix @ a[part.own], matrix.transposed @ b[part.own]

    for part, (forth, back) in zip(parts, on_threads(3, work), strict=True):
        torch.testing.assert_close(forth, (whole @ a)[part.own])
        torch.testing.assert_close(back, (whole.T @ b)[part.own])


def test_all_matrices_share_the_places_of_the_edges(graph: Graph) -> None:
    parts = list(cut(graph, torch.arange(60) % 2, 2))

    def work(ranks: ThreadRanks) -> None:
        part = parts[ranks.rank]
        operators = RankOperators(part, Halo(part, ranks))  # type: ignore[arg-type]
        for matrix in (operators.sum, operators.mean, operators.mean.transposed, operators.cheb, operators.gcn):
            assert matrix.csr.col_indices().data_ptr() == part.column.data_ptr()
            assert matrix.csr.crow_indices().data_ptr() == part.pointer.data_ptr()
            assert matrix.csr.values().numel() == part.column.numel()

    on_threads(2, work)
