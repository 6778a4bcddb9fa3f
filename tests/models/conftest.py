"""PyG warns of torch's deprecations while it is imported; do that once, before warnings are errors."""

import warnings

import pytest
import torch

from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, split_links
from bes.graph.synthetic import sbm

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)  # PyG's layers draw their weights from torch's global state


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Three classes far apart, and hardly a link between them."""
    return sbm(n_nodes=120, n_classes=3, n_features=8, degree=8.0, noise=0.05, separation=6.0)


@pytest.fixture(scope="module")
def split(graph: Graph) -> LinkSplit:
    return split_links(graph)
