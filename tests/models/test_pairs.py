from dataclasses import replace

import pytest
import torch
import torch_geometric.nn as pyg
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import Tensor

from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.graph.edge_splits import EdgeSplit, split_edges
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit
from bes.graph.synthetic import sbm
from bes.models import pairs as pairs_module
from bes.models.pairs import CHEB_OUT, KINDS, PairDecoder, PairNet, score_pairs
from bes.seeding import generator
from models.blocks import recorder, same


@pytest.fixture(scope="module")
def z(graph: Graph) -> Tensor:
    assert isinstance(graph.x, Tensor)
    return graph.x


@pytest.fixture(scope="module")
def edge_split() -> EdgeSplit:
    """Edges of three classes, which the features of their ends tell."""
    graph = sbm(n_nodes=90, n_classes=3, n_features=6, degree=8.0, noise=0.5, separation=6.0)
    ends = graph.y[graph.edge_index]
    other = torch.where((ends == 0).any(0), 1, 2)
    return split_edges(replace(graph, edge_label=torch.where(ends[0] == ends[1], 0, other)))


def exchanged(split: LinkSplit, part: str) -> LinkSplit:
    """The split whose held-out `part` calls its links none and the others links, and has other hard negatives."""
    edges, others = split._edges[part], split._negatives[part]
    hard = {"two_hop": edges[:, ::2], "degree": edges[:, 1::2]}
    return replace(split, _edges={**split._edges, part: others}, _negatives={**split._negatives, part: edges, **hard})


def make_net(kind: str, *, n_logits: int = 1, norm: bool = False, width: int = 8) -> PairNet:
    """A net without zeros: a bias that starts at zero would hide a missing one."""
    net = PairNet(kind, width, n_logits, hidden=5, dropout=0.5, norm=norm, generator=generator(0, "init"))
    rng = generator(1, "bias")
    for key, value in net.state_dict().items():
        if "bias" in key or "running_mean" in key:
            value.normal_(generator=rng)
        elif "running_var" in key or "norm.weight" in key:
            value.uniform_(0.5, 2.0, generator=rng)
    return net.eval()


def logits_of(net: PairNet, z: Tensor, pairs: Tensor, graph: Graph) -> Tensor:
    with torch.no_grad():
        return score_pairs(net, net.nodes(z, graph.operators), pairs, graph.operators)


def times(matrix: list[list[float]], row: list[float], bias: list[float]) -> list[float]:
    return [sum(w * a for w, a in zip(line, row, strict=True)) + b for line, b in zip(matrix, bias, strict=True)]


@pytest.mark.parametrize("n_logits", [1, 3])
@pytest.mark.parametrize("norm", [False, True])
def test_mlp_reads_the_hadamard_product(n_logits: int, norm: bool, graph: Graph, split: LinkSplit, z: Tensor) -> None:
    net, pairs = make_net("mlp", n_logits=n_logits, norm=norm), split.pairs("val")[:, :20]
    state = {key: value.tolist() for key, value in net.state_dict().items()}
    expected = []
    for u, v in pairs.T.tolist():
        product = [a * b for a, b in zip(z[u].tolist(), z[v].tolist(), strict=True)]
        hidden = times(state["conv1.weight"], product, state["conv1.bias"])
        if norm:
            columns = zip(
                *(state[f"norm.{key}"] for key in ("running_mean", "running_var", "weight", "bias")), strict=True
            )
            hidden = [
                (a - mean) / (var + 1e-5) ** 0.5 * w + b for a, (mean, var, w, b) in zip(hidden, columns, strict=True)
            ]
        expected.append(times(state["conv2.weight"], [max(a, 0.0) for a in hidden], state["conv2.bias"]))
    torch.testing.assert_close(logits_of(net, z, pairs, graph), torch.tensor(expected), atol=1e-4, rtol=1e-4)


def test_dot_is_the_sum_of_the_product_and_has_no_parameters(graph: Graph, split: LinkSplit, z: Tensor) -> None:
    net, pairs = make_net("dot"), split.pairs("val")
    expected = [[sum(a * b for a, b in zip(z[u].tolist(), z[v].tolist(), strict=True))] for u, v in pairs.T.tolist()]
    torch.testing.assert_close(logits_of(net, z, pairs, graph), torch.tensor(expected), atol=1e-4, rtol=1e-4)
    assert list(net.state_dict()) == []


def test_cheb_is_two_layers_of_pyg_and_a_dot_product(split: LinkSplit, z: Tensor) -> None:
    net, pairs = make_net("cheb"), split.pairs("val")
    first, second = pyg.ChebConv(8, 5, K=3), pyg.ChebConv(5, CHEB_OUT, K=3)
    first.load_state_dict(net.conv1.state_dict())
    second.load_state_dict(net.conv2.state_dict())
    edges = split.graph.edge_index
    with torch.no_grad():
        h = second(first(z, edges).relu(), edges)
    expected = torch.stack([h[u] @ h[v] for u, v in pairs.T])[:, None]
    torch.testing.assert_close(logits_of(net, z, pairs, split.graph), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_symmetric_and_the_same_in_blocks(
    kind: str, graph: Graph, split: LinkSplit, z: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, pairs = make_net(kind), split.pairs("val")
    whole = logits_of(net, z, pairs, graph)
    assert whole.shape == (pairs.shape[1], 1)
    assert whole.unique().numel() > 100
    assert torch.equal(logits_of(net, z, pairs.flip(0), graph), whole)
    monkeypatch.setattr(pairs_module, "BLOCK", 50)  # does not divide the number of pairs
    torch.testing.assert_close(logits_of(net, z, pairs, graph), whole)
    assert logits_of(net, z, pairs[:, :0], graph).shape == (0, 1)


@pytest.mark.parametrize("kind", ["mlp", "cheb"])
def test_units_are_dropped_in_training_only(kind: str, split: LinkSplit, z: Tensor) -> None:
    net, ops, pairs = make_net(kind), split.graph.operators, split.pairs("val")

    def once() -> Tensor:
        rng = generator(0, "dropout")
        return net.read(pairs_module.products(net.nodes(z, ops, rng), pairs), ops, rng)

    still = logits_of(net, z, pairs, split.graph)
    torch.testing.assert_close(once(), still)
    net.train()
    assert not torch.allclose(once(), still, atol=1e-2)
    assert torch.equal(once(), once())


@pytest.mark.parametrize("kind", ["dot", "cheb"])
def test_more_than_two_classes_need_the_mlp(kind: str, edge_split: EdgeSplit) -> None:
    with pytest.raises(InputError, match=rf"^The decoder '{kind}' tells two classes apart, .* have 3: use mlp\.$"):
        make_net(kind, n_logits=3)
    with pytest.raises(InputError, match="use mlp"):
        PairDecoder(kind).fit(edge_split.graph.x, edge_split)


@pytest.mark.parametrize("norm", ["batch", "none"])
@pytest.mark.parametrize("kind", KINDS)
def test_learns_links_and_keeps_the_best_epoch(kind: str, norm: str, split: LinkSplit, z: Tensor) -> None:
    decoder = PairDecoder(kind, norm=norm, epochs=40, patience=0).fit(z, split)
    logits = decoder.decision_function(split.graph, z, split.pairs("val"))
    assert split.score(logits)[0] > 0.8
    if kind != "dot":
        before = PairDecoder(kind, norm=norm, epochs=0).fit(z, split)
        assert split.score(before.decision_function(split.graph, z, split.pairs("val"))) < split.score(logits)
        history = decoder.log_.history
        assert len(history) == 40
        assert history[-1]["loss"] < 0.8 * history[0]["loss"]
        scores = [row["score"] for row in history]
        assert decoder.log_.best_score[0] == max(scores) > scores[-1]
        assert split.score(logits) == decoder.log_.best_score


def test_learns_edges_of_three_classes(edge_split: EdgeSplit) -> None:
    graph = edge_split.graph
    assert edge_split.n_logits == 3
    decoder = PairDecoder(epochs=60, patience=0).fit(graph.x, edge_split)
    prob = decoder.predict_proba(graph, graph.x, edge_split.pairs("val"))
    assert edge_split.score(prob.log())[0] == decoder.log_.best_score[0] > 0.8


def test_dot_trains_nothing(split: LinkSplit, z: Tensor) -> None:
    calls: list[int] = []
    decoder = PairDecoder("dot", epochs=5).fit(z, split, callbacks=[lambda epoch, *_: calls.append(epoch)])
    assert calls == decoder.log_.history == []
    expected = (z[split.pairs("test")[0]] * z[split.pairs("test")[1]]).sum(1, keepdim=True)
    assert torch.equal(decoder.decision_function(split.graph, z, split.pairs("test")), expected)


def test_shape_is_applied_in_training_in_selection_and_in_use(split: LinkSplit, z: Tensor) -> None:
    options = {"epochs": 3, "weight_decay": 0.0}
    start = PairDecoder(**{**options, "epochs": 0}).fit(z, split).net_.conv1.weight
    blank = PairDecoder(**options).fit(z, split, torch.zeros_like)
    assert torch.equal(blank.net_.conv1.weight, start)  # zeros give it no gradient
    assert not torch.equal(PairDecoder(**options).fit(z, split).net_.conv1.weight, start)
    assert [row["score"] for row in blank.log_.history] == [0.5] * 3
    pairs = split.pairs("test")
    assert blank.decision_function(split.graph, z, pairs, torch.zeros_like).unique().numel() == 1
    assert blank.predict_proba(split.graph, z, pairs, torch.zeros_like)[:, 1].unique().numel() == 1
    assert blank.decision_function(split.graph, z, pairs).unique().numel() > 100


def test_a_shaper_may_meet_a_part_without_pairs(graph: Graph, split: LinkSplit, z: Tensor) -> None:
    shaper = BoundaryShaper(n_iter=1, delta=20.0, shift_threshold=0.0, n_neighbors=60).fit(z, graph.y)
    decoder = PairDecoder(epochs=1).fit(z, split, shaper.transform)
    nothing = split.pairs("val")[:, :0]
    assert decoder.decision_function(split.graph, z, nothing, shaper.transform).shape == (0, 1)


@pytest.mark.parametrize("kind", ["mlp", "cheb"])
def test_same_seed_same_bits_whatever_ran_before(kind: str, split: LinkSplit, z: Tensor) -> None:
    def logits(seed: int) -> Tensor:
        decoder = PairDecoder(kind, epochs=3, random_state=seed).fit(z, split)
        return decoder.decision_function(split.graph, z, split.pairs("val"))

    state = torch.get_rng_state()
    first = logits(3)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    assert torch.equal(logits(3), first)
    assert not torch.equal(logits(4), first)


def test_probabilities_follow_the_logits(split: LinkSplit, edge_split: EdgeSplit) -> None:
    for given in (split, edge_split):
        graph, pairs = given.graph, given.pairs("test")
        decoder = PairDecoder(epochs=2).fit(graph.x, given)
        logits, prob = (f(graph, graph.x, pairs) for f in (decoder.decision_function, decoder.predict_proba))
        assert prob.shape == (pairs.shape[1], given.n_classes)
        torch.testing.assert_close(prob.sum(1), torch.ones(pairs.shape[1]))
        expected = torch.special.expit(logits[:, 0]) if given is split else logits.exp()[:, 1] / logits.exp().sum(1)
        torch.testing.assert_close(prob[:, 1], expected)


def trained(z: Tensor, split: LinkSplit, kind: str, epochs: int) -> tuple[list[list[Tensor]], PairDecoder]:
    """All parameters of every epoch, and what was kept of them."""
    states: list[list[Tensor]] = []
    return states, PairDecoder(kind, epochs=epochs, patience=0).fit(z, split, callbacks=[recorder(states)])


def weights(decoder: PairDecoder) -> list[list[Tensor]]:
    return [list(decoder.net_.state_dict().values())]


@pytest.mark.parametrize("kind", ["mlp", "cheb"])
def test_test_pairs_change_nothing(kind: str, split: LinkSplit, z: Tensor) -> None:
    changed = exchanged(split, "test")
    assert not torch.equal(changed.reveal("test"), split.reveal("test"))
    (first, kept), (second, kept_too) = (trained(z, given, kind, 12) for given in (split, changed))
    assert same(first, second)
    assert same(weights(kept), weights(kept_too))
    assert kept.log_ == kept_too.log_


@pytest.mark.parametrize("kind", ["mlp", "cheb"])
def test_validation_pairs_choose_the_epoch_and_nothing_else(kind: str, split: LinkSplit, z: Tensor) -> None:
    changed = exchanged(split, "val")
    (first, kept), (second, kept_too) = (trained(z, given, kind, 12) for given in (split, changed))
    assert same(first, second)
    assert kept.log_.best_epoch != kept_too.log_.best_epoch  # what is right of the one is wrong of the other
    assert same(weights(kept_too), [second[kept_too.log_.best_epoch]])
    assert same(weights(trained(z, split, kind, 1)[1]), weights(trained(z, changed, kind, 1)[1]))


def test_embeddings_get_no_gradients_and_the_net_is_frozen(split: LinkSplit, z: Tensor) -> None:
    leaf = z.double().requires_grad_()
    decoder = PairDecoder(epochs=2).fit(leaf, split)
    assert leaf.grad is None
    assert not decoder.net_.training
    assert not any(parameter.requires_grad for parameter in decoder.net_.parameters())
    assert not decoder.decision_function(split.graph, leaf, split.pairs("val")).requires_grad


def test_patience_stops_training(split: LinkSplit, z: Tensor) -> None:
    log = PairDecoder(epochs=200, patience=3).fit(z, split).log_
    assert len(log.history) == log.best_epoch + 4 < 200


def test_wrong_input(graph: Graph, split: LinkSplit, z: Tensor) -> None:
    pairs = split.pairs("val")
    with pytest.raises(InputError, match="decoder 'mpl' is not known: did you mean mlp"):
        PairDecoder("mpl").fit(z, split)
    with pytest.raises(InputError, match="norm 'layer' is not known"):
        PairDecoder(norm="layer").fit(z, split)
    decoder = PairDecoder(epochs=1).fit(z, split)
    for rows in (z[1:], torch.cat([z, z]), z[:, 0]):
        with pytest.raises(InputError, match=r"embeddings have shape .*, but graph 'sbm' has 120 nodes"):
            decoder.decision_function(graph, rows, pairs)
        with pytest.raises(InputError, match=r"embeddings have shape .*, but graph 'sbm' has 120 nodes"):
            PairDecoder().fit(rows, split)
    with pytest.raises(InputError, match="have 7 columns, but the decoder was fitted on 8"):
        decoder.decision_function(graph, z[:, 1:], pairs)
    with pytest.raises(InputError, match="NaN or infinite"):
        PairDecoder().fit(torch.full_like(z, torch.nan), split)
    with pytest.raises(InputError, match="decoder 'cheb' makes its own pair embeddings"):
        PairDecoder("cheb").fit(z, split, torch.zeros_like)
    for use in (PairDecoder().decision_function, PairDecoder().predict_proba):
        with pytest.raises(NotFittedError):
            use(graph, z, pairs)


def test_parameters_are_only_stored() -> None:
    decoder = PairDecoder("cheb", hidden=8, batch=5, patience=2)
    assert clone(decoder).get_params() == decoder.get_params()
