"""Node classification on ranks: each trains, shapes and decodes its own nodes, and all have the same weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bes import seeding
from bes.checkpoint import NodeModel, make_decoder, make_encoders
from bes.config import RunConfig
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.machine import give_back
from bes.models.base import FilterConv
from bes.models.convs import CONVS
from bes.models.decoders import Decoder, DecoderNet
from bes.models.encoders import Encoder, EncoderEnsemble
from bes.pipeline.results import clock, make_shaper, peak_mib
from bes.scale.distributed import OwnSplit, train_on_ranks
from bes.scale.dropout import dropped_relu_
from bes.scale.exchange import Halo, RankOperators
from bes.scale.group import RankGroup
from bes.scale.halo import GraphPart
from bes.scale.kept import Kept
from bes.scale.ranks import Ranks
from bes.scale.resume import ShapingShards
from bes.scale.sharded import Shards


def check_ranks(config: RunConfig, jobs: int, log: str | None) -> None:
    """Refuse what only one process can do."""
    attention = [name for name in config.encoders.names if not issubclass(CONVS.get(name, FilterConv), FilterConv)]
    alone = {
        f"--task {config.task}": config.task != "node",
        "--method": bool(config.methods),
        "--rivals": bool(config.rivals),
        "--preset strong and shaping=encoders": config.shaping != "layers",
        "crossfit": bool(config.crossfit),
        "encoders.keep": bool(config.encoders.keep),
        f"encoder {', '.join(attention)}": bool(attention),
        "decoder.norm=batch, as preset official has it,": config.decoder.norm != "none",
        "selection=test-peek": config.selection != "validation",
        f"scoring={config.scoring}": config.scoring != "accuracy",
        "--batching parts": config.batching == "parts",
        "--jobs": jobs != 1,
        "--log": log is not None,
    }
    for what, asked in alone.items():
        if asked:
            raise InputError(
                f"Ranks of torchrun cannot do {what} yet: leave it out, or call `bes run` without torchrun."
            )


@dataclass
class RankResult:
    """What one rank has of a seed beside the tensors of its nodes; the same on every rank but for the peak.

    Attributes:
        model: Encoders, shaper and decoders.
        epochs: That validation chose: `encoders`, and each arm's decoder.
        seconds: By stage; a decoder's are under `decoder ARM`.
    """

    model: NodeModel
    notes: list[str]
    epochs: dict[str, Any]
    seconds: dict[str, float]
    history: list[dict[str, Any]] = field(default_factory=list)
    region_sizes: list[int] = field(default_factory=list)
    peak_mib: float | None = None


class RankRun:
    """One seed of a run on one rank.

    What a stage leaves of own nodes goes to files at once: `stage.I` (embeddings before and after each layer),
    `boundaries` and `shift_scores` `[n, layers looked at]`, `prob.ARM`. The next stage reads maps of them, so that no
    stage holds what it does not use.

    Args:
        part: What this rank holds of the graph, features scaled.
        split: Its share of the seed's split.
        shards: Where each stage saves how far it has come, and goes on from.
        kept: Where what it leaves of own nodes goes.
    """

    def __init__(
        self, config: RunConfig, seed: int, part: GraphPart, split: OwnSplit, ranks: Ranks, shards: Shards, kept: Kept
    ) -> None:
        self.config, self.seed, self.part, self.split = config, seed, part, split
        self.ranks, self.shards, self.kept = ranks, shards, kept
        self.halo = Halo(part, ranks)

    def run(self) -> RankResult:
        """Encoders, shaping and both arms' decoders."""
        seconds: dict[str, float] = {}
        with clock(seconds, "encoders"):
            phi, z = self.encoders()
        with clock(seconds, "shaping"):
            shaper, notes, z_hat = self.shape(z)
        decoders: dict[str, Decoder] = {}
        epochs: dict[str, Any] = {"encoders": [log.best_epoch for log in phi.logs_]}
        for arm, rows in (("control", z), ("bes", z_hat)):
            with clock(seconds, f"decoder {arm}"):
                decoders[arm] = self.decode(arm, rows)
                give_back()
            epochs[arm] = decoders[arm].log_.best_epoch
        model = NodeModel(self.config, self.seed, phi, shaper, decoders).to("cpu")
        told = shaper.history_, shaper.region_sizes_
        return RankResult(model, notes, epochs, seconds, *told, peak_mib=peak_mib())

    def encoders(self) -> tuple[EncoderEnsemble, Tensor]:
        """The encoders, trained one by one, and the embeddings of own nodes `[n, D]`."""
        phi, names = make_encoders(self.config, self.seed), self.config.encoders.names
        phi.encoders_, phi.logs_ = [], []
        width = self.config.encoders.channels
        z = torch.empty(self.part.n_own, len(names) * width, device=self.ranks.device)
        for i, name in enumerate(names):
            self.ranks.stage = f"encoder-{i + 1}-{name}"
            encoder, log = self._encoder(name, names[:i].count(name), z[:, i * width : (i + 1) * width])
            phi.encoders_.append(encoder)
            phi.logs_.append(log)
            give_back()
        return phi, self.kept.keep("stage.0", z)

    def _encoder(self, name: str, repeat: int, rows: Tensor) -> tuple[Encoder, Any]:
        """An encoder, trained, and its log; its embeddings of own nodes are put into `rows`."""
        options, operators = self.config.encoders, RankOperators(self.part, self.halo)
        start = seeding.generator(self.seed, "init", repeat, name)
        sizes = (self.part.x.shape[1], options.channels, int(self.split.n_classes))
        encoder = Encoder(name, *sizes, dropout=options.dropout, generator=start).to(self.ranks.device)

        def forward(epoch: int | None) -> Tensor:
            hidden = self._hidden(encoder.conv1(self.part.x, operators), options.dropout, epoch, repeat, name)
            logits: Tensor = encoder.conv2(hidden, operators)
            return logits

        log = train_on_ranks(encoder, forward, self.split, self.ranks, self.shards, **_training(options))
        with torch.no_grad():
            rows.copy_(encoder.embed(self.part.x, operators))
        return encoder.requires_grad_(False).eval(), log

    def decode(self, arm: str, z: Tensor) -> Decoder:
        """A decoder of embeddings of own nodes `[n, D]`; its probabilities `[n, C]` are kept."""
        options, decoder = self.config.decoder, make_decoder(self.config, self.seed)
        operators = RankOperators(self.part, self.halo)
        self.ranks.stage = f"decoder-{arm}"
        start = seeding.generator(self.seed, "init", "decoder", options.kind)
        sizes = (z.shape[1], options.hidden, int(self.split.n_classes))
        net = DecoderNet(options.kind, sizes, norm=False, dropout=options.dropout, generator=start)
        net.to(self.ranks.device)
        propagated = net.conv1.propagate(z, operators)

        def forward(epoch: int | None) -> Tensor:
            first = net.conv1.transform(propagated)
            logits: Tensor = net.conv2(self._hidden(first, options.dropout, epoch, "decoder", options.kind), operators)
            return logits

        decoder.log_ = train_on_ranks(net, forward, self.split, self.ranks, self.shards, **_training(options))
        decoder.net_ = net.requires_grad_(False).eval()
        with torch.no_grad():
            self.kept.keep(f"prob.{arm}", forward(None).softmax(1))
        return decoder

    def _hidden(self, first: Tensor, share: float, epoch: int | None, *stream: str | int) -> Tensor:
        """What the second layer gets of what the first gave, which is overwritten; in training with dropout."""
        if epoch is None:
            return first.relu_()
        return dropped_relu_(first, self.part.own, share, seeding.derive(self.seed, "dropout", *stream, epoch))

    def shape(self, z: Tensor) -> tuple[BoundaryShaper, list[str], Tensor]:
        """The shaper, its notes, and the shaped embeddings of own nodes `[n, D]`."""
        self.ranks.stage = "shaping"
        shaper = make_shaper(self.config, self.seed)
        graph = shaper.scope == "neighbors" or shaper.neighborhood == "graph"
        group = RankGroup(self.part, self.halo if graph else None, self.ranks)
        labels = torch.full((self.part.n_own,), -1, device=z.device)
        labels[self.split.train] = self.split.train_labels
        edges = self.part.edge_index if graph else None
        rows, labels = (group.extended(own) for own in (z, labels))
        keeper = ShapingShards(self.shards)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            shaper.fit(rows, labels, edges, group=group, keeper=keeper)
        for i, found in enumerate(shaper.each_stage(rows, edges, group=group)):
            z = self.kept.keep(f"stage.{i}", found[: self.part.n_own]) if i else z
        for name, columns in _looks(shaper, self.part.n_own).items():
            self.kept.keep(name, columns)
        give_back()
        return shaper, [str(warning.message) for warning in caught], z


def _training(options: Any) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("epochs", "lr", "weight_decay", "patience")}


def _looks(shaper: BoundaryShaper, n: int) -> dict[str, Tensor]:
    """What each look for the boundary found among own nodes."""
    at = torch.zeros(len(shaper.boundary_), n, dtype=torch.bool)
    scores = torch.full((len(shaper.boundary_), n), torch.nan)
    for layer, (nodes, found) in enumerate(zip(shaper.boundary_, shaper.shift_scores_, strict=True)):
        at[layer, torch.from_numpy(nodes)] = True
        scores[layer] = torch.from_numpy(found[:n])
    return {"boundaries": at.T, "shift_scores": scores.T}
