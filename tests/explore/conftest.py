"""A small run written by hand, and a server of it."""

from collections.abc import Iterator

import pytest

from bes.explore.server import Server
from bes.stored import StoredRun
from explore.made import made_graph, made_run, serving

#: An id that would be run if it were read as HTML, and one that a spreadsheet would split.
HOSTILE = ["<img src=x onerror=alert(1)>", 'a "quoted", id', " spaces ", "ünï ☃"]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """90 nodes in 4 classes, two seeds, with awkward names."""
    ids = HOSTILE + [f"n{i}" for i in range(86)]
    graph = made_graph(90, 4, ids, ("red", "<b>green</b>", "blue", "grey, light"))
    return made_run(tmp_path_factory.mktemp("made") / "run", graph, seeds=(0, 3))


@pytest.fixture(scope="session")
def server(made: StoredRun) -> Iterator[Server]:
    yield from serving(made)
