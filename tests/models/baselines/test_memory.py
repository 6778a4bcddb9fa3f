"""No method makes a tensor of N x N numbers for N > 5,000: every result of every operation is looked at."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bes.graph.graph import Graph
from bes.graph.splits import make_split
from bes.graph.synthetic import sbm
from bes.models.baselines import METHODS, make_method
from bes.models.baselines.node_problem import NodeProblem

N = 5_200

#: One step each of what there is.
ONCE: dict[str, Any] = {
    "epochs": 1,
    "patience": 0,
    "probe_epochs": 1,
    "pretrain_epochs": 1,
    "hidden": 4,
    "width": 4,
    "start": 0,
    "n_iter": 1,
    "shaping_epochs": 1,
    "rounds": 1,
    "iters": [1],
    "sample": 0,
    "anchors": 0,
}


class Largest(TorchDispatchMode):
    """Remembers the operation with the most numbers in a result that has memory of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.most = (0, "")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for one in tree_leaves(out):
            if isinstance(one, torch.Tensor) and one.layout is torch.strided and one.is_floating_point():
                self.most = max(self.most, (one.untyped_storage().nbytes() // one.element_size(), str(func)))
        return out


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(n_nodes=N, n_classes=3, n_features=6, degree=4.0)


@pytest.mark.parametrize("name", METHODS)
def test_no_result_has_as_many_numbers_as_pairs_of_nodes(name: str, graph: Graph) -> None:
    options = {key: value for key, value in ONCE.items() if key in METHODS[name].options}
    with Largest() as seen:
        make_method(name, options).fit(NodeProblem(graph, make_split(graph, "random", 0), 0))
    assert 0 < seen.most[0] < N * N, seen.most


@pytest.mark.parametrize("name", ["sgc1l", "ssgc1l"])
def test_node_ids_are_not_made_dense_however_many_edges_there_are(name: str) -> None:
    """A linear map on propagated features would have N x N of them."""
    y = torch.arange(N) % 3
    edges = torch.randint(N, (2, N * 60), generator=torch.Generator().manual_seed(0))
    ids = Graph(torch.empty(N, 0), edges, y, "ids")
    options = {key: value for key, value in ONCE.items() if key in METHODS[name].options}
    with Largest() as seen:
        make_method(name, options).fit(NodeProblem(ids, make_split(ids, "random", 0), 0))
    assert 0 < seen.most[0] < N * N, seen.most


def test_a_result_of_that_size_would_be_seen() -> None:
    with Largest() as seen:
        x = torch.ones(N, 2)
        _ = x @ x.T
    assert seen.most[0] == N * N
