"""Boundary Embedding Shaping: sharper graph embeddings where classes meet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bes import callbacks, nn
    from bes.core.shaper import BoundaryShaper
    from bes.errors import InputError
    from bes.graph.catalog import load
    from bes.graph.custom import from_csv, from_embeddings, from_networkx, from_pandas, from_pyg, from_scipy
    from bes.graph.edge_splits import EdgeSplit, split_edges
    from bes.graph.graph import Graph
    from bes.graph.links import LinkSplit, make_link_split, split_links
    from bes.graph.splits import NodeSplit, make_split, split_nodes
    from bes.models.decoders import Decoder
    from bes.models.encoder_shaper import EncoderShaper
    from bes.models.encoders import EncoderEnsemble
    from bes.models.pair_encoders import PairEncoders
    from bes.models.pairs import PairDecoder
    from bes.tasks.node import evaluate

__all__ = [
    "BoundaryShaper",
    "Decoder",
    "EdgeSplit",
    "EncoderEnsemble",
    "EncoderShaper",
    "Graph",
    "InputError",
    "LinkSplit",
    "NodeSplit",
    "PairDecoder",
    "PairEncoders",
    "callbacks",
    "evaluate",
    "from_csv",
    "from_embeddings",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "load",
    "make_link_split",
    "make_split",
    "nn",
    "split_edges",
    "split_links",
    "split_nodes",
]

#: Where each public name lives. Names are imported on first use, so that `bes --help` does not wait for torch.
_HOMES = {
    "BoundaryShaper": "bes.core.shaper",
    "Decoder": "bes.models.decoders",
    "EdgeSplit": "bes.graph.edge_splits",
    "EncoderEnsemble": "bes.models.encoders",
    "EncoderShaper": "bes.models.encoder_shaper",
    "Graph": "bes.graph.graph",
    "InputError": "bes.errors",
    "LinkSplit": "bes.graph.links",
    "NodeSplit": "bes.graph.splits",
    "PairDecoder": "bes.models.pairs",
    "PairEncoders": "bes.models.pair_encoders",
    "evaluate": "bes.tasks.node",
    "from_csv": "bes.graph.custom",
    "from_embeddings": "bes.graph.custom",
    "from_networkx": "bes.graph.custom",
    "from_pandas": "bes.graph.custom",
    "from_pyg": "bes.graph.custom",
    "from_scipy": "bes.graph.custom",
    "load": "bes.graph.catalog",
    "make_link_split": "bes.graph.links",
    "make_split": "bes.graph.splits",
    "split_edges": "bes.graph.edge_splits",
    "split_links": "bes.graph.links",
    "split_nodes": "bes.graph.splits",
}


#: Modules with names of their own.
_ROOMS = ("callbacks", "nn")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"bes.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'bes' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
