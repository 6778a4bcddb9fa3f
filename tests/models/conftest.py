"""PyG warns of torch's deprecations while it is imported; do that once, before warnings are errors."""

import warnings

import pytest
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)  # PyG's layers draw their weights from torch's global state
