"""The paper's figures, drawn from the folders that runs left and from filled sheets."""

from bes.bench.figures.curves import convergence
from bes.bench.figures.maps import encoders, final_embeddings, shaping_process, shared_map
from bes.bench.figures.saving import save
from bes.bench.figures.sensitivity import sensitivity
from bes.bench.figures.slabs import SlabPlane, binary_vs_multiclass, slab_panel

__all__ = [
    "SlabPlane",
    "binary_vs_multiclass",
    "convergence",
    "encoders",
    "final_embeddings",
    "save",
    "sensitivity",
    "shaping_process",
    "shared_map",
    "slab_panel",
]
