"""SGNN: single-layer networks that are trained one by one, forwards and backwards, in place of one deep one.

H. Zhang, Y. Zhu, X. Li, "Decouple Graph Neural Networks: Train Multiple Simple GNNs Simultaneously Instead of One",
TPAMI 2024. Module t has the input X_t, with P_t = Â^{o_t} X_t made before it is trained, and

    H_t = act(inner(P_t U_t) W_t),    X_{t+1} = H_t,    logits H_t V_t,    E_t = X_t U_t.

1. Forward: t = 1..L with U_t = I, by cross-entropy of the logits on training nodes + lambda |W_t|^2.
2. `rounds` times. Backward: t = L..1 with U_t trained too for t > 1, from I on; module L by cross-entropy, the others
   by eta |H_t - E_{t+1}|^2 / n on training nodes and on all nodes + lambda (|W_t|^2 + |U_t|^2). Forward: t = 1..L
   with U_t = I again; module L by cross-entropy, the others by the gap to E_{t+1} of the backward training.

Each training is a new Adam over a fixed number of fresh batches. For pairs the modules learn without classes: in place
of the cross-entropy stands the reconstruction of the edges inside a batch, which stays beside the gap, the squares
become absolute values, and the last module's output is read by the run's decoder.

Settled: the official code trains without any selection (its hook for validation is handed the test nodes, and is
commented out). Here the answer is that of the round, the first forward training included, with the best score on
validation. Its bias takes part in the regulariser alone and is left out; so is U_1 (F x F), which is never trained.
The BES paper gives the learning rate 0.001 and the official repository: `paper` has the official layers with that
rate. For WikiCS and others there are no official layers: PubMed's are used. The official last batch of 140 are the
labels of the public split; with 60 % of the labels it is 512. How the paper predicted links with it is not known.
Uncertain: the layers without classes are the repository's for clustering, with fewer rounds and steps and other batches
(`configs/sgnn.yaml`); other graphs take Cora's there.

Expected: the BES paper's Table 1 prints 87.74 (Cora), 77.34 (CiteSeer), 83.46 (PubMed). The tables of its own paper
were not at hand.

Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):
- sgnn, the paper's settings: Cora 87.59 ± 0.35 (10), CiteSeer 76.08 ± 0.34 (10).
- sgnn, tuned: Cora 87.41 ± 0.26 (10), CiteSeer 76.05 ± 0.34 (10), PubMed 85.78 ± 0.14 (10), Chameleon (filtered) 41.34
  ± 1.06 (10), Squirrel (filtered) 33.20 ± 0.67 (10), Cornell 43.24 ± 1.07 (10), Texas 63.14 ± 1.73 (10), Wisconsin
  53.00 ± 2.13 (10), Actor 28.88 ± 0.35 (10), Amazon Photo 93.03 ± 0.27 (10).

Reached on links, test accuracy on random 60/20/20 splits of the edges (`make results`, too):
- sgnn, the paper's settings: Cora 83.69 ± 0.44 (5).
- sgnn, tuned: Cora 83.95 ± 0.28 (10), CiteSeer 84.91 ± 0.21 (10), PubMed 85.19 ± 0.08 (10), Amazon Photo 93.01 ± 0.08
  (10).
- the paper prints over 2 points more: sgnn Cora 9.4, CiteSeer 11.2, PubMed 9.4. The paper does not publish how it
  predicts links. With the test edges left to pass messages a GCN goes beyond what is printed for it (Cora 96.74 ± 0.16
  (5), printed 92.30, CiteSeer 96.65 ± 0.20 (5), printed 95.30, PubMed 98.04 ± 0.02 (5), printed 93.70): a leak would
  explain such a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.models.baselines.method import Method
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.options import Count, Natural, NonNegative, Positive
from bes.models.baselines.problem import Answer, Problem, Streams, Training
from bes.models.baselines.sgnn_modules import Act, Layer, Module, Objective, Source, Stack
from bes.training import TrainLog

#: Of the pairs of a batch: the share that is left out for itself, or for its mirror image.
LEFT_OUT = 0.2

#: Bounds of an inner product, and of a probability under the logarithm.
STEEPEST, LEAST = 40.0, 1e-6


@dataclass(frozen=True)
class SGNN(Method):
    """Modules that are trained one by one. Options in the plural have an entry a module, or one for all.

    Args:
        epochs, lr: Steps of each training of a module and their rate, where `iters` or `lrs` is empty.
        weight_decay: lambda, of the squares of the weights; of their absolute values where pairs are predicted.
        patience: Rounds without a better validation score after which training stops; 0 never stops it.
        widths: Outputs of each module.
        orders: How often the input of each module is propagated.
        inners, acts: Activations before and after the weights of each module.
        slope: Of `leaky` below zero.
        batches: Nodes a step, at most.
        rounds: Backward and forward trainings after the first forward one.
        eta: Weight of the gap to a target.
    """

    epochs: Count = 60
    weight_decay: NonNegative = 1e-3
    widths: tuple[Count, ...] = (128, 64, 32)
    orders: tuple[Natural, ...] = (1, 1, 2)
    inners: tuple[Act, ...] = ("linear",)
    acts: tuple[Act, ...] = ("leaky", "relu", "linear")
    lrs: tuple[Positive, ...] = ()
    iters: tuple[Count, ...] = ()
    batches: tuple[Count, ...] = (4096, 4096, 512)
    slope: NonNegative = 0.2
    rounds: Natural = 5
    eta: NonNegative = 100.0

    def layers(self) -> list[Layer]:
        """The modules' options, a row each."""
        if not self.widths:
            raise InputError("The option sgnn.widths is empty: give the width of each module.")
        columns = [
            self._each("orders", self.orders),
            self._each("inners", self.inners),
            self._each("acts", self.acts),
            self._each("lrs", self.lrs or (self.lr,)),
            self._each("iters", self.iters or (self.epochs,)),
            self._each("batches", self.batches),
            self._each("slope", (self.slope,)),
        ]
        return [Layer(*row) for row in zip(self.widths, *columns, strict=True)]

    def _each(self, name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(values) not in (1, len(self.widths)):
            raise InputError(
                f"The option sgnn.{name} has {len(values)} entries for {len(self.widths)} modules: "
                "give one a module, or one for all."
            )
        return values if len(values) == len(self.widths) else values * len(self.widths)

    def stack(self, problem: Problem, streams: Streams, objective: Objective) -> Stack:
        """The modules with their initial weights; for nodes each with a head for the classes."""
        layers, n_in, n_classes = self.layers(), problem.graph.n_features, 0 if problem.pairwise else problem.n_classes
        modules = []
        for layer in layers:
            modules.append(Module(layer, n_in, n_classes, streams.init))
            n_in = layer.width
        return Stack(modules, problem.graph, objective)

    def fit(self, problem: Problem) -> Answer:
        streams = problem.streams("sgnn")
        if isinstance(problem, NodeProblem):
            problem.need_labels("sgnn")
            objective = by_classes(problem, self.eta, self.weight_decay, streams.draw)
            return self._classify(problem, self.stack(problem, streams, objective))
        objective = by_edges(problem.graph, self.eta, self.weight_decay, streams.draw)
        stack = self.stack(problem, streams, objective)
        stack.train_forward()
        for _ in range(self.rounds):
            stack.train_backward()
            stack.train_forward()
        return problem.probe(stack.embed, Training())

    def _classify(self, problem: NodeProblem, stack: Stack) -> Answer:
        log, best, head = TrainLog(), torch.empty(0), stack.modules[-1].head
        assert isinstance(head, Tensor)
        for done in range(self.rounds + 1):
            if done:
                stack.train_backward()
            logits = stack.train_forward() @ head.detach()
            score = problem.score(logits)
            log.history.append({"epoch": done, "loss": stack.loss, "score": score[0]})
            if score > log.best_score:
                log.best_epoch, log.best_score, best = done, score, logits
            if self.patience and done - log.best_epoch >= self.patience:
                break
        return problem.answer(best.softmax(1), log)


def draw(pool: Tensor, size: int, rng: torch.Generator) -> Tensor:
    """`size` of the entries of `pool` without repetition, or all where there are not more."""
    if size >= len(pool):
        return pool
    return pool[torch.randperm(len(pool), generator=rng, device=pool.device)[:size]]


def gaps(h: Tensor, target: Tensor) -> Tensor:
    """|h_i - t_i|^2 of each row."""
    return (h - target).square().sum(1)


def by_classes(problem: NodeProblem, eta: float, decay: float, rng: torch.Generator) -> Objective:
    """Cross-entropy on training nodes; with a target its gap instead, on training nodes and on all nodes."""
    train, n_nodes = problem.train, problem.graph.n_nodes
    places, nodes = torch.arange(len(train), device=train.device), torch.arange(n_nodes, device=train.device)

    def loss(module: Module, source: Source, target: Tensor | None) -> Tensor:
        size = module.layer.batch
        value = decay * torch.stack([w.square().sum() for w in module.penalised()]).sum()
        at = draw(places, size, rng)
        if target is None:
            return value + F.cross_entropy(module(source, train[at]) @ module.head, problem.labels[at])
        share = torch.zeros(
            n_nodes, device=train.device
        )  # what a node weighs: one that is in both batches counts twice
        for batch in (train[at], draw(nodes, size, rng)):
            share[batch] += 1 / len(batch)
        rows = share.nonzero().flatten()
        if len(rows) == n_nodes:
            return value + eta * (share @ gaps(module(source), target))
        return value + eta * (share[rows] @ gaps(module(source, rows), target[rows]))

    return loss


def by_edges(graph: Graph, eta: float, decay: float, rng: torch.Generator) -> Objective:
    """Reconstruction of the edges inside a batch of nodes; with a target its gap besides."""
    nodes = torch.arange(graph.n_nodes, device=graph.device)

    def loss(module: Module, source: Source, target: Tensor | None) -> Tensor:
        rows = draw(nodes, module.layer.batch, rng)
        h = module(source, rows)
        dropped = torch.rand(len(rows), len(rows), generator=rng, device=rows.device) <= LEFT_OUT
        value = reconstruction(h, inside(graph, rows), ~(dropped | dropped.T))
        value = value + decay * torch.stack([w.abs().sum() for w in module.penalised()]).sum()
        return value if target is None else value + eta * gaps(h, target[rows]).mean()

    return loss


def inside(graph: Graph, rows: Tensor) -> Tensor:
    """The adjacency `[B, B]` of some nodes."""
    place = torch.full((graph.n_nodes,), -1, device=rows.device)
    place[rows] = torch.arange(len(rows), device=rows.device)
    u, v = place[graph.edge_index]
    both = (u >= 0) & (v >= 0)
    found = torch.zeros(len(rows), len(rows), device=rows.device)
    found[u[both], v[both]] = 1.0
    return found


def reconstruction(h: Tensor, edges: Tensor, kept: Tensor) -> Tensor:
    """Cross-entropy of sigma(H H^T) on the pairs that are kept, no node with itself, over all B^2.

    A pair with an edge weighs as much as there are pairs without one to each of them.
    """
    kept = kept.clone().fill_diagonal_(False)
    positive, negative = edges * kept, (1 - edges) * kept
    p = (h @ h.T).clamp(-STEEPEST, STEEPEST).sigmoid()
    weight = negative.sum() / positive.sum().clamp_min(1)
    entropy = weight * positive * p.clamp_min(LEAST).log() + negative * (1 - p).clamp_min(LEAST).log()
    return -entropy.mean()
