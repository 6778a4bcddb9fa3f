"""The graphs of a suite: which are here, and whether they stay what they are."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from bes.errors import InputError
from bes.graph.catalog import load
from bes.graph.datasets import known
from bes.graph.graph import Graph
from bes.graph.variants import base_name
from bes.records import data_hash


@dataclass(frozen=True)
class Data:
    """A data set that is here, or why it is not; with neither, one of which nothing is recorded."""

    name: str
    hash: str | None
    absent: str = ""


def look_up(name: str) -> Data:
    """Whether a data set can be read, and the hash of what is read."""
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")  # of downloads that are tried and come to nothing
            return Data(name, data_hash(load(name)))
    except InputError as error:
        return Data(name, None, f"{error}{_how_to_add(name)}")


def _how_to_add(name: str) -> str:
    info = known(base_name(name))
    return "" if info is None else f" With the published files: `bes data add {info.name} --from DIR`."


def load_checked(name: str, expected: str) -> Graph:
    """The graph of `bes.load`, if it is still the one with that hash."""
    graph = load(name)
    if data_hash(graph) != expected:
        raise InputError(
            f"The data set '{name}' has changed since the grid began: call it again to run on what is there."
        )
    return graph
