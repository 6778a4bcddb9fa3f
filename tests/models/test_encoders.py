import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Operators
from bes.graph.splits import split_nodes
from bes.models.convs import CONVS, GCNConv
from bes.models.encoders import Encoder, EncoderEnsemble
from models.blocks import block_graph, recorder, relabelled, same


@pytest.fixture(scope="module")
def graph() -> Graph:
    return block_graph()


def test_shapes_views_and_freezing(graph: Graph) -> None:
    phi = EncoderEnsemble(["cheb", "gcn", "mlp"], channels=5, epochs=3).fit(graph, split_nodes(graph))
    assert phi.transform(graph).shape == (graph.n_nodes, 15)
    assert phi.n_views == len(phi.encoders_) == len(phi.logs_) == 3
    for encoder, log in zip(phi.encoders_, phi.logs_, strict=True):
        assert not encoder.training
        assert not any(parameter.requires_grad for parameter in encoder.parameters())
        assert len(log.history) == 3
    assert not phi.transform(graph).requires_grad


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize("sparse", [False, True])
def test_each_encoder_learns_above_chance(name: str, sparse: bool) -> None:
    graph = block_graph(sparse=sparse)
    split = split_nodes(graph)
    phi = EncoderEnsemble([name], channels=8, epochs=60).fit(graph, split)
    (encoder,) = phi.encoders_
    accuracy, _ = split.score(encoder(graph.x, graph.operators), "test")
    assert accuracy > 0.5
    assert phi.logs_[0].best_score[0] == max(row["score"] for row in phi.logs_[0].history)


def test_dense_features_are_propagated_once_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = block_graph(sparse=False)
    seen = []
    propagate = GCNConv.propagate

    def counted(conv: GCNConv, x: Tensor, ops: Operators) -> Tensor:
        seen.append(x is graph.x)
        return propagate(conv, x, ops)

    monkeypatch.setattr(GCNConv, "propagate", counted)
    EncoderEnsemble(["gcn", "gcn"], channels=32, epochs=4).fit(graph, split_nodes(graph))
    assert seen == [True, True]


def test_same_seed_same_bits_whatever_ran_before(graph: Graph) -> None:
    split = split_nodes(graph)
    state = torch.get_rng_state()
    first = EncoderEnsemble(["gatv2", "sage"], epochs=5, random_state=3).fit(graph, split).transform(graph)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    again = EncoderEnsemble(["gatv2", "sage"], epochs=5, random_state=3).fit(graph, split).transform(graph)
    assert torch.equal(first, again)
    other = EncoderEnsemble(["gatv2", "sage"], epochs=5, random_state=4).fit(graph, split).transform(graph)
    assert not torch.equal(first, other)


def test_an_encoder_does_not_depend_on_its_companions(graph: Graph) -> None:
    split = split_nodes(graph)
    alone = EncoderEnsemble(["gcn"], epochs=4).fit(graph, split).transform(graph)
    z = EncoderEnsemble(["cheb", "gcn", "gcn"], epochs=4).fit(graph, split).transform(graph)
    assert torch.equal(z[:, 16:32], alone)
    assert not torch.equal(z[:, 32:], alone)  # the same name again is another encoder


def embeddings(graph: Graph, split: object) -> tuple[list[list[Tensor]], Tensor]:
    """Z of every epoch, seen through a callback, and Z at the end."""
    seen: list[list[Tensor]] = []

    def record(_epoch: int, model: nn.Module, _row: dict[str, float]) -> None:
        assert isinstance(model, Encoder)
        seen.append([model.embed(graph.x, graph.operators)])

    phi = EncoderEnsemble(["cheb", "gat"], epochs=15).fit(graph, split, [record])
    return seen, phi.transform(graph)


def test_validation_labels_choose_the_epoch_and_nothing_else(graph: Graph) -> None:
    blind, split, changed = relabelled(graph, "val")
    first, second = embeddings(blind, split), embeddings(blind, changed)
    assert same(first[0], second[0])


def test_test_labels_change_nothing(graph: Graph) -> None:
    blind, split, changed = relabelled(graph, "test")
    first, second = embeddings(blind, split), embeddings(blind, changed)
    assert same(first[0], second[0])
    assert torch.equal(first[1], second[1])


def test_hidden_labels_give_the_same_as_shown_ones(graph: Graph) -> None:
    split = split_nodes(graph)
    shown = EncoderEnsemble(epochs=3).fit(graph, split).transform(graph)
    hidden = EncoderEnsemble(epochs=3).fit(graph.without_labels(), split).transform(graph)
    assert torch.equal(shown, hidden)


def test_without_validation_nodes_the_best_fit_is_kept(graph: Graph) -> None:
    split = split_nodes(graph, train=0.6, val=0.0)
    log = EncoderEnsemble(["gcn"], epochs=40).fit(graph, split).logs_[0]
    assert log.best_epoch > 0


def test_transform_of_another_graph(graph: Graph) -> None:
    phi = EncoderEnsemble(epochs=3).fit(graph, split_nodes(graph))
    other = block_graph(50, seed=1)
    assert phi.transform(other).shape == (50, 32)
    narrow = Graph(torch.ones(4, 3), torch.tensor([[0], [1]]), torch.zeros(4, dtype=torch.long), name="small")
    with pytest.raises(InputError, match=r"Graph 'small' has 3 features, but the encoders were fitted on 12"):
        phi.transform(narrow)


def test_wrong_names_and_order(graph: Graph) -> None:
    split = split_nodes(graph)
    with pytest.raises(InputError, match=r"encoder 'gnc' is not known: did you mean .*gcn"):
        EncoderEnsemble(["cheb", "gnc"]).fit(graph, split)
    with pytest.raises(InputError, match="no encoders"):
        EncoderEnsemble([]).fit(graph, split)
    with pytest.raises(NotFittedError):
        EncoderEnsemble().transform(graph)


def test_parameters_are_only_stored(graph: Graph) -> None:
    phi = EncoderEnsemble("gcn", channels=4, epochs=2)
    assert clone(phi).get_params() == phi.get_params()
    states: list[list[Tensor]] = []
    assert phi.fit(graph, split_nodes(graph), [recorder(states)]).transform(graph).shape == (graph.n_nodes, 4)
    assert len(states) == 2


def test_the_best_on_validation_are_kept_in_their_order() -> None:
    graph = block_graph()
    split = split_nodes(graph)
    names = ["mlp", "gcn", "sage"]
    every = EncoderEnsemble(names, 8, epochs=12).fit(graph, split)
    score = {one.name: log.best_score for one, log in zip(every.encoders_, every.logs_, strict=True)}
    best = sorted(names, key=lambda name: score[name], reverse=True)
    for keep in (1, 2, 3, 5):
        some = EncoderEnsemble(names, 8, epochs=12, keep=keep).fit(graph, split)
        kept = [one.name for one in some.encoders_]
        assert kept == [name for name in names if name in best[:keep]]
        assert some.n_views == len(kept) == len(some.logs_)
        z = torch.cat([every.transform(graph)[:, 8 * i : 8 * i + 8] for i in map(names.index, kept)], dim=1)
        assert torch.equal(some.transform(graph), z)
