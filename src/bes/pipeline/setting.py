"""What a run on pairs stands on: its split, the classes that are known, and what the boundary is between."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from bes import seeding
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.edge_splits import EdgeSplit, split_edges
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, make_link_split
from bes.graph.pairs import PairSplit
from bes.graph.scaling import scale
from bes.graph.splits import make_split
from bes.pipeline.arms import PairTask
from bes.pipeline.results import ArmResult
from bes.tasks.edge import EdgeTask
from bes.tasks.link import LinkTask


@dataclass(frozen=True)
class Setting:
    """What the arms of a seed share.

    Attributes:
        split: As networks get it: under boundary `classes` with the labels of the training nodes as features.
        bare: The split without them, for heuristics.
    """

    split: PairSplit
    bare: PairSplit
    labels: Tensor | None
    mode: str

    @classmethod
    def of(cls, config: RunConfig, graph: Graph, seed: int) -> Setting:
        """The graph knows the held-out edges: it does not go further than here."""
        graph = scale(graph, config.features).to(seeding.pick_device(config.device))
        bare, labels = pair_split(config, graph, seed), node_labels(config, graph, seed)
        # all networks get what the shaper gets
        split = bare if labels is None else bare.with_columns(F.one_hot(labels + 1)[:, 1:].to(torch.float32))
        return cls(split, bare, labels, pick_mode(config, graph))

    def describe(self, result: ArmResult) -> ArmResult:
        """Add to an arm what a reader of its figures should know."""
        message = self.split.message if isinstance(self.split, LinkSplit) else "all"
        labelled = self.labels is not None
        result.more |= {"boundary_mode": self.mode, "message_graph": message, "labels_as_features": labelled}
        result.notes = [*self.split.notes, *result.notes]
        return result


def pair_split(config: RunConfig, graph: Graph, seed: int) -> PairSplit:
    """The split of the task."""
    if config.task == "link":
        given = config.links
        return make_link_split(
            graph, config.split, seed, message=given.message, select=given.select, repeats=given.repeats
        )
    if config.split != "random":
        raise InputError(f"The edge split '{config.split}' is not known: use random.")
    return split_edges(graph, seed=seed)


def pick_mode(config: RunConfig, graph: Graph) -> str:
    """The boundary that was asked for; `auto` is classes where nodes have them, and pairs for edges."""
    asked, labelled = config.links.boundary, graph.y[graph.y >= 0].unique().numel() > 1
    if asked == "auto":
        return "pairs" if config.task == "edge" else "classes" if labelled else "clusters"
    if asked == "classes" and not labelled:
        raise InputError(
            f"The nodes of graph '{graph.name}' have no classes for boundary 'classes': use clusters or pairs."
        )
    if asked == "classes" and config.task == "edge" and graph.edge_label is None:
        raise InputError("The boundary 'classes' would give the derived edge classes away: use clusters or pairs.")
    return asked


def node_labels(config: RunConfig, graph: Graph, seed: int) -> Tensor | None:
    """Under boundary `classes`, the classes of the training nodes `[N]`, -1 elsewhere."""
    if pick_mode(config, graph) != "classes":
        return None
    return make_split(graph, config.links.label_split, seed).mask_labels(graph.y)


def pair_task(split: PairSplit, at_boundary: Tensor | None) -> PairTask:
    """The task of a split."""
    if isinstance(split, LinkSplit):
        return LinkTask(split, at_boundary)
    assert isinstance(split, EdgeSplit)
    return EdgeTask(split, at_boundary)
