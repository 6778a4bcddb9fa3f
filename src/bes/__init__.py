"""Boundary Embedding Shaping: sharper graph embeddings where classes meet."""

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
