"""Training in parts: the loss is of the batch's own training nodes and pairs, and it learns as the full batch does."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.edge_splits import split_edges
from bes.graph.links import split_links
from bes.graph.splits import split_nodes
from bes.graph.synthetic import sbm
from bes.models.convs import CONVS
from bes.models.decoders import Decoder
from bes.models.encoders import EncoderEnsemble
from bes.models.pair_encoders import PairEncoders
from bes.scale.batches import Piece, cut
from bes.scale.steps import node_steps

GRAPH = sbm(n_nodes=240, n_classes=3, n_features=8, degree=8.0, noise=0.1, separation=2.0, seed=2)
SPLIT = split_nodes(GRAPH)
PARTS = cut(GRAPH, 6, 2)


def test_the_loss_is_of_a_batchs_own_training_nodes() -> None:
    logits = torch.randn(GRAPH.n_nodes, 3)
    pieces: list[Piece] = []

    def of(piece: Piece) -> Tensor:
        pieces.append(piece)
        return logits[piece.nodes]

    steps = node_steps(PARTS, SPLIT, of, torch.Generator())
    assert steps is not None
    found = list(steps())
    assert len(found) == len(pieces) == 3
    for piece, value in zip(pieces, found, strict=True):
        own = torch.tensor([node for node in piece.own.tolist() if node in set(SPLIT.train.tolist())])
        torch.testing.assert_close(value, F.cross_entropy(logits[own], GRAPH.y[own]))
    seen = torch.cat([piece.own for piece in pieces])
    assert set(SPLIT.train.tolist()) <= set(seen.tolist())


def test_a_batch_without_training_nodes_takes_no_step() -> None:
    few = split_nodes(GRAPH, train=0.01, val=0.4)  # one node a class
    steps = node_steps(cut(GRAPH, 24, 1), few, lambda piece: torch.zeros(piece.nodes.numel(), 3), torch.Generator())
    assert steps is not None
    assert 1 <= len(list(steps())) <= 3
    assert node_steps(None, few, lambda piece: piece.nodes, torch.Generator()) is None


@pytest.mark.parametrize("name", CONVS)
def test_encoders_learn_in_parts_what_they_learn_at_once(name: str) -> None:
    full = EncoderEnsemble([name], 8, epochs=25).fit(GRAPH, SPLIT)
    parts = EncoderEnsemble([name], 8, epochs=25).fit(GRAPH, SPLIT, parts=PARTS)
    assert parts.logs_[0].best_score[0] > full.logs_[0].best_score[0] - 0.07
    again = EncoderEnsemble([name], 8, epochs=25).fit(GRAPH, SPLIT, parts=PARTS)
    torch.testing.assert_close(again.transform(GRAPH), parts.transform(GRAPH), rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["cheb", "sage", "mlp"])
def test_decoders_learn_in_parts_what_they_learn_at_once(kind: str) -> None:
    full = Decoder(kind, hidden=8, epochs=25).fit(GRAPH, GRAPH.x, SPLIT)
    parts = Decoder(kind, hidden=8, epochs=25).fit(GRAPH, GRAPH.x, SPLIT, parts=PARTS)
    assert parts.log_.best_score[0] > full.log_.best_score[0] - 0.07


def test_no_label_outside_train_reaches_the_weights() -> None:
    other = GRAPH.y.clone()
    other[SPLIT.test] = (other[SPLIT.test] + 1) % 3
    changed = type(SPLIT)(SPLIT.train, SPLIT.val, SPLIT.test, SPLIT.name, 3, other)
    z = [EncoderEnsemble(["gcn"], 4, epochs=5).fit(GRAPH, s, parts=PARTS).transform(GRAPH) for s in (SPLIT, changed)]
    assert torch.equal(*z)


def test_pairs_of_a_batch_have_both_ends_in_it_and_their_classes() -> None:
    links, edges = split_links(GRAPH), split_edges(GRAPH)
    piece = next(PARTS.steps(torch.Generator()))
    held = {tuple(sorted(pair)) for pair in links.train.T.tolist()}
    pairs, truth = links.training_pairs_among(piece.own, 10**6, torch.Generator())
    names = piece.own[pairs].T.tolist()
    assert [tuple(sorted(pair)) in held for pair in names] == (truth == 1).tolist()
    own = set(piece.own.tolist())
    assert int(truth.sum()) == sum(set(pair) <= own for pair in held)
    assert len(truth) == 2 * int(truth.sum())
    pairs, truth = edges.training_pairs_among(piece.own, 10**6, torch.Generator())
    same = GRAPH.y[piece.own[pairs[0]]] == GRAPH.y[piece.own[pairs[1]]]
    assert truth.tolist() == same.long().tolist()
    trained = {tuple(pair) for pair in edges.edges[:, edges.train].T.tolist()}
    assert {tuple(sorted(pair)) for pair in piece.own[pairs].T.tolist()} == {p for p in trained if set(p) <= own}
    assert links.training_pairs_among(piece.own, 5, torch.Generator())[0].shape[1] == 10
    assert links.training_pairs_among(piece.own[:1], 5, torch.Generator())[0].shape[1] == 0


def test_encoders_of_links_learn_in_parts() -> None:
    split = split_links(GRAPH)
    parts = cut(split.graph, 6, 2)
    options = {"channels": 8, "epochs": 25, "decoder": "dot"}
    full = PairEncoders(["sage"], **options).fit(split)
    found = PairEncoders(["sage"], **options).fit(split, parts=parts)
    assert found.logs_[0].best_score[0] > full.logs_[0].best_score[0] - 0.07
    torch.testing.assert_close(found.transform(split.graph, parts), found.transform(split.graph), rtol=0, atol=1e-5)
    with pytest.raises(InputError, match="batching=full"):
        PairEncoders(["sage"], decoder="cheb").fit(split, parts=parts)


def test_parts_without_an_edge_inside_are_refused() -> None:
    split = split_links(GRAPH)
    with pytest.raises(InputError, match="use fewer n_parts, or more parts_per_step"):
        PairEncoders(["sage"], 4, epochs=1, decoder="dot").fit(split, parts=cut(split.graph, GRAPH.n_nodes, 1))


def test_a_step_needs_the_package_that_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(InputError, match="pymetis"):
        cut(GRAPH, 4, 2)
