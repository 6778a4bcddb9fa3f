"""Links and edges: Graph -> PairSplit -> Encoders -> Z -> BoundaryShaper -> Z^ -> PairDecoder -> scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from bes import seeding
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.edge_splits import EdgeSplit, split_edges
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, make_link_split
from bes.graph.pairs import PairSplit, pair_prob
from bes.graph.splits import make_split
from bes.models.convs import CONVS, pick
from bes.models.heuristics import HEURISTICS
from bes.models.pair_encoders import PairEncoders
from bes.models.pairs import KINDS, PairDecoder
from bes.pipeline import boundaries
from bes.pipeline.boundaries import Shaped
from bes.pipeline.results import ArmResult, SeedResult, clock, peak_mib, prepare
from bes.tasks.edge import EdgeTask
from bes.tasks.link import LinkTask

#: Arms that shape by another boundary than arm `bes` does.
OTHER_MODES = {"bes-clusters": "clusters", "bes-pairs": "pairs"}

#: From a part of the split to what an arm says of its pairs.
Predict = Callable[[str], Tensor]


def check_pairs(config: RunConfig, graph: Graph, seeds: list[int]) -> None:
    """Refuse what `run_pairs` would refuse on the way."""
    pick(KINDS, config.decoder.kind, "decoder")
    if config.selection != "validation":
        raise InputError(f"The setting selection={config.selection} is for nodes only: pairs are chosen on validation.")
    if config.task == "edge" and (config.links.message, config.links.select) != ("train", "auc"):
        raise InputError("The settings links.message and links.select are for --task link only: leave them out.")
    _check_rivals(config)
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


def _check_rivals(config: RunConfig) -> None:
    known = {**dict.fromkeys(OTHER_MODES), **dict.fromkeys(CONVS)}
    known |= dict.fromkeys(HEURISTICS) if config.task == "link" else {}
    for i, name in enumerate(config.rivals):
        pick(known, name, "arm")
        if name in config.rivals[:i]:
            raise InputError(f"The arm '{name}' is named twice among the rivals: name it once.")


def run_pairs(config: RunConfig, graph: Graph, seed: int) -> SeedResult:
    """Control, shaped and rivals, paired on one split. Structure comes from the split's message graph alone."""
    graph = prepare(graph, config).to(seeding.pick_device(config.device))
    split, labels = pair_split(config, graph, seed), node_labels(config, graph, seed)
    mode, bare = pick_mode(config, graph), split
    if labels is not None:  # all networks get what the shaper gets
        split = split.with_columns(F.one_hot(labels + 1)[:, 1:].to(torch.float32))
    del graph  # it knows the held-out edges

    spent: dict[str, float] = {}
    with clock(spent, "encoders"):
        phi = _encoders(config, seed).fit(split)
        z = phi.transform(split.graph)
        z_test = z if split.test_graph is split.graph else phi.transform(split.test_graph)
    plain = Shaped(None, z, z_test, None, [], {})
    finding: dict[str, float] = {}
    with clock(finding, "shaping"):
        found = boundaries.material(mode, config, seed, split, z, labels)
    task = _task(split, boundaries.at_boundary(found, z, split.pairs("test")))
    epochs = [log.best_epoch for log in phi.logs_]

    def decoded(arm: str, shaped: Shaped, seconds: dict[str, float]) -> ArmResult:
        with clock(seconds, "decoder"):
            decoder = _decoder(config, seed).fit(shaped.z, split, shaped.shape)
        result = _score(
            arm,
            task,
            lambda part: decoder.decision_function(*_nodes(split, shaped, part), split.pairs(part), shaped.shape),
            seconds,
        )
        best = decoder.log_.best_epoch
        result.selected = {"encoders": epochs, "decoder": best if best >= 0 else None}  # dot has nothing to train
        return result

    def shaped_arm(arm: str, mode: str) -> tuple[ArmResult, Shaped]:
        seconds = {**spent, **(finding if mode == found.mode else {})}
        with clock(seconds, "shaping"):
            rows = found if mode == found.mode else boundaries.material(mode, config, seed, split, z, labels)
            shaped = boundaries.shape(rows, config, seed, split, z, z_test)
        result = decoded(arm, shaped, seconds)
        assert shaped.shaper is not None
        result.shaped_by(shaped.shaper, shaped.notes)
        result.more["shaped_by"] = mode
        return result, shaped

    control = decoded("control", plain, {**spent, "shaping": 0.0})
    bes, shaped = shaped_arm("bes", mode)
    others = []
    for name in config.rivals:
        if name in OTHER_MODES:
            others.append(shaped_arm(name, OTHER_MODES[name])[0])
        elif name in HEURISTICS:
            others.append(_heuristic(name, task, bare))
        else:
            others.append(_network(name, config, seed, task, phi, split))
    message = split.message if isinstance(split, LinkSplit) else "all"
    for result in (control, bes, *others):
        result.more |= {"boundary_mode": mode, "message_graph": message, "labels_as_features": labels is not None}
        result.notes = [*split.notes, *result.notes]
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


def _nodes(split: PairSplit, shaped: Shaped, part: str) -> tuple[Graph, Tensor]:
    """The graph and the embeddings with which `part` is scored."""
    return (split.graph, shaped.z) if part == "val" else (split.test_graph, shaped.z_test)


def _task(split: PairSplit, at_boundary: Tensor) -> LinkTask | EdgeTask:
    return (
        LinkTask(split, at_boundary) if isinstance(split, LinkSplit) else EdgeTask(cast(EdgeSplit, split), at_boundary)
    )


def _network(
    name: str, config: RunConfig, seed: int, task: LinkTask | EdgeTask, phi: PairEncoders, split: PairSplit
) -> ArmResult:
    """An encoder with its own decoder, trained end to end: one of the ensemble's where it has it."""
    names = list(config.encoders.names)
    own = phi if name in names else _encoders(config, seed, (name,)).fit(split)
    index = names.index(name) if own is phi else 0
    seconds = {"encoders": own.seconds_[index], "shaping": 0.0, "decoder": 0.0}

    def predict(part: str) -> Tensor:
        graph = split.graph if part == "val" else split.test_graph
        return own.decision_function(index, graph, split.pairs(part))

    result = _score(name, task, predict, seconds)
    result.selected = {"encoders": [own.logs_[index].best_epoch]}
    return result


def _heuristic(name: str, task: LinkTask | EdgeTask, split: PairSplit) -> ArmResult:
    seconds = {"encoders": 0.0, "shaping": 0.0, "decoder": 0.0}

    def predict(part: str) -> Tensor:
        graph = split.graph if part == "val" else split.test_graph
        return HEURISTICS[name](graph, split.pairs(part))[:, None]

    return _score(name, task, predict, seconds, probable=False)


def _score(
    arm: str, task: LinkTask | EdgeTask, predict: Predict, seconds: dict[str, float], *, probable: bool = True
) -> ArmResult:
    """Predict every part, open the test part, and keep both."""
    split: PairSplit = task.split
    with clock(seconds, "evaluate"):
        logits = {part: predict(part) for part in split.parts}
        if not all(bool(torch.isfinite(found).all()) for found in logits.values()):
            raise InputError(f"Arm '{arm}' of graph '{split.graph.name}' diverged: lower encoders.lr or decoder.lr.")
        if isinstance(task, LinkTask):
            metrics = task.evaluate(arm, {part: found[:, 0] for part, found in logits.items()})
        else:
            metrics = task.evaluate(arm, logits)
    prob = {part: pair_prob(found) if probable else _decided(found, metrics) for part, found in logits.items()}
    return ArmResult(arm, metrics, _arrays(split, logits, prob), seconds, peak_mib=peak_mib())


def _decided(scores: Tensor, metrics: Mapping[str, Mapping[str, float | int | None]]) -> Tensor:
    """A heuristic has no probabilities: 0 or 1 by the threshold."""
    link = (scores > float(metrics["val"]["threshold"] or 0.0)).to(torch.float32)
    return torch.cat([1 - link, link], dim=1)


def _arrays(split: PairSplit, logits: dict[str, Tensor], prob: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """Every held-out pair with its part, its class and what the arm says of it."""
    parts = split.parts
    return {
        "pair": torch.cat([split.pairs(part) for part in parts], dim=1).T.cpu().numpy(),
        "part": np.repeat(np.array(parts), [split.pairs(part).shape[1] for part in parts]),
        "label": torch.cat([split.reveal(part) for part in parts]).cpu().numpy(),
        "score": torch.cat([logits[part] for part in parts]).cpu().numpy(),
        "prob": torch.cat([prob[part] for part in parts]).cpu().numpy(),
    }


def _encoders(config: RunConfig, seed: int, names: tuple[str, ...] | None = None) -> PairEncoders:
    options = config.encoders.model_dump(exclude={"names"})
    return PairEncoders(
        names or config.encoders.names,
        **options,
        decoder=config.decoder.kind,
        hidden=config.decoder.hidden,
        batch=config.links.batch,
        random_state=seed,
        device=config.device,
    )


def _decoder(config: RunConfig, seed: int) -> PairDecoder:
    options = config.decoder.model_dump()
    return PairDecoder(**options, batch=config.links.batch, random_state=seed, device=config.device)
