"""Full batch or parts: what memory a run needs, which of them it gets, and its graph cut."""

from __future__ import annotations

from bes import seeding
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.models.pairs import CHEB_OUT
from bes.scale.batches import Parts, cut
from bes.scale.memory import SHARE, Estimate, Layers, available, estimate


def check_batching(config: RunConfig) -> None:
    """Refuse parts for what trains on the whole graph alone."""
    if config.batching != "parts":
        return
    if why := _whole(config):
        raise InputError(f"The setting batching=parts is not for {why}: use batching=full.")


def _whole(config: RunConfig) -> str:
    """Why a run has to see the whole graph; empty where it has not."""
    if not config.paired:
        return "methods by themselves, which train on the whole graph"
    if config.shaping == "encoders":
        return "shaping=encoders, which trains on the whole graph"
    if config.task != "node" and config.decoder.kind == "cheb":
        return "the decoder cheb of pairs, which convolves the whole graph"
    return ""


def settled(config: RunConfig, graph: Graph) -> RunConfig:
    """`batching=auto` as what it means here: parts where the full batch does not fit; else it stays, and is full."""
    if config.batching != "auto" or _whole(config):
        return config
    room = SHARE * available(seeding.pick_device(config.device))
    return config if memory_of(config, graph).peak <= room else config.model_copy(update={"batching": "parts"})


def memory_of(config: RunConfig, graph: Graph) -> Estimate:
    """What a run needs by its batching, `auto` standing for the full batch."""
    given, node = config.encoders, config.task == "node"
    out = graph.n_classes if node else given.channels
    width = given.channels * given.n_kept
    last = graph.n_classes if node else CHEB_OUT if config.decoder.kind == "cheb" else 2
    return estimate(
        graph,
        Layers(given.names, (graph.n_features, given.channels, out)),
        Layers([config.decoder.kind], (width, config.decoder.hidden, last)),
        config.shaper.n_layers if config.shaping == "layers" else 1,
        parts=(config.n_parts, config.parts_per_step) if config.batching == "parts" else None,
    )


def parts_of(config: RunConfig, graph: Graph) -> Parts | None:
    """The graph in parts where the run is by parts."""
    return cut(graph, config.n_parts, config.parts_per_step) if config.batching == "parts" else None


def sentence(config: RunConfig, graph: Graph) -> str:
    """What a run will need, what there is, and how it will train."""
    need, room = memory_of(config, graph).peak, available(seeding.pick_device(config.device))
    how = "parts" if config.batching == "parts" else "full batch"
    return f"Memory: about {need / 1024:.1f} GiB needed, {room / 1024:.1f} GiB available; {how}."
