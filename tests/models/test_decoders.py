import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import Tensor

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, split_nodes
from bes.models.decoders import KINDS, Decoder
from bes.seeding import generator
from models.blocks import block_graph, recorder, relabelled, same


@pytest.fixture(scope="module")
def graph() -> Graph:
    return block_graph()


@pytest.fixture(scope="module")
def z(graph: Graph) -> Tensor:
    """Embeddings that hint at the class."""
    hint = 2.0 * torch.nn.functional.one_hot(graph.y, 6)
    return hint + torch.randn(graph.n_nodes, 6, generator=generator(0, "z"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["batch", "none"])
def test_learns_above_chance(kind: str, norm: str, graph: Graph, z: Tensor) -> None:
    split = split_nodes(graph)
    decoder = Decoder(kind, norm=norm, epochs=60).fit(graph, z, split)
    probability = decoder.predict_proba(graph, z)
    assert probability.shape == (graph.n_nodes, 3)
    torch.testing.assert_close(probability.sum(1), torch.ones(graph.n_nodes))
    assert torch.equal(decoder.predict(graph, z), probability.argmax(1))
    assert split.score(probability.log(), "test")[0] > 0.5
    accuracy, loss = split.score(probability.log())
    assert accuracy == pytest.approx(decoder.log_.best_score[0])  # the chosen epoch was restored
    assert loss == pytest.approx(decoder.log_.best_score[1], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bits_whatever_ran_before(kind: str, graph: Graph, z: Tensor) -> None:
    split = split_nodes(graph)
    state = torch.get_rng_state()
    first = Decoder(kind, epochs=5, random_state=3).fit(graph, z, split).predict_proba(graph, z)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    again = Decoder(kind, epochs=5, random_state=3).fit(graph, z, split).predict_proba(graph, z)
    assert torch.equal(first, again)
    other = Decoder(kind, epochs=5, random_state=4).fit(graph, z, split).predict_proba(graph, z)
    assert not torch.equal(first, other)


def trained(graph: Graph, z: Tensor, split: NodeSplit, **options: str) -> tuple[list[list[Tensor]], Tensor]:
    """All parameters of every epoch, and the predictions at the end."""
    states: list[list[Tensor]] = []
    decoder = Decoder(epochs=15, **options).fit(graph, z, split, [recorder(states)])
    return states, decoder.predict_proba(graph, z)


def test_validation_labels_choose_the_epoch_and_nothing_else(graph: Graph, z: Tensor) -> None:
    blind, split, changed = relabelled(graph, "val")
    assert same(trained(blind, z, split)[0], trained(blind, z, changed)[0])


def test_test_labels_change_nothing(graph: Graph, z: Tensor) -> None:
    blind, split, changed = relabelled(graph, "test")
    first, second = trained(blind, z, split), trained(blind, z, changed)
    assert same(first[0], second[0])
    assert torch.equal(first[1], second[1])


def test_peeking_only_happens_when_asked_for(graph: Graph, z: Tensor) -> None:
    blind, split, changed = relabelled(graph, "test")
    first = trained(blind, z, split, selection="test-peek")
    second = trained(blind, z, changed, selection="test-peek")
    assert same(first[0], second[0])  # even then the test labels reach the choice of the epoch only
    decoder = Decoder(epochs=15, selection="test-peek").fit(blind, z, split)
    accuracy, _ = split.score(decoder.predict_proba(blind, z).log(), "test")
    assert accuracy == max(row["score"] for row in decoder.log_.history)


def test_arrays_and_read_only_arrays_are_accepted(graph: Graph, z: Tensor) -> None:
    split = split_nodes(graph)
    array = z.double().numpy().copy()
    array.flags.writeable = False
    decoder = Decoder("mlp", epochs=3).fit(graph, array, split)
    assert torch.equal(decoder.predict(graph, array), Decoder("mlp", epochs=3).fit(graph, z, split).predict(graph, z))


def test_gradients_stay_out_of_the_embeddings(graph: Graph, z: Tensor) -> None:
    leaf = z.clone().requires_grad_()
    decoder = Decoder(epochs=2).fit(graph, leaf, split_nodes(graph))
    assert leaf.grad is None
    assert not any(parameter.requires_grad for parameter in decoder.net_.parameters())


def test_wrong_input(graph: Graph, z: Tensor) -> None:
    split = split_nodes(graph)
    with pytest.raises(InputError, match="decoder 'chep' is not known: did you mean cheb"):
        Decoder("chep").fit(graph, z, split)
    with pytest.raises(InputError, match="selection 'test' is not known"):
        Decoder(selection="test").fit(graph, z, split)
    with pytest.raises(InputError, match="norm 'layer' is not known"):
        Decoder(norm="layer").fit(graph, z, split)
    with pytest.raises(InputError, match=r"shape \(119, 6\), but graph 'graph' has 120 nodes"):
        Decoder().fit(graph, z[1:], split)
    with pytest.raises(InputError, match="NaN or infinite"):
        Decoder().fit(graph, np.full((120, 2), np.nan), split)
    with pytest.raises(InputError, match="have 5 columns, but the decoder was fitted on 6"):
        Decoder(epochs=1).fit(graph, z, split).predict(graph, z[:, 1:])
    with pytest.raises(NotFittedError):
        Decoder().predict(graph, z)


def test_parameters_are_only_stored() -> None:
    decoder = Decoder("sage", hidden=8, selection="test-peek")
    assert clone(decoder).get_params() == decoder.get_params()
