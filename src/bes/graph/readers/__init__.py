"""Published file formats -> Graph, with numpy, scipy and the standard library alone."""

from bes.graph.readers.geom_gcn import read_geom_gcn
from bes.graph.readers.heterophilous import read_heterophilous
from bes.graph.readers.npz import read_npz, write_npz
from bes.graph.readers.ogb import read_ogb
from bes.graph.readers.planetoid import read_planetoid
from bes.graph.readers.wikics import read_wikics

__all__ = [
    "read_geom_gcn",
    "read_heterophilous",
    "read_npz",
    "read_ogb",
    "read_planetoid",
    "read_wikics",
    "write_npz",
]
