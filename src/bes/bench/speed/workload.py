"""One stage on a stored graph, for a process of its own."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch

from bes.bench.speed.model import in_turns
from bes.bench.speed.rivals import WIDTH, Step, our_step
from bes.bench.speed.shaping import displacement, iteration, region
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split
from bes.graph.synthetic import sbm
from bes.machine import retained
from bes.models.base import is_small
from bes.models.decoders import Decoder, DecoderNet
from bes.models.encoders import Encoder, EncoderEnsemble
from bes.tasks.node import score

CLASSES, DEGREE = 10, 14.0

#: Of an encoder or a decoder that is trained from its first weights: a tenth of what `bes run` takes by default.
EPOCHS = 20


def make(folder: Path, nodes: int) -> None:
    """A block graph, as arrays."""
    graph = sbm(n_nodes=nodes, n_classes=CLASSES, n_features=WIDTH, degree=DEGREE)
    for name in ("x", "edge_index", "y"):
        np.save(folder / f"{name}.npy", getattr(graph, name).numpy())


def read(folder: Path) -> Graph:
    x, edge_index, y = (torch.from_numpy(np.load(folder / f"{name}.npy")) for name in ("x", "edge_index", "y"))
    return Graph(x, edge_index, y, "sbm")


def inference(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """Embeddings and logits of all nodes, exactly."""
    encoder = Encoder("gcn", graph.n_features, WIDTH, split.n_classes).requires_grad_(False).eval()
    return lambda: encoder(graph.x, graph.operators)


def encoders(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """A GCN from its first weights to embeddings of all nodes: what is made once, steps, scores."""
    phi = EncoderEnsemble(["gcn"], channels=WIDTH, epochs=EPOCHS, device="cpu")
    return lambda: phi.fit(graph, split).transform(graph)


def decoder(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """The same of a decoder of embeddings, to probabilities of all nodes."""
    z, psi = torch.as_tensor(graph.x), Decoder(epochs=EPOCHS, device="cpu")
    return lambda: psi.fit(graph, z, split).predict_proba(graph, z)


def decoder_step(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """A training step of the decoder on embeddings that are propagated once."""
    sizes = (graph.n_features, WIDTH, split.n_classes)
    net = DecoderNet("cheb", sizes, norm=False, dropout=0.5, generator=torch.Generator().manual_seed(0))
    propagated, rng = net.conv1.propagate(torch.as_tensor(graph.x), graph.operators), torch.Generator()
    small = is_small(graph, WIDTH, propagated)
    return Step(net, lambda: net(propagated, graph.operators, rng), split, ours=True, small=small)


def evaluation(graph: Graph, split: NodeSplit) -> Callable[[], object]:
    """Accuracy, F1 and AUROC on validation and test."""
    prob = torch.randn(graph.n_nodes, split.n_classes, generator=torch.Generator().manual_seed(0)).softmax(1)
    return lambda: score(split, prob)


#: From a graph and a split to what is timed.
STAGES: dict[str, Callable[[Graph, NodeSplit], Callable[[], object]]] = {
    "encoders": encoders,
    "decoder": decoder,
    "evaluation": evaluation,
    "encoder step, gcn": partial(our_step, "gcn"),
    "encoder step, cheb": partial(our_step, "cheb"),
    "inference": inference,
    "decoder step": decoder_step,
    "region": region,
    "displacement": displacement,
    "shaping iteration": iteration,
}

#: What epochs of `bes.training.train` are made of, which keeps memory from one to the next.
TRAINED = frozenset({"encoder step, gcn", "encoder step, cheb", "decoder step"})


def run(stage: str, folder: Path, seconds: float = 12.0) -> dict[str, float]:
    """Median milliseconds, by the clock and of the processor, of three turns or what takes about `seconds`."""
    graph = read(folder)
    call = STAGES[stage](graph, make_split(graph, "random", 0))
    spent: list[float] = []

    def timed() -> None:
        begun = time.process_time()
        call()
        spent.append(1000 * (time.process_time() - begun))

    with retained() if stage in TRAINED else nullcontext():
        (took,) = in_turns(timed, seconds=seconds, least=3)
    return {"ms": took, "cpu_ms": median(spent[1:])}


def main() -> None:
    """`make FOLDER NODES` stores a graph, `STAGE FOLDER [SECONDS]` prints what `run` finds, as JSON."""
    command, place, *number = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
    if command == "make":
        make(place, int(number[0]))
    else:
        print(json.dumps(run(command, place, *map(float, number))))
