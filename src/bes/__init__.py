"""Boundary Embedding Shaping: sharper graph embeddings where classes meet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bes.core.shaper import BoundaryShaper
    from bes.errors import InputError
    from bes.graph.catalog import load
    from bes.graph.graph import Graph
    from bes.graph.splits import NodeSplit, make_split, split_nodes
    from bes.models.decoders import Decoder
    from bes.models.encoders import EncoderEnsemble
    from bes.tasks.node import evaluate

__all__ = [
    "BoundaryShaper",
    "Decoder",
    "EncoderEnsemble",
    "Graph",
    "InputError",
    "NodeSplit",
    "evaluate",
    "load",
    "make_split",
    "split_nodes",
]

#: Where each public name lives. Names are imported on first use, so that `bes --help` does not wait for torch.
_HOMES = {
    "BoundaryShaper": "bes.core.shaper",
    "Decoder": "bes.models.decoders",
    "EncoderEnsemble": "bes.models.encoders",
    "Graph": "bes.graph.graph",
    "InputError": "bes.errors",
    "NodeSplit": "bes.graph.splits",
    "evaluate": "bes.tasks.node",
    "load": "bes.graph.catalog",
    "make_split": "bes.graph.splits",
    "split_nodes": "bes.graph.splits",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bes' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
