"""One training step of each convolution, against the same two layers of PyTorch Geometric."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bes.bench.speed.model import Timing, in_turns
from bes.graph.catalog import find, load
from bes.graph.datasets import lookup
from bes.graph.graph import Graph
from bes.graph.scaling import scale
from bes.graph.sparse import Sparse
from bes.graph.splits import NodeSplit, make_split
from bes.models.base import is_small
from bes.models.encoders import Encoder
from bes.optim import Adam
from bes.threads import alone

GRAPHS = ("cora", "pubmed", "amazon_computers")
WIDTH = 64

#: What has a layer in PyTorch Geometric to be held against.
CONVOLUTIONS = ("gcn", "cheb", "sage", "gat", "gatv2", "sgc", "ssgc", "kgnn")


def _pyg() -> dict[str, Callable[[int, int], nn.Module]]:
    """PyTorch Geometric's layers by our names, as it has them by default."""
    with warnings.catch_warnings():  # of torch's deprecations, while it is imported
        warnings.simplefilter("ignore", DeprecationWarning)
        import torch_geometric.nn as pyg

    return {
        "gcn": pyg.GCNConv,
        "cheb": lambda a, b: pyg.ChebConv(a, b, K=3),
        "sage": pyg.SAGEConv,
        "gat": pyg.GATConv,
        "gatv2": pyg.GATv2Conv,
        "sgc": pyg.SGConv,
        "ssgc": lambda a, b: pyg.SSGConv(a, b, alpha=0.1),
        "kgnn": pyg.GraphConv,
    }


class TwoLayers(nn.Module):
    """The usual example of PyTorch Geometric: conv, ReLU, dropout, conv, on dense features."""

    def __init__(self, conv: Callable[[int, int], nn.Module], sizes: tuple[int, int, int]) -> None:
        super().__init__()
        self.first, self.second = conv(*sizes[:2]), conv(*sizes[1:])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        hidden = F.dropout(self.first(x, edges).relu(), 0.5, self.training)
        out: Tensor = self.second(hidden, edges)
        return out


def conv_steps(graphs: tuple[str, ...] = GRAPHS, seconds: float = 3.0) -> Iterator[Timing]:
    """Every convolution on every graph that is here, with torch as it comes; beside it, both with huge pages."""
    for name in graphs:
        if find(lookup(name)) is None:
            continue
        plain, huge = (_apart(name, seconds, pages) for pages in ("0", "1"))
        for conv, (ours, rival) in plain.items():
            mine, theirs = huge[conv]
            more = {"huge_ours_ms": mine, "huge_rival_ms": theirs, "huge_ratio": theirs / mine}
            yield Timing("conv-step", name, conv, ours, rival, more)


def _apart(name: str, seconds: float, pages: str) -> dict[str, tuple[float, float]]:
    """Milliseconds of ours and theirs by convolution, in a process of its own: torch asks once for its pages."""
    call = "from bes.bench.speed.rivals import main; main()"
    told = {**os.environ, "THP_MEM_ALLOC_ENABLE": pages}
    done = subprocess.run(
        [sys.executable, "-c", call, name, str(seconds)], env=told, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, tuple[float, float]] = json.loads(done.stdout)
    return found


def main() -> None:
    """`GRAPH SECONDS`: prints what was measured, in turns, as JSON."""
    graph = scale(load(sys.argv[1]), "raw")
    split = make_split(graph, "random", 0)
    pairs = {conv: (our_step(conv, graph, split), their_step(layer, graph, split)) for conv, layer in _pyg().items()}
    print(json.dumps({conv: in_turns(*pair, seconds=float(sys.argv[2])) for conv, pair in pairs.items()}))


class Step:
    """One training step of a network, with Adam; on one thread where it is small."""

    def __init__(
        self, network: nn.Module, forward: Callable[[], Tensor], split: NodeSplit, *, ours: bool, small: bool = False
    ) -> None:
        self.network, self.forward, self.small = network.train(), forward, small
        kind = Adam if ours else torch.optim.Adam
        self.optimizer = kind(network.parameters(), lr=0.01, weight_decay=5e-4, fused=ours)
        self.nodes, self.labels = split.train, split.train_labels

    def __call__(self) -> None:
        with alone(self.labels.device, small=self.small):
            self.optimizer.zero_grad()
            F.cross_entropy(self.forward()[self.nodes], self.labels).backward()
            self.optimizer.step()


def our_step(conv: str, graph: Graph, split: NodeSplit) -> Step:
    """A step as `bes.training.train` takes it."""
    weights, rng = torch.Generator().manual_seed(0), torch.Generator().manual_seed(1)
    encoder = Encoder(conv, graph.n_features, WIDTH, split.n_classes, dropout=0.5, generator=weights)
    first = encoder.conv1.on(graph.x, graph.operators)
    small = is_small(graph, WIDTH)
    return Step(encoder, lambda: encoder.read(first().relu_(), graph.operators, rng), split, ours=True, small=small)


def their_step(layer: Callable[[int, int], nn.Module], graph: Graph, split: NodeSplit) -> Step:
    """The same with PyTorch Geometric's layers, features and optimizer as its examples have them."""
    x = graph.x.to_dense() if isinstance(graph.x, Sparse) else graph.x
    network = TwoLayers(layer, (graph.n_features, WIDTH, split.n_classes))
    return Step(network, lambda: network(x, graph.edge_index), split, ours=False)
