from dataclasses import replace

import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import Tensor

from bes.errors import InputError
from bes.graph.edge_splits import split_edges
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, split_links
from bes.graph.pairs import PairSplit
from bes.graph.sparse import Sparse
from bes.models.pair_encoders import PairEncoders
from models.blocks import recorder, same


@pytest.fixture(scope="module")
def fitted(split: LinkSplit) -> PairEncoders:
    return PairEncoders(["gcn", "sage", "mlp"], channels=6, epochs=4).fit(split)


def test_embeddings_are_the_encoders_outputs_side_by_side(fitted: PairEncoders, split: LinkSplit) -> None:
    z = fitted.transform(split.graph)
    assert z.shape == (120, 18)
    assert fitted.n_views == len(fitted.encoders_) == len(fitted.heads_) == len(fitted.logs_) == 3
    for part, encoder in zip(z.split(6, dim=1), fitted.encoders_, strict=True):
        assert torch.equal(part, encoder(split.graph.x, split.graph.operators))
        assert (part < 0).any()  # the whole output, not its hidden layer after a ReLU


@pytest.mark.parametrize("decoder", ["mlp", "dot", "cheb"])
@pytest.mark.parametrize("name", ["gcn", "sage", "gatv2"])
@pytest.mark.parametrize("sparse", [False, True])
def test_each_encoder_learns_links(name: str, decoder: str, sparse: bool, graph: Graph) -> None:
    x = Sparse.from_dense(graph.x) if sparse else graph.x
    split = split_links(replace(graph, x=x))
    phi = PairEncoders(name, channels=8, decoder=decoder, epochs=20).fit(split)
    log = phi.logs_[0]
    score = split.score(phi.decision_function(0, split.graph, split.pairs("val")))
    assert score == log.best_score  # the chosen epoch was restored, of encoder and head
    assert score[0] == max(row["score"] for row in log.history) > 0.75


@pytest.mark.parametrize("decoder", ["mlp", "dot", "cheb"])
def test_logits_are_the_heads_on_its_own_encoder(decoder: str, split: LinkSplit) -> None:
    phi = PairEncoders(["gcn", "sage"], channels=5, decoder=decoder, hidden=7, epochs=2).fit(split)
    ops, (u, v) = split.graph.operators, split.pairs("test")
    for i, (z, head) in enumerate(zip(phi.transform(split.graph).split(5, dim=1), phi.heads_, strict=True)):
        h = head.conv2(head.conv1(z, ops).relu(), ops) if decoder == "cheb" else z
        expected = (h[u] * h[v]).sum(1, keepdim=True)
        if decoder == "mlp":
            expected = head.conv2(head.conv1(z[u] * z[v], ops).relu(), ops)
        torch.testing.assert_close(phi.decision_function(i, split.graph, split.pairs("test")), expected)


def test_edges_of_two_and_three_classes(graph: Graph) -> None:
    ends = graph.y[graph.edge_index]
    for given, n_logits in ((graph, 1), (replace(graph, edge_label=ends.amax(0)), 3)):
        split = split_edges(given)
        phi = PairEncoders(["sage"], channels=6, epochs=30).fit(split)
        logits = phi.decision_function(0, split.graph, split.pairs("val"))
        assert logits.shape == (split.val.numel(), n_logits)
        assert split.score(logits) == phi.logs_[0].best_score
        assert split.score(logits)[0] > 0.8
    with pytest.raises(InputError, match="decoder 'dot' tells two classes apart"):
        PairEncoders(decoder="dot").fit(split)


def test_an_encoder_does_not_depend_on_its_companions(split: LinkSplit) -> None:
    alone = PairEncoders(["gcn"], channels=6, epochs=3).fit(split)
    phi = PairEncoders(["cheb", "gcn", "gcn"], channels=6, epochs=3).fit(split)
    z, pairs = phi.transform(split.graph), split.pairs("val")
    assert torch.equal(z[:, 6:12], alone.transform(split.graph))
    assert not torch.equal(z[:, 12:], z[:, 6:12])  # the same name again is another encoder
    assert torch.equal(phi.decision_function(1, split.graph, pairs), alone.decision_function(0, split.graph, pairs))


def test_same_seed_same_bits_whatever_ran_before(split: LinkSplit) -> None:
    def embeddings(seed: int) -> Tensor:
        return PairEncoders(channels=6, epochs=3, random_state=seed).fit(split).transform(split.graph)

    state = torch.get_rng_state()
    first = embeddings(3)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    assert torch.equal(embeddings(3), first)
    assert not torch.equal(embeddings(4), first)


def trained(split: PairSplit) -> tuple[list[list[Tensor]], Tensor]:
    """All parameters of every epoch, and Z at the end."""
    states: list[list[Tensor]] = []
    phi = PairEncoders(["gcn", "sage"], channels=6, epochs=8).fit(split, [recorder(states)])
    assert len(states) == 16
    return states, phi.transform(split.graph)


def test_held_out_pairs_do_not_reach_the_weights(split: LinkSplit) -> None:
    """Links and others change places: in the test part nothing changes, in validation the epoch may."""
    for part in ("test", "val"):
        edges, others = split._edges[part], split._negatives[part]
        changed = replace(
            split,
            _edges={**split._edges, part: others},
            _negatives={**split._negatives, part: edges, "two_hop": edges[:, ::2], "degree": edges[:, 1::2]},
        )
        first, second = trained(split), trained(changed)
        assert same(first[0], second[0])
        assert torch.equal(first[1], second[1]) == (part == "test")


def test_only_the_message_graph_is_seen(graph: Graph, split: LinkSplit) -> None:
    later = replace(split, message="train+val")
    assert later.test_graph.n_edges > later.graph.n_edges == split.train.shape[1]
    first, second = trained(split), trained(later)
    assert same(first[0], second[0])
    fewer = replace(split, graph=replace(split.graph, edge_index=split.train[:, 1:]), train=split.train[:, 1:])
    assert not same(first[0], trained(fewer)[0])  # training edges do count
    phi = PairEncoders(["gcn"], channels=6, epochs=2).fit(split)
    assert not torch.equal(phi.transform(graph), phi.transform(split.graph))


def test_frozen(fitted: PairEncoders, split: LinkSplit) -> None:
    for module in (*fitted.encoders_, *fitted.heads_):
        assert not module.training
        assert not any(parameter.requires_grad for parameter in module.parameters())
        assert all(parameter.grad is None for parameter in module.parameters())
    assert not fitted.transform(split.graph).requires_grad
    assert not fitted.decision_function(0, split.graph, split.pairs("val")).requires_grad


def test_patience_stops_training(split: LinkSplit) -> None:
    for log in PairEncoders(channels=6, epochs=200, patience=3).fit(split).logs_:
        assert len(log.history) == log.best_epoch + 4 < 200


def test_wrong_names_and_order(split: LinkSplit) -> None:
    with pytest.raises(InputError, match=r"encoder 'gnc' is not known: did you mean .*gcn"):
        PairEncoders(["cheb", "gnc"]).fit(split)
    with pytest.raises(InputError, match="decoder 'dott' is not known: did you mean dot"):
        PairEncoders(decoder="dott").fit(split)
    for use in (lambda phi: phi.transform(split.graph), lambda phi: phi.decision_function(0, split.graph, split.train)):
        with pytest.raises(NotFittedError):
            use(PairEncoders())


def test_parameters_are_only_stored() -> None:
    phi = PairEncoders("gcn", channels=4, decoder="dot", hidden=3, batch=9, patience=2, random_state=5)
    assert clone(phi).get_params() == phi.get_params()
    assert {"decoder", "hidden", "batch", "patience"} < set(phi.get_params())
