"""Links, or classes of edges, under the protocol of all methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from bes.errors import InputError
from bes.graph.pairs import PairSplit
from bes.models.baselines.problem import Answer, Embed, Network, Problem, Streams, Training, summed
from bes.models.pairs import PairDecoder, PairNet, products, score_pairs
from bes.training import Callback, pair_objective, train


class PairProblem(Problem):
    """Links, or classes of edges.

    Args:
        split: Its message graph is all that is seen of the edges.
        decoder: What reads pairs: made anew for each embedding, with the run's settings. Networks that are trained end
            to end get one of the same kind and width.
        labels: Classes of nodes `[N]`, -1 where unknown; None where no class is known.
    """

    pairwise = True

    def __init__(
        self,
        split: PairSplit,
        decoder: Callable[[], PairDecoder],
        labels: Tensor | None,
        n_classes: int,
        seed: int,
        steps: Sequence[Callback] = (),
    ) -> None:
        known = torch.empty(0, dtype=torch.long, device=split.graph.device)
        if labels is not None:
            known = (labels >= 0).nonzero().flatten()
        super().__init__(split.graph, known, known if labels is None else labels[known], n_classes, seed, steps)
        self.split = split
        self.decoder = decoder

    def streams(self, *names: str | int) -> Streams:
        names = (0, *names, self.decoder().kind)
        return Streams(self.init(*names), self.generator("dropout", *names), self.generator("negatives", *names))

    def n_out(self, width: int) -> int:
        return width

    def fit(
        self,
        network: Network,
        training: Training,
        streams: Streams,
        *,
        loss: Callable[[Tensor], Tensor] | None = None,
        extra: Callable[[Tensor], Tensor] | None = None,
        first: int = 0,
    ) -> Answer:
        if loss is not None:
            raise InputError("A loss on nodes cannot train a network for pairs: give it as extra.")
        split, ops, made = self.split, self.graph.operators, self.decoder()
        network = network.to(self.device)
        with torch.no_grad():
            width = network.eval()(self.graph).shape[1]
        head = PairNet(
            made.kind,
            width,
            split.n_logits,
            hidden=made.hidden,
            dropout=made.dropout,
            norm=False,
            generator=streams.init,
        ).to(self.device)
        rng = streams.dropout
        own, score = pair_objective(split, products, lambda e: head.read(e, ops, rng), made.batch, streams.draw)
        groups = [*network.groups(training.weight_decay), {"params": list(head.parameters())}]
        forward, shared = network.in_training(self.graph, rng)
        log = train(
            nn.ModuleList([network, head]),
            lambda *begun: head.nodes(forward(*begun), ops, rng),
            summed(own, extra),
            score,
            shared=shared,
            epochs=training.epochs,
            lr=training.lr,
            weight_decay=training.weight_decay,
            patience=training.patience,
            groups=groups,
            first=first,
            callbacks=self.steps,
        )
        network.eval()
        head.eval()

        def pairs(part: str) -> Tensor:
            graph = split.graph_of(part)
            with torch.no_grad():
                h = head.nodes(network(graph), graph.operators)
            return score_pairs(head, h, split.pairs(part), graph.operators)

        return Answer(log.best_score, pairs=pairs, log=log)

    def probe(self, embed: Embed, training: Training) -> Answer:  # noqa: ARG002 (the run's decoder has its own)
        z = embed(self.graph).detach()
        split, decoder = self.split, self.decoder()
        decoder.fit(z, split, callbacks=self.steps)

        def pairs(part: str) -> Tensor:
            graph = split.graph_of(part)
            here = z if graph is self.graph else embed(graph).detach()
            return decoder.decision_function(graph, here, split.pairs(part))

        score = decoder.log_.best_score if decoder.log_.history else split.score(pairs("val"))
        return Answer(score, pairs=pairs, log=decoder.log_)
