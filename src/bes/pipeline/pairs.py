"""Links and edges: Graph -> PairSplit -> Encoders -> Z -> BoundaryShaper -> Z^ -> PairDecoder -> scores."""

from __future__ import annotations

import time
from collections.abc import Sequence

from torch import Tensor

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.models.convs import CONVS, pick
from bes.models.heuristics import HEURISTICS
from bes.models.pair_encoders import PairEncoders
from bes.models.pairs import KINDS
from bes.pipeline import boundaries, watching
from bes.pipeline.arms import make_decoder, make_encoders, score_arm
from bes.pipeline.batching import parts_of
from bes.pipeline.boundaries import Shaped
from bes.pipeline.methods import Studies, method_arms, resolved, with_networks
from bes.pipeline.results import ArmResult, SeedResult, check_rivals, clock
from bes.pipeline.setting import Setting, node_labels, pair_split, pair_task, pick_mode
from bes.pipeline.trained import Trained, control_key
from bes.progress import Watch

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


#: What `run_pairs` keeps of its encoders: them, and the embeddings for training and for test.
Embedded = tuple[PairEncoders, Tensor, Tensor]


def run_pairs(
    config: RunConfig,
    graph: Graph,
    seed: int,
    watchers: Sequence[Watch] = (),
    trained: Trained[Embedded] | None = None,
    studies: Studies | None = None,
) -> SeedResult:
    """Control, shaped, rivals and methods, paired on one split. Structure comes from its message graph alone."""
    setting = Setting.of(config, graph, seed)
    split, labels, mode = setting.split, setting.labels, setting.mode

    def encode() -> tuple[Embedded, float]:
        start = time.perf_counter()
        steps = watching.encoders(watchers, config.encoders.names, config.encoders.epochs)
        parts = parts_of(config, split.graph)
        phi = make_encoders(config, seed).fit(split, steps, parts)
        z = phi.transform(split.graph, parts)
        same = split.test_graph is split.graph
        z_test = z if same else phi.transform(split.test_graph, parts_of(config, split.test_graph))
        return (phi, z, z_test), time.perf_counter() - start

    trained = trained or Trained(keep=False)
    (phi, z, z_test), seconds, reused = trained.get(config, seed, encode)
    spent = {"encoders": seconds}
    plain = Shaped(None, z, z_test, None, [], {})
    finding: dict[str, float] = {}
    with clock(finding, "shaping"):
        found = boundaries.material(mode, config, seed, split, z, labels)
    task = pair_task(split, boundaries.at_boundary(found, z, split.pairs("test")))
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
    others = [shaped_arm(name, OTHER_MODES[name])[0] for name in config.rivals if name in OTHER_MODES]
    for result in (control, bes, *others):
        setting.describe(result).more |= {"encoders_reused": True} if reused else {}
    others += method_arms(with_networks(resolved(config)), graph, seed, task, watchers, studies, setting)
    others.sort(key=lambda arm: [*config.rivals, *config.methods].index(arm.arm))
    assert shaped.shaper is not None
    return SeedResult(seed, split.arrays(), [control, bes, *others], shaped.rows, shaped.shaper.history_)
