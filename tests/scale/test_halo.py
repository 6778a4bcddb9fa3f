"""Each rank holds its own rows and no others, and knows who needs them."""

from pathlib import Path

import pytest
import torch

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.synthetic import sbm
from bes.scale.halo import GraphPart, cut


@pytest.fixture
def graph() -> Graph:
    return sbm(n_nodes=60, n_classes=3, n_features=5, degree=4.0)


@pytest.fixture
def owner() -> torch.Tensor:
    """Uneven: rank 2 has three nodes."""
    part = torch.arange(60) % 2
    part[[4, 17, 55]] = 2
    return part


def test_every_node_is_owned_once_and_held_by_its_owner_alone(graph: Graph, owner: torch.Tensor) -> None:
    parts = list(cut(graph, owner, 3))
    assert torch.cat([part.own for part in parts]).sort().values.equal(torch.arange(60))
    for rank, part in enumerate(parts):
        assert (owner[part.own] == rank).all()
        assert part.x.shape == (part.n_own, 5)
        assert torch.equal(part.x, graph.x[part.own])


def test_the_halo_is_the_neighbours_that_others_own(graph: Graph, owner: torch.Tensor) -> None:
    for rank, part in enumerate(cut(graph, owner, 3)):
        expected = {int(j) for i, j in graph.edge_index.T if int(owner[i]) == rank and int(owner[j]) != rank}
        assert set(part.halo.tolist()) == expected
        assert part.halo.numel() == len(expected)


def test_local_edges_are_the_edges_of_own_nodes(graph: Graph, owner: torch.Tensor) -> None:
    degree = torch.bincount(graph.edge_index[0], minlength=60)
    for rank, part in enumerate(cut(graph, owner, 3)):
        number = torch.cat([part.own, part.halo])
        mine = owner[graph.edge_index[0]] == rank
        assert torch.equal(number[part.edge_index], graph.edge_index[:, mine])
        assert torch.equal(part.degree, degree[number])


def test_what_one_rank_sends_is_what_another_has_as_its_halo(graph: Graph, owner: torch.Tensor) -> None:
    parts = list(cut(graph, owner, 3))
    sent = [part.own[part.send].split(part.send_counts.tolist()) for part in parts]
    for rank, part in enumerate(parts):
        assert torch.equal(torch.cat([sent[other][rank] for other in range(3)]), part.halo)
        assert part.receive_counts.tolist() == [len(sent[other][rank]) for other in range(3)]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_part_is_read_back_as_it_was_written(graph: Graph, owner: torch.Tensor, tmp_path: Path, sparse: bool) -> None:
    x = graph.x.clamp(min=0)
    features = Sparse.from_dense(x) if sparse else x
    graph = Graph(features, graph.edge_index, graph.y)
    for part in cut(graph, owner, 3):
        part.save(tmp_path / "part.safetensors")
        back = GraphPart.load(tmp_path / "part.safetensors")
        dense = back.x.to_dense() if isinstance(back.x, Sparse) else back.x
        assert isinstance(back.x, Sparse) == sparse
        assert torch.equal(dense, x[part.own])
        assert torch.equal(back.edge_index, part.edge_index)
        assert torch.equal(back.send, part.send)
