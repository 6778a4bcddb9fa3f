"""Small runs that figures are drawn from."""

from typing import Any

import pytest

from bes.graph.synthetic import sbm
from bes.records import RunDirectory
from bes.runs import run
from bes.stored import StoredRun


@pytest.fixture(scope="session")
def stored(finished: RunDirectory) -> StoredRun:
    """Three classes, 150 nodes, two layers."""
    return StoredRun(finished.path)


@pytest.fixture(scope="session")
def two_views(tmp_path_factory: pytest.TempPathFactory, quick: Any) -> StoredRun:
    """Two classes, 80 nodes, two encoders."""
    graph = sbm(n_nodes=80, n_classes=2, n_features=8, degree=6.0, noise=0.4, separation=1.0)
    config = quick(encoders={"names": ["gcn", "gatv2"]})
    return StoredRun(run(config, graph, [0], tmp_path_factory.mktemp("two") / "run").path)


@pytest.fixture(scope="session")
def unshaped(tmp_path_factory: pytest.TempPathFactory, quick: Any) -> StoredRun:
    """A slab so narrow that no boundary node is in it."""
    graph = sbm(n_nodes=60, n_classes=2, n_features=8)
    config = quick(shaper={"delta": 1e-9})
    return StoredRun(run(config, graph, [0], tmp_path_factory.mktemp("apart") / "run").path)
