"""What shaping adds to the loss of encoders: nodes without a label that join, and the pull of gravity on the band."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from bes.core import gravity, similarity, soft
from bes.core.gaussians import ClassSums
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, others
from bes.models.alike import both_views
from bes.models.fused import Fused
from bes.training import Score, logits_of

if TYPE_CHECKING:
    from bes.models.encoder_shaper import EncoderShaper

#: Teachers that `auto` chooses among, in this order.
TEACHERS = get_args(soft.Teacher)[1:]


class SoftPull:
    """What is added to the loss; called once an epoch with the outputs in training mode.

    Attributes:
        rows: How many took part, a dict a choice.
        bands: The nodes of the band, a tensor a choice.
    """

    def __init__(self, options: EncoderShaper, network: Fused, graph: Graph, split: NodeSplit) -> None:
        self.options, self.network, self.graph = options, network, graph
        self.known, self.labels, self.n_classes = split.train, split.train_labels, split.n_classes
        self.free = others(self.known, graph.n_nodes)
        self.truth = F.one_hot(self.labels, self.n_classes).float()
        self.teacher = "smooth"
        self.at_first: Tensor | None = None  # sizes of classes, before anybody is taught
        self.epoch = 0
        self.rows: list[dict[str, Any]] = []
        self.bands: list[Tensor] = []

    def __call__(self, out: tuple[Tensor, Tensor]) -> Tensor:
        options = self.options
        if self.epoch % options.every == 0:
            self._choose()
        self.epoch += 1
        logits, hidden = out
        loss = logits.new_zeros(())
        part = self.part
        if options.weight and part.joined.numel():
            joined = logits.index_select(0, part.joined)
            loss = loss + options.weight * F.cross_entropy(joined, part.joined_labels, self.balance)
        nodes, labels = (self.known, self.labels) if options.pulled == "labelled" else (part.band, part.band_labels)
        if options.gravity and nodes.numel():
            z = F.normalize(hidden.index_select(0, nodes), dim=1)
            loss = loss + options.gravity * self._gravity(z, labels)
        return loss

    def _gravity(self, z: Tensor, labels: Tensor) -> Tensor:
        """Theorem 1's loss: no hinge, as nothing has to be left where it is."""
        excluded = similarity.excluded(labels, self.present)
        return gravity.center_loss(
            z, labels, self.means, excluded, z.new_zeros(self.n_classes), self.options.temperature
        )

    @torch.no_grad()
    def take_teacher(self, wanted: str, score: Callable[[Tensor], Score], n: float) -> str:
        """The teacher that is wanted; of `auto` the first that is best but for a standard error.

        The predictions themselves, which come last, were chosen on the same nodes and look better than they are. That
        favours neither way of smoothing, so the better one of those stands first.

        Args:
            score: Of labels on the nodes that select.
            n: How many those are (`NodeSplit.n_effective`).
        """
        if wanted == "auto":
            prob = self._outputs()[0].softmax(1)
            found = {name: score(logits_of(self._taught(name, prob)))[0] for name in TEACHERS}
            best = max(found.values())
            error = math.sqrt(best * (1 - best) / max(1, n))
            smooth = "alike" if found["alike"] > found["smooth"] else "smooth"
            wanted = next(name for name in (smooth, *TEACHERS[2:]) if found[name] >= best - error)
        self.teacher = wanted
        return wanted

    def _taught(self, teacher: str, prob: Tensor) -> Tensor:
        """Labels of all nodes, as probabilities `[N, C]`, from predictions."""
        ops, options = self.graph.operators, self.options
        if teacher in ("smooth", "alike"):
            over = both_views(self.graph) if teacher == "alike" else ops.gcn
            return soft.smoothed(prob, over, self.known, self.truth, options.steps, options.restart)
        if teacher == "beliefs":
            return soft.propagated(prob, ops.sum, ops.degree, self.known, self.truth)
        return prob.index_copy(0, self.known, self.truth)

    def _outputs(self) -> tuple[Tensor, Tensor]:
        """Logits and hidden layers in evaluation mode, by the parameters of now."""
        self.network.eval()
        out: tuple[Tensor, Tensor] = self.network(self.graph)
        self.network.train()
        return out

    def _sized(self, prob: Tensor, own: Tensor) -> Tensor:
        """Labels with classes about as large as predictions had them at first.

        Smoothing favours whom many hear, and those who learn from it favour them more: left alone, one class takes all.

        Args:
            prob: Labels `[N, C]`.
            own: The predictions `[N, C]` that they were made of.
        """
        now = own.index_select(0, self.free).mean(0)
        if self.at_first is None:
            self.at_first = now
        if self.options.sizes is None or not self.free.numel():
            return prob
        wanted = torch.lerp(now, self.at_first, self.options.sizes)
        return soft.resized(prob, wanted, self.free).index_copy(0, self.known, self.truth)

    @torch.no_grad()
    def _choose(self) -> None:
        """Who takes part, and the centres, by the parameters of now."""
        options = self.options
        grown = min(1.0, self.epoch / max(1, options.epochs))
        share = options.first + (options.last - options.first) * grown
        logits, hidden = self._outputs()
        own = logits.softmax(1)
        prob = self._sized(self._taught(self.teacher, own), own)
        part = self.part = soft.take_part(prob, self.free, share, options.band)
        self.balance = soft.balance(part.joined_labels, self.n_classes, options.balance)
        nodes, labels = self.known, self.labels
        if options.pulled == "band":
            nodes, labels = torch.cat([nodes, part.joined]), torch.cat([labels, part.joined_labels])
        sums = ClassSums.of(F.normalize(hidden.index_select(0, nodes), dim=1), labels, self.n_classes)
        self.means, self.present = sums.means.to(hidden), sums.present
        self.bands.append(part.band)
        by_class = torch.bincount(part.joined_labels, minlength=self.n_classes).tolist()
        sizes = {"joined": part.joined.numel(), "band": part.band.numel()}
        self.rows.append({"share": share, **sizes, "by_class": by_class})
