"""Threads by the size of the work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from bes.graph.sparse import Sparse
from bes.graph.synthetic import sbm
from bes.models.base import is_small
from bes.threads import STEP, alone, step_size
from bes.training import train


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("small", [True, False])
def test_small_work_has_one_thread_and_gives_the_others_back(small: bool) -> None:
    def fail() -> None:
        with alone(torch.device("cpu"), small=small):
            assert torch.get_num_threads() == (1 if small else 2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("small", [True, False])
def test_small_steps_are_trained_on_one_thread(small: bool) -> None:
    model, seen = nn.Linear(2, 1), []

    def forward() -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return model(torch.ones(3, 2))

    options = {"epochs": 2, "lr": 0.1, "weight_decay": 0.0}
    train(model, forward, lambda out: out.sum(), lambda out: (0.0, -out.sum().item()), small=small, **options)
    assert set(seen) == {1 if small else 2}
    assert torch.get_num_threads() == 2


def test_nodes_edges_features_and_width_make_a_step_large() -> None:
    graph = sbm(n_nodes=500, n_features=20, degree=6.0)
    arcs = graph.edge_index.shape[1]
    assert step_size(500, arcs, 500 * 20, 64) == (16 * 500 + arcs) * 64 + 500 * 20
    assert is_small(graph, 64)
    assert not is_small(graph, STEP // 500)
    assert not is_small(graph, 64, torch.empty(500, STEP // 500))
    words = Sparse.from_dense(torch.eye(500))
    assert is_small(graph, 64, words)
