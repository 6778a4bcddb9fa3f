"""What holds for every method: shapes, gradients, blindness to labels, the same again, nodes and links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from bes.graph.graph import Graph
from bes.graph.links import LinkSplit, make_link_split
from bes.graph.negatives import pair_keys, uniform
from bes.graph.sparse import Sparse
from bes.graph.splits import NodeSplit, Part, make_split
from bes.models.baselines import METHODS, make_method
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.pair_problem import PairProblem
from bes.models.baselines.problem import Answer, Network, Staged
from bes.models.baselines.two_layer import EncoderNetwork
from bes.models.pairs import PairDecoder
from bes.optim import Adam

#: Options that keep a run of the small graph short; a method takes those that it has.
FEW: dict[str, Any] = {
    "epochs": 8,
    "patience": 0,
    "probe_epochs": 5,
    "pretrain_epochs": 3,
    "hidden": 8,
    "every": 2,
    "start": 2,
    "n_iter": 5,
    "shaping_epochs": 5,
}

ON_PAIRS = [name for name, entry in METHODS.items() if entry.kind.pairs]


def quick(name: str, **given: Any) -> Any:
    known = METHODS[name].options
    return make_method(name, {key: value for key, value in {**FEW, **given}.items() if key in known})


def on_nodes(name: str, graph: Graph, split: NodeSplit, seed: int = 0) -> Answer:
    found: Answer = quick(name).fit(NodeProblem(graph, split, seed))
    return found


def pair_problem(split: LinkSplit, graph: Graph, seed: int) -> PairProblem:
    labels = make_split(graph, "random", seed).mask_labels(graph.y)
    return PairProblem(split, lambda: PairDecoder(epochs=4, random_state=seed), labels, graph.n_classes, seed)


def on_pairs(name: str, graph: Graph, seed: int = 0) -> tuple[Answer, PairProblem]:
    problem = pair_problem(make_link_split(graph, "random", seed), graph, seed)
    return quick(name).fit(problem), problem


@pytest.fixture(scope="module")
def split(small_graph: Graph) -> NodeSplit:
    return make_split(small_graph, "random", 0)


@pytest.mark.parametrize("name", METHODS)
def test_nodes_get_probabilities(name: str, small_graph: Graph, split: NodeSplit) -> None:
    answer = on_nodes(name, small_graph, split)
    assert answer.pairs is None
    assert answer.prob is not None
    assert answer.prob.shape == (small_graph.n_nodes, small_graph.n_classes)
    assert not answer.prob.requires_grad
    assert (answer.prob >= 0).all()
    rows = answer.prob.sum(1)
    assert torch.allclose(rows, torch.ones(1), atol=1e-4)
    assert answer.score[0] == pytest.approx(split.score(answer.prob.clamp_min(1e-12).log(), "val")[0])


@pytest.mark.parametrize("name", ON_PAIRS)
def test_pairs_get_logits(name: str, small_graph: Graph) -> None:
    answer, problem = on_pairs(name, small_graph)
    assert answer.prob is None
    assert answer.pairs is not None
    for part in problem.split.parts:
        logits = answer.pairs(part)
        assert logits.shape == (problem.split.pairs(part).shape[1], 1)
        assert torch.isfinite(logits).all()
    assert answer.score[0] == pytest.approx(problem.split.score(answer.pairs("val"))[0], abs=1e-5)


def watching(monkeypatch: pytest.MonkeyPatch, look: Callable[[list[torch.Tensor]], None]) -> None:
    """From now on every step of every training shows its parameters first."""
    step = Adam.step

    def watched(self: Adam, closure: Any = None) -> Any:
        look([one for group in self.param_groups for one in group["params"]])
        return step(self, closure)

    monkeypatch.setattr(Adam, "step", watched)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "label-propagation"])
def test_gradients_reach_every_parameter(
    name: str, small_graph: Graph, split: NodeSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: dict[int, tuple[torch.Tensor, bool]] = {}

    def look(parameters: list[torch.Tensor]) -> None:
        for one in parameters:
            moved = one.grad is not None and bool((one.grad != 0).any())
            met[id(one)] = (one, moved or met.get(id(one), (one, False))[1])

    watching(monkeypatch, look)
    on_nodes(name, small_graph, split)
    assert met, "something is trained"
    assert [tuple(one.shape) for one, moved in met.values() if not moved] == []


def with_other_labels(graph: Graph, split: NodeSplit, parts: tuple[str, ...]) -> tuple[Graph, NodeSplit]:
    """The same graph and split with the labels of some parts turned round."""
    y = graph.y.clone()
    for part in parts:
        nodes = split.nodes(part)  # type: ignore[arg-type]
        y[nodes] = (y[nodes] + 1) % graph.n_classes
    return replace(graph, y=y), replace(split, _labels=y)


@pytest.mark.parametrize("name", METHODS)
def test_test_labels_change_nothing(name: str, small_graph: Graph, split: NodeSplit) -> None:
    plain = on_nodes(name, small_graph, split)
    other = on_nodes(name, *with_other_labels(small_graph, split, ("test",)))
    assert plain.prob is not None
    assert other.prob is not None
    assert torch.equal(plain.prob, other.prob), "and the same seed gives the same again"
    assert plain.score == other.score


@pytest.mark.parametrize("name", METHODS)
def test_validation_labels_reach_no_gradient(
    name: str, small_graph: Graph, split: NodeSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With scores that read no label, every gradient and prediction is the same: scores are the only way in."""

    def score(self: NodeSplit, logits: torch.Tensor, part: Part = "val") -> tuple[float, float]:
        return float(logits[self.nodes(part)].softmax(1)[:, 0].mean()), 0.0

    def hits(self: NodeSplit, logits: torch.Tensor, part: Part = "val") -> torch.Tensor:
        return logits[self.nodes(part)].argmax(1) == 0

    def trained(graph: Graph, split: NodeSplit) -> tuple[list[float], torch.Tensor]:
        seen: list[float] = []

        def look(parameters: list[torch.Tensor]) -> None:
            grads = [one.grad for one in parameters if one.grad is not None]
            seen.append(sum(float(grad.double().square().sum()) for grad in grads))

        with monkeypatch.context() as patch:
            patch.setattr(NodeSplit, "score", score)
            patch.setattr(NodeSplit, "hits", hits)
            watching(patch, look)
            prob = on_nodes(name, graph, split).prob
        assert prob is not None
        return seen, prob

    plain, prob = trained(small_graph, split)
    assert bool(plain) == (name != "label-propagation")
    other, again = trained(*with_other_labels(small_graph, split, ("val", "test")))
    assert plain == other
    assert torch.equal(prob, again)


@pytest.mark.parametrize("name", ON_PAIRS)
def test_other_test_edges_change_no_pair_of_validation(name: str, small_graph: Graph) -> None:
    answer, problem = on_pairs(name, small_graph)
    held, n = problem.split, small_graph.n_nodes
    assert isinstance(held, LinkSplit)
    taken = torch.cat([held.train, *held._edges.values(), *held._negatives.values()], dim=1)
    fresh = uniform(held._edges["test"].shape[1], n, pair_keys(taken, n).unique(), torch.Generator().manual_seed(7))
    other = replace(held, _edges={**held._edges, "test": fresh})
    assert not torch.equal(other.pairs("test"), held.pairs("test"))
    again = quick(name).fit(pair_problem(other, small_graph, 0))
    assert answer.pairs is not None
    assert again.pairs is not None
    assert torch.equal(answer.pairs("val"), again.pairs("val"))


@pytest.mark.parametrize("name", METHODS)
def test_seeds_differ_and_sparse_features_are_as_good_as_dense_ones(
    name: str, small_graph: Graph, split: NodeSplit
) -> None:
    plain = on_nodes(name, small_graph, split)
    assert plain.prob is not None
    assert not isinstance(small_graph.x, Sparse)
    sparse = on_nodes(name, replace(small_graph, x=Sparse.from_dense(small_graph.x)), split)
    assert sparse.prob is not None
    assert torch.allclose(plain.prob, sparse.prob, atol=5e-3)
    other = on_nodes(name, small_graph, split, seed=1)
    assert other.prob is not None
    assert torch.equal(plain.prob, other.prob) == (name in ("label-propagation",))


def _isolated(graph: Graph) -> Graph:
    """Node 0 without a neighbour."""
    kept = (graph.edge_index != 0).all(0)
    return replace(graph, edge_index=graph.edge_index[:, kept])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("change", [_isolated])
def test_odd_graphs_are_answered(
    name: str, change: Callable[[Graph], Graph], small_graph: Graph, split: NodeSplit
) -> None:
    answer = on_nodes(name, change(small_graph), split)
    assert answer.prob is not None
    assert torch.isfinite(answer.prob).all()


@pytest.mark.parametrize("name", ["cheb", "gatv2", "h2gcn", "mpnn-sage", "nodeimport-gat", "sgc1l", "supcon", "igcl"])
def test_what_training_and_scoring_share_changes_nothing(
    name: str, small_graph: Graph, split: NodeSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = on_nodes(name, small_graph, split)
    monkeypatch.setattr(Staged, "in_training", Network.in_training)
    alone = on_nodes(name, small_graph, split)
    assert shared.log.history == alone.log.history
    torch.testing.assert_close(shared.prob, alone.prob, rtol=0, atol=0)


def test_a_first_stage_is_made_once_an_epoch(
    small_graph: Graph, split: NodeSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    begin = EncoderNetwork.begin
    monkeypatch.setattr(EncoderNetwork, "begin", lambda self, graph: (calls.append(1), begin(self, graph))[1])
    on_nodes("gcn", small_graph, split)
    assert len(calls) == FEW["epochs"] + 2  # before the first epoch, after each, and for the answer
