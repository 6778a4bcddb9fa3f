"""Correct and Smooth against PyG's, its candidates and what chooses among them."""

from dataclasses import replace

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor
from torch_geometric.nn.models import CorrectAndSmooth as PyG

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import NodeSplit, split_nodes
from bes.models.baselines.correct_and_smooth import CorrectAndSmooth, correct, smooth
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.strong import Strong
from bes.models.baselines.two_layer import TwoLayer
from bes.seeding import generator
from models.blocks import block_graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Node 5 has no neighbours."""
    whole = block_graph()
    return replace(whole, edge_index=whole.edge_index[:, (whole.edge_index != 5).all(0)])


def soft(n: int = 120) -> Tensor:
    return torch.randn(n, 3, generator=generator(0, "soft")).softmax(1)


@pytest.mark.parametrize("alphas", [(0.5, 0.9), (0.87, 0.81), (1.0, 0.0)])
@pytest.mark.parametrize("steps", [1, 50])
def test_pyg_corrects_and_smooths_the_same(graph: Graph, alphas: tuple[float, float], steps: int) -> None:
    problem = NodeProblem(graph, split_nodes(graph), 0)
    first, second = alphas
    pyg = PyG(steps, first, steps, second, autoscale=True)
    given = problem.labels, problem.train, graph.edge_index
    truth, train, ops = problem.one_hot, problem.train, graph.operators
    corrected = correct(soft(), truth, train, ops, first, steps)
    torch.testing.assert_close(corrected, pyg.correct(soft(), *given))
    torch.testing.assert_close(smooth(corrected, truth, train, ops, second, steps), pyg(soft(), *given))


def test_errors_of_training_nodes_alone_count(graph: Graph) -> None:
    problem = NodeProblem(graph, split_nodes(graph), 0)
    loud = problem.one_hot
    loud[problem.unlabelled] = 7.0
    args = problem.train, graph.operators, 0.8, 10
    assert torch.equal(correct(soft(), problem.one_hot, *args), correct(soft(), loud, *args))
    assert torch.equal(smooth(soft(), problem.one_hot, *args), smooth(soft(), loud, *args))


def test_the_errors_are_scaled_to_the_mean_error_of_training_nodes(graph: Graph) -> None:
    problem = NodeProblem(graph, split_nodes(graph), 0)
    z, train = soft(), problem.train
    moved = (correct(z, problem.one_hot, train, graph.operators, 0.8, 50) - z).abs().sum(1)
    wanted = sum((problem.one_hot[i] - z[i]).abs().sum().item() for i in train.tolist()) / train.numel()
    assert moved[graph.operators.degree > 0].tolist() == pytest.approx([wanted] * 119, rel=1e-3)


def test_what_cannot_be_reached_and_what_is_perfect_stays(graph: Graph) -> None:
    problem = NodeProblem(graph, split_nodes(graph), 0)
    train = problem.train[problem.train != 5]
    corrected = correct(soft(), problem.one_hot, train, graph.operators, 0.8, 50)
    torch.testing.assert_close(corrected[5], soft()[5])
    perfect = soft()
    perfect[train] = problem.one_hot[train]
    assert torch.equal(correct(perfect, problem.one_hot, train, graph.operators, 0.8, 50), perfect)


def candidates(graph: Graph, split: NodeSplit, method: CorrectAndSmooth) -> dict[str, Tensor]:
    """All that the method may choose from, by PyG."""
    prob = TwoLayer(conv=method.base, hidden=method.hidden, epochs=method.epochs).fit(NodeProblem(graph, split, 0)).prob
    assert prob is not None
    given = split.train_labels, split.train, graph.edge_index
    return {
        f"corrected ({first:g}), smoothed ({second:g})": PyG(50, first, 50, second)(prob, *given)
        for first in method.alphas
        for second in method.alphas
    }


@pytest.mark.parametrize("base", ["mlp", "gcn"])
def test_validation_chooses_the_two_weights(graph: Graph, base: str) -> None:
    split = split_nodes(graph)
    method = CorrectAndSmooth(base=base, hidden=8, epochs=30)
    answer = method.fit(NodeProblem(graph, split, 0))
    every = candidates(graph, split, method)
    assert len(every) == 16
    scores = {
        what: split.score((rows / rows.sum(1, keepdim=True)).clamp_min(1e-12).log()) for what, rows in every.items()
    }
    (note,) = answer.notes
    chosen = note.removeprefix("Chosen on validation: ").partition(", score")[0]
    assert answer.score[0] == max(score[0] for score in scores.values())
    assert answer.score == pytest.approx(scores[chosen])
    assert answer.prob is not None
    torch.testing.assert_close(answer.prob, every[chosen] / every[chosen].sum(1, keepdim=True))


def test_a_graph_against_the_classes_hurts_and_the_note_says_so() -> None:
    graph = block_graph(n=240)
    ring = torch.arange(240)
    against = replace(graph, edge_index=torch.stack([ring, (ring + 1) % 240]))  # neighbours never share a class
    split = split_nodes(against)
    method = CorrectAndSmooth(hidden=16, epochs=40, alphas=(0.9,))
    plain = TwoLayer(conv="mlp", hidden=16, epochs=40).fit(NodeProblem(against, split, 0))
    answer = method.fit(NodeProblem(against, split, 0))
    assert answer.score[0] < plain.score[0]
    (note,) = answer.notes
    assert note.endswith(f"score {answer.score[0]:.4f} there; of the base {plain.score[0]:.4f}.")


def test_it_stands_on_bes_too(graph: Graph) -> None:
    split = split_nodes(graph)
    method = CorrectAndSmooth(base="strong", hidden=8, epochs=10, alphas=(0.5,))
    alone = Strong(channels=8, epochs=10).fit(NodeProblem(graph, split, 0))
    answer = method.fit(NodeProblem(graph, split, 0))
    assert alone.prob is not None
    assert answer.prob is not None
    assert answer.more == alone.more
    assert {"guard", "encoders_kept"} <= answer.more.keys()
    assert answer.notes[: len(alone.notes)] == alone.notes
    given = split.train_labels, split.train, graph.edge_index
    wanted = PyG(50, 0.5, 50, 0.5)(alone.prob, *given)
    torch.testing.assert_close(answer.prob, wanted / wanted.sum(1, keepdim=True))


def test_it_lifts_a_base_without_a_graph(graph: Graph) -> None:
    split = split_nodes(graph)
    scores = []
    for method in (TwoLayer(conv="mlp", hidden=16, epochs=40), CorrectAndSmooth(hidden=16, epochs=40)):
        prob = method.fit(NodeProblem(graph, split, 0)).prob
        assert prob is not None
        torch.testing.assert_close(prob.sum(1), torch.ones(120))
        scores.append(split.score(prob.log(), "test")[0])
    assert scores[1] > scores[0]


def test_sparse_features_give_the_same(graph: Graph) -> None:
    thin = replace(graph, x=Sparse.from_dense(graph.x))
    split = split_nodes(graph)
    dense, sparse = (
        CorrectAndSmooth(hidden=8, epochs=10).fit(NodeProblem(one, split, 0)).prob for one in (graph, thin)
    )
    torch.testing.assert_close(dense, sparse, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("alphas", [[], [0.5, 1.5]])
def test_alphas_are_shares_and_at_least_one(alphas: list[float]) -> None:
    made = TypeAdapter(CorrectAndSmooth).validate_python({"alphas": [0.3]})
    assert made.alphas == (0.3,)
    with pytest.raises(ValidationError):
        TypeAdapter(CorrectAndSmooth).validate_python({"alphas": alphas})
