"""How much memory a run needs, by stage, and how much there is: what chooses between the full batch and parts.

Counted are the arrays that grow with nodes and edges; constants come from what the code allocates and are held against
measured peaks in the tests, within a factor of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from bes.graph.graph import Graph
from bes.graph.scaling import held_sparse
from bes.machine import MIB, free_mib
from bes.scale.batches import sizes

#: Python with torch, scikit-learn and this library, before any graph, in MiB.
BASE = 400

#: Share of what is available that a full batch may take.
SHARE = 0.8

#: Products of a node's row with a weight, by kind of convolution.
PRODUCTS = {"cheb": 3, "gatv2": 2, "sage": 2, "kgnn": 2}

#: Floats that attention keeps for each edge.
ATTENTION = {"gat": 8, "gatv2": 6}

#: Bytes of an edge and direction: its two ends; and while operators are built from it, with keys and their order.
ARC, BUILT = 16, 80


@dataclass(frozen=True)
class Estimate:
    """MiB by stage; stages follow each other, `data` stays."""

    stages: dict[str, float]

    @property
    def peak(self) -> float:
        """The most that is in use at a time, in MiB."""
        largest = max(size for stage, size in self.stages.items() if stage != "data")
        return BASE + self.stages["data"] + largest


@dataclass(frozen=True)
class Layers:
    """What is trained: convolutions by name, with the widths from input to output."""

    kinds: Sequence[str]
    widths: tuple[int, int, int]

    def floats(self) -> float:
        """Floats of a node that a training step holds at a time, for the largest of the networks."""
        width = sum(self.widths[1:])
        return 2.5 * width * max((PRODUCTS.get(kind, 1) + 3 for kind in self.kinds), default=0)

    def kept(self, nodes: int, arcs: int) -> int:
        """Floats of a node that dense features take, propagated once, for the largest of the networks."""
        sizes = (PRODUCTS.get(kind, 1) * self.widths[0] for kind in self.kinds if kind not in ATTENTION)
        return max((size for size in sizes if kept_propagated(nodes, arcs, size, self.widths[1])), default=0)

    def edge_floats(self) -> int:
        """Floats of an edge, likewise."""
        return max((ATTENTION.get(kind, 0) for kind in self.kinds), default=0)


def kept_propagated(nodes: float, arcs: float, propagated: int, width: int) -> bool:
    """Whether dense features are propagated once and kept: where they are no larger than the messages of one step.

    Args:
        propagated: Columns of the propagated features.
        width: Of the layer that reads them, which would propagate so many numbers along each arc otherwise.
    """
    return nodes * propagated <= arcs * width


def estimate(
    graph: Graph, encoders: Layers, decoder: Layers, n_layers: int, *, parts: tuple[int, int] | None = None
) -> Estimate:
    """What a run on `graph` needs.

    Args:
        encoders: From features to channels to classes.
        decoder: From embeddings to hidden to classes.
        n_layers: Of the shaper.
        parts: Number of parts and of parts a step as `batches.sizes` takes them; None is the full batch.
    """
    n, arcs = graph.n_nodes, graph.edge_index.shape[1]
    width, _, n_out = decoder.widths
    seen, edges = (n, arcs) if parts is None else _piece(n, arcs, *sizes(n, *parts))
    layer = 0 if parts is None else 4 * n * max(sum(encoders.widths[1:]), sum(decoder.widths[1:]))
    operators = (BUILT + 4 * encoders.edge_floats()) * edges + (0 if parts is None else 24 * n)
    features = graph.x.csr.values().numel() * 12 if held_sparse(graph.x) else 4 * n * graph.n_features
    # rows of features are copied for each piece; a full batch reads them where they are
    rows = 0 if parts is None else features * seen / n
    kept = 0 if parts or held_sparse(graph.x) else 4 * n * encoders.kept(n, arcs)
    propagated = 4 * n * width * PRODUCTS.get(decoder.kinds[0], 1)
    bytes_of = {
        "data": 2 * features + ARC * arcs + 8 * n,  # scaled features lie beside the given ones
        "encoders": operators + rows + kept + layer + 4 * encoders.floats() * seen,
        "shaping": 4 * n * width * (8 + n_layers),
        "decoder": 4 * n * width * (2 + n_layers) + operators + propagated + layer + 4 * decoder.floats() * seen,
        "report": features + ARC * arcs + 4 * n * (width * (2 + n_layers) + 6 * n_out) + 600 * n,
    }
    return Estimate({stage: round(count / MIB, 1) for stage, count in bytes_of.items()})


def _piece(n: int, arcs: int, n_parts: int, per_step: int) -> tuple[int, int]:
    """Nodes and arcs of a training step, with a halo of half the neighbours that its own nodes have."""
    own = -(-n // n_parts) * per_step
    inner = min(arcs, -(-arcs // n_parts) * per_step)
    return min(n, own + inner // 2), min(arcs, inner + inner // 2)


def available(device: torch.device) -> float:
    """Memory that this process may still take on `device`, in MiB."""
    return torch.cuda.mem_get_info(device)[0] / MIB if device.type == "cuda" else free_mib()
