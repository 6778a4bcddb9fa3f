"""Links and edges: Graph -> PairSplit -> Encoders -> Z -> BoundaryShaper -> Z^ -> PairDecoder -> scores."""

from __future__ import annotations

import time
from collections.abc import Sequence
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
from bes.graph.splits import make_split
from bes.models.convs import CONVS, pick
from bes.models.heuristics import HEURISTICS
from bes.models.pair_encoders import PairEncoders
from bes.models.pairs import KINDS
from bes.pipeline import boundaries, watching
from bes.pipeline.arms import PairTask, heuristic_arm, make_decoder, make_encoders, network_arm, score_arm
from bes.pipeline.boundaries import Shaped
from bes.pipeline.results import ArmResult, SeedResult, check_rivals, clock, prepare
from bes.pipeline.trained import Trained, control_key
from bes.progress import Watch
from bes.tasks.edge import EdgeTask
from bes.tasks.link import LinkTask

#: Arms that shape by another boundary than arm `bes` does.
OTHER_MODES = {"bes-clusters": "clusters", "bes-pairs": "pairs"}


def check_pairs(config: RunConfig, graph: Graph, seeds: list[int]) -> None:
    """Refuse what `run_pairs` would refuse on the way."""
    pick(KINDS, config.decoder.kind, "decoder")
    if config.selection != "validation":
        raise InputError(f"The setting selection={config.selection} is for nodes only: pairs are chosen on validation.")
    if config.task == "edge" and (config.links.message, config.links.select) != ("train", "auc"):
        raise InputError("The settings links.message and links.select are for --task link only: leave them out.")
    heuristics = HEURISTICS if config.task == "link" else {}
    check_rivals(config, {**dict.fromkeys(OTHER_MODES), **dict.fromkeys(CONVS), **dict.fromkeys(heuristics)})
    modes = [pick_mode(config, graph), *(OTHER_MODES[name] for name in config.rivals if name in OTHER_MODES)]
    if modes[0] in modes[1:]:
        raise InputError(f"The arm 'bes-{modes[0]}' would be arm bes again: leave it out of the rivals.")
    if "pairs" in modes and config.decoder.kind == "cheb":
        raise InputError(
            "The boundary 'pairs' has no use for the decoder 'cheb', which convolves nodes: use mlp or dot."
        )
    if "pairs" in modes and (config.shaper.scope in ("neighbors", "nodes") or config.shaper.neighborhood == "graph"):
        raise InputError(
            "The boundary 'pairs' shapes each pair by itself: use scope=views or self, and neighborhood=embedding."
        )
    for seed in seeds if config.split != "official" else seeds[:1]:
        split = pair_split(config, graph, seed)
        if split.n_logits > 1 and config.decoder.kind != "mlp":
            raise InputError(
                f"The decoder '{config.decoder.kind}' tells two classes apart, but the edges of graph '{graph.name}' "
                f"have {split.n_classes}: use mlp."
            )
        node_labels(config, graph, seed)


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
        graph = prepare(graph, config).to(seeding.pick_device(config.device))
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


def run_pair_rival(config: RunConfig, graph: Graph, seed: int, arm: str) -> ArmResult:
    """A heuristic or a network by itself, on the split of `run_pairs`."""
    setting = Setting.of(config, graph, seed)
    task = _task(setting.split, None)
    if arm in HEURISTICS:
        return setting.describe(heuristic_arm(arm, task, setting.bare))
    return setting.describe(network_arm(arm, config, seed, task, setting.split))


#: What `run_pairs` keeps of its encoders: them, and the embeddings for training and for test.
Embedded = tuple[PairEncoders, Tensor, Tensor]


def run_pairs(
    config: RunConfig,
    graph: Graph,
    seed: int,
    watchers: Sequence[Watch] = (),
    trained: Trained[Embedded] | None = None,
) -> SeedResult:
    """Control, shaped and rivals, paired on one split. Structure comes from the split's message graph alone."""
    setting = Setting.of(config, graph, seed)
    split, labels, mode = setting.split, setting.labels, setting.mode
    del graph  # it knows the held-out edges

    def encode() -> tuple[Embedded, float]:
        start = time.perf_counter()
        steps = watching.encoders(watchers, config.encoders.names, config.encoders.epochs)
        phi = make_encoders(config, seed).fit(split, steps)
        z = phi.transform(split.graph)
        z_test = z if split.test_graph is split.graph else phi.transform(split.test_graph)
        return (phi, z, z_test), time.perf_counter() - start

    trained = trained or Trained(keep=False)
    (phi, z, z_test), seconds, reused = trained.get(config, seed, encode)
    spent = {"encoders": seconds}
    plain = Shaped(None, z, z_test, None, [], {})
    finding: dict[str, float] = {}
    with clock(finding, "shaping"):
        found = boundaries.material(mode, config, seed, split, z, labels)
    task = _task(split, boundaries.at_boundary(found, z, split.pairs("test")))
    epochs = [log.best_epoch for log in phi.logs_]

    def decoded(arm: str, shaped: Shaped, seconds: dict[str, float]) -> ArmResult:
        with clock(seconds, "decoder"):
            steps = watching.stage(watchers, f"decoder of {arm}", config.decoder.epochs)
            decoder = make_decoder(config, seed).fit(shaped.z, split, shaped.shape, steps)
        result = score_arm(
            arm,
            task,
            lambda part: decoder.decision_function(
                split.graph_of(part), shaped.z if part == "val" else shaped.z_test, split.pairs(part), shaped.shape
            ),
            seconds,
        )
        best = decoder.log_.best_epoch
        result.selected = {"encoders": epochs, "decoder": best if best >= 0 else None}  # dot has nothing to train
        return result

    def shaped_arm(arm: str, mode: str) -> tuple[ArmResult, Shaped]:
        seconds = {**spent, **(finding if mode == found.mode else {})}
        with clock(seconds, "shaping"):
            rows = found if mode == found.mode else boundaries.material(mode, config, seed, split, z, labels)
            steps = watching.stage(watchers, f"shaping of {arm}", config.shaper.n_layers * config.shaper.n_iter)
            shaped = boundaries.shape(rows, config, seed, split, z, z_test, steps)
        result = decoded(arm, shaped, seconds)
        assert shaped.shaper is not None
        result.shaped_by(shaped.shaper, shaped.notes)
        result.more["shaped_by"] = mode
        return result, shaped

    control = trained.made(control_key(config), lambda: decoded("control", plain, {**spent, "shaping": 0.0}))
    bes, shaped = shaped_arm("bes", mode)
    others = []
    for name in config.rivals:
        if name in OTHER_MODES:
            others.append(shaped_arm(name, OTHER_MODES[name])[0])
        elif name in HEURISTICS:
            others.append(heuristic_arm(name, task, setting.bare))
        else:
            others.append(network_arm(name, config, seed, task, split, phi))
    for result in (control, bes, *others):
        setting.describe(result).more |= {"encoders_reused": True} if reused else {}
    assert shaped.shaper is not None
    return SeedResult(seed, split.arrays(), [control, bes, *others], shaped.rows, shaped.shaper.history_)


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


def _task(split: PairSplit, at_boundary: Tensor | None) -> PairTask:
    if isinstance(split, LinkSplit):
        return LinkTask(split, at_boundary)
    assert isinstance(split, EdgeSplit)
    return EdgeTask(split, at_boundary)
