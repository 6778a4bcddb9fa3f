"""SGNN's modules, losses and procedure against loops and recorded calls."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

from bes import seeding
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import make_split
from bes.models.baselines.node_problem import NodeProblem
from bes.models.baselines.sgnn import SGNN, by_classes, by_edges, draw, gaps, inside, reconstruction
from bes.models.baselines.sgnn_modules import Act, Layer, Module, Source, Stack, activate
from bes.settings import read_file

SMALL = SGNN(widths=(6, 5, 4), orders=(1, 1, 2), epochs=3, rounds=2, batches=(200, 20, 10), lr=0.01)
CONFIG = Path(__file__).parents[3] / "configs" / "sgnn.yaml"


def rng(seed: int = 0) -> torch.Generator:
    return seeding.generator(seed, "test")


def layer(**given: Any) -> Layer:
    plain: dict[str, Any] = {"width": 4, "order": 1, "inner": "linear", "act": "linear", "lr": 0.01, "iters": 2}
    return Layer(**{**plain, "batch": 50, "slope": 0.2, **given})


def module(n_in: int, n_classes: int = 3, **given: Any) -> Module:
    return Module(layer(**given), n_in, n_classes, rng())


def spotty(graph: Graph, share: float, *, negative: bool) -> Tensor:
    """Features of which few are not zero."""
    x = torch.randn(graph.n_nodes, 40, generator=rng()) if negative else torch.rand(graph.n_nodes, 40, generator=rng())
    return x * (torch.rand(x.shape, generator=rng(1)) < share)


def operator(graph: Graph) -> Tensor:
    a = torch.eye(graph.n_nodes)
    a[graph.edge_index[0], graph.edge_index[1]] = 1.0
    root = a.sum(1).rsqrt()
    return root[:, None] * a * root[None, :]


@pytest.fixture
def problem(graph: Graph) -> NodeProblem:
    return NodeProblem(graph, make_split(graph, "random", 0), 0)


class TestSource:
    @pytest.mark.parametrize("inner", ["linear", "relu", "leaky"])
    @pytest.mark.parametrize("order", [0, 1, 2])
    @pytest.mark.parametrize("share", [0.02, 0.5])
    @pytest.mark.parametrize("negative", [False, True])
    def test_is_the_propagated_input_times_the_weights(
        self, graph: Graph, inner: Act, order: int, share: float, negative: bool
    ) -> None:
        x, weight = spotty(graph, share, negative=negative), torch.randn(40, 4, generator=rng(2))
        p = torch.matrix_power(operator(graph), order) @ x
        want = activate(p, inner, 0.2) @ weight
        rows = torch.tensor([3, 0, 7])
        for features in (x, Sparse.from_dense(x)):
            source = Source(features, graph.operators, layer(order=order, inner=inner))
            torch.testing.assert_close(source.times(weight, None), want, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(source.times(weight, rows), want[rows], rtol=1e-4, atol=1e-5)

    def test_gives_rows_more_often_than_there_are_nodes(self, graph: Graph) -> None:
        source, rows = Source(graph.x, graph.operators, layer()), torch.arange(graph.n_nodes).repeat(2)
        weight = torch.randn(graph.n_features, 4, generator=rng())
        torch.testing.assert_close(source.times(weight, rows), source.times(weight, None)[rows])

    @pytest.mark.parametrize(("inner", "negative", "stays"), [("relu", False, True), ("relu", True, False)])
    def test_keeps_sparse_features_sparse_where_that_is_exact(
        self, graph: Graph, inner: Act, negative: bool, stays: bool
    ) -> None:
        x = Sparse.from_dense(spotty(graph, 0.02, negative=negative))
        assert isinstance(Source(x, graph.operators, layer(inner=inner)).bent, Sparse) == stays
        assert isinstance(Source(x, graph.operators, layer(inner="linear")).bent, Sparse)

    def test_gradients_reach_the_weights_through_sparse_features(self, graph: Graph) -> None:
        x, weight = spotty(graph, 0.02, negative=False), torch.randn(40, 4, generator=rng()).requires_grad_()
        rows = torch.tensor([1, 5, 5])
        found = []
        for features in (x, Sparse.from_dense(x)):
            source = Source(features, graph.operators, layer(order=2))
            found.append(torch.autograd.grad(source.times(weight, rows).square().sum(), weight)[0])
        torch.testing.assert_close(found[0], found[1])


class TestModule:
    def test_is_a_gcn_layer_with_an_activation(self, graph: Graph) -> None:
        made, conv = module(graph.n_features, act="relu"), GCNConv(graph.n_features, 4, bias=False)
        with torch.no_grad():
            conv.lin.weight.copy_(made.weight.T)
        want = conv(graph.x, graph.edge_index).relu()
        torch.testing.assert_close(made(Source(graph.x, graph.operators, made.layer)), want, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("inner", ["linear", "relu", "leaky"])
    def test_mixes_the_input_before_the_inner_activation(self, graph: Graph, inner: Act) -> None:
        made, d = module(graph.n_features, inner=inner, act="leaky", order=2), graph.n_features
        source, rows = Source(graph.x, graph.operators, made.layer), torch.tensor([4, 2])
        plain = made(source)
        made.mix = torch.nn.Parameter(torch.eye(d))
        torch.testing.assert_close(made(source), plain)
        made.mix = torch.nn.Parameter(torch.randn(d, d, generator=rng()))
        p = operator(graph) @ operator(graph) @ graph.x
        want = activate(activate(p @ made.mix, inner, 0.2) @ made.weight, "leaky", 0.2)
        torch.testing.assert_close(made(source), want, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(made(source, rows), want[rows], rtol=1e-4, atol=1e-5)

    def test_begins_with_glorot_weights(self) -> None:
        made = module(300, width=100)
        bound = math.sqrt(6 / 400)
        assert 0.95 * bound < made.weight.abs().max() <= bound
        assert isinstance(made.head, Tensor)
        assert made.head.abs().max() <= math.sqrt(6 / 103)

    def test_activations(self) -> None:
        x = torch.tensor([-2.0, 3.0])
        assert activate(x, "linear", 0.2).tolist() == [-2, 3]
        assert activate(x, "relu", 0.2).tolist() == [0, 3]
        torch.testing.assert_close(activate(x, "leaky", 5.0), torch.tensor([-10.0, 3.0]))


class TestDraw:
    def test_takes_each_at_most_once(self) -> None:
        pool = torch.tensor([2, 3, 5, 7, 11])
        found = draw(pool, 4, rng())
        assert len(set(found.tolist())) == 4
        assert set(found.tolist()) < set(pool.tolist())

    @pytest.mark.parametrize("size", [5, 9])
    def test_takes_all_where_there_are_not_more(self, size: int) -> None:
        pool = torch.tensor([2, 3, 5, 7, 11])
        assert torch.equal(draw(pool, size, rng()), pool)

    def test_of_nothing_is_nothing(self) -> None:
        assert draw(torch.empty(0, dtype=torch.long), 3, rng()).numel() == 0


class TestByClasses:
    @pytest.mark.parametrize("batch", [11, 500])
    def test_without_a_target_is_cross_entropy_and_the_squares_of_the_weights(
        self, problem: NodeProblem, batch: int
    ) -> None:
        made = module(problem.graph.n_features, batch=batch)
        source = Source(problem.graph.x, problem.graph.operators, made.layer)
        at = draw(torch.arange(len(problem.train)), batch, rng())
        logits = made(source)[problem.train[at]] @ made.head
        want = F.cross_entropy(logits, problem.labels[at]) + 0.3 * made.weight.square().sum()
        torch.testing.assert_close(by_classes(problem, 100.0, 0.3, rng())(made, source, None), want)

    @pytest.mark.parametrize("batch", [11, 80, 500])
    def test_with_a_target_is_its_gap_on_both_batches(self, problem: NodeProblem, batch: int) -> None:
        graph = problem.graph
        made, target = module(graph.n_features, batch=batch), torch.randn(graph.n_nodes, 4, generator=rng(1))
        made.mix = torch.nn.Parameter(torch.eye(graph.n_features))
        source, stream = Source(graph.x, graph.operators, made.layer), rng()
        h, want = made(source), 0.3 * (made.weight.square().sum() + made.mix.square().sum())
        for pool in (problem.train, torch.arange(graph.n_nodes)):
            rows = draw(pool, batch, stream)
            want = want + 7.0 * sum(((h[i] - target[i]) ** 2).sum() for i in rows.tolist()) / len(rows)
        found = by_classes(problem, 7.0, 0.3, rng())(made, source, target)
        torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)

    def test_with_a_target_the_head_is_not_trained(self, problem: NodeProblem) -> None:
        made = module(problem.graph.n_features)
        source = Source(problem.graph.x, problem.graph.operators, made.layer)
        by_classes(problem, 1.0, 0.0, rng())(made, source, torch.zeros(problem.graph.n_nodes, 4)).backward()
        assert made.head.grad is None
        assert made.weight.grad is not None

    def test_gaps_are_squared_distances_of_rows(self) -> None:
        assert gaps(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [3.0, 4.0]])).tolist() == [4, 25]


class TestByEdges:
    def test_finds_the_edges_inside_a_batch(self, graph: Graph) -> None:
        rows = torch.tensor([9, 4, 17, 30, 2, 55])
        edges = set(map(tuple, graph.edge_index.T.tolist()))
        want = [[float((u, v) in edges) for v in rows.tolist()] for u in rows.tolist()]
        assert inside(graph, rows).tolist() == want
        assert inside(graph, torch.arange(graph.n_nodes)).sum() == graph.edge_index.shape[1]

    @pytest.mark.parametrize("scale", [1.0, 30.0])
    def test_reconstruction_is_weighted_cross_entropy_over_kept_pairs(self, graph: Graph, scale: float) -> None:
        h, edges = scale * torch.randn(30, 4, generator=rng()), inside(graph, torch.arange(30))
        kept = torch.rand(30, 30, generator=rng(1)) < 0.6
        pairs = [(i, j) for i in range(30) for j in range(30) if i != j and kept[i, j]]
        positive = sum(edges[i, j].item() for i, j in pairs)
        assert positive > 0
        total = 0.0
        for i, j in pairs:
            p = 1 / (1 + math.exp(-min(max((h[i] @ h[j]).item(), -40), 40)))
            weight = len(pairs) / positive - 1
            total -= weight * math.log(max(p, 1e-6)) if edges[i, j] else math.log(max(1 - p, 1e-6))
        torch.testing.assert_close(reconstruction(h, edges, kept).item(), total / 900, rtol=1e-3, atol=1e-5)

    def test_a_batch_without_edges_has_a_finite_loss(self) -> None:
        h = torch.randn(5, 3, generator=rng())
        value = reconstruction(h, torch.zeros(5, 5), torch.ones(5, 5, dtype=torch.bool))
        off = ~torch.eye(5, dtype=torch.bool)
        torch.testing.assert_close(value, F.softplus(h @ h.T)[off].sum() / 25)

    @pytest.mark.parametrize("aimed", [False, True])
    def test_keeps_the_reconstruction_beside_the_gap(self, graph: Graph, aimed: bool) -> None:
        made, stream = module(graph.n_features, n_classes=0, batch=30), rng()
        source = Source(graph.x, graph.operators, made.layer)
        target = torch.randn(graph.n_nodes, 4, generator=rng(1))
        rows = draw(torch.arange(graph.n_nodes), 30, stream)
        dropped = torch.rand(30, 30, generator=stream) <= 0.2
        h = made(source)[rows]
        want = reconstruction(h, inside(graph, rows), ~(dropped | dropped.T)) + 0.3 * made.weight.abs().sum()
        if aimed:
            want = want + 7.0 * (h - target[rows]).square().sum() / 30
        found = by_edges(graph, 7.0, 0.3, rng())(made, source, target if aimed else None)
        torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)


class Recorder:
    """An objective that pulls weights, and U, somewhere and keeps who was trained how."""

    def __init__(self) -> None:
        self.calls: list[tuple[Module, bool, Tensor | None]] = []

    def __call__(self, made: Module, source: Source, target: Tensor | None) -> Tensor:
        if made.mix is not None and not (self.calls and self.calls[-1][0] is made):
            assert torch.equal(made.mix.data, torch.eye(len(made.mix)))  # each backward training begins at I
        self.calls.append((made, made.mix is not None, target))
        return (made(source) - 1).square().mean()


class TestStack:
    def make(self, graph: Graph) -> tuple[Stack, Recorder]:
        recorder, widths = Recorder(), (graph.n_features, 6, 5, 4)
        modules = [module(a, 0, width=b, iters=2) for a, b in pairwise(widths)]
        return Stack(modules, graph, recorder), recorder

    def test_the_first_forward_training_has_no_targets(self, graph: Graph) -> None:
        stack, recorder = self.make(graph)
        out = stack.train_forward()
        first, second, third = stack.modules
        assert [call[0] for call in recorder.calls] == [first, first, second, second, third, third]
        assert all(not mixed and target is None for _, mixed, target in recorder.calls)
        for below, above in pairwise(range(3)):
            torch.testing.assert_close(stack.sources[above].x, stack.modules[below](stack.sources[below]).detach())
        torch.testing.assert_close(out, stack.embed(graph))

    def test_backward_training_hands_down_what_a_module_would_rather_be_fed(self, graph: Graph) -> None:
        stack, recorder = self.make(graph)
        stack.train_forward()
        fed = [source.x for source in stack.sources]
        recorder.calls.clear()
        stack.train_backward()
        first, second, third = stack.modules
        assert [call[0] for call in recorder.calls] == [third, third, second, second, first, first]
        assert [mixed for _, mixed, _ in recorder.calls] == [True, True, True, True, False, False]
        wanted = [fed[1] @ second.mix.data, fed[2] @ third.mix.data]
        assert recorder.calls[0][2] is None
        for (_, _, target), want in zip(recorder.calls[2::2], reversed(wanted), strict=True):
            torch.testing.assert_close(target, want)
        assert not torch.equal(third.mix.data, torch.eye(5))
        recorder.calls.clear()
        stack.train_forward()
        assert all(not mixed for _, mixed, _ in recorder.calls)
        assert recorder.calls[-1][2] is None
        for (_, _, target), want in zip(recorder.calls[:-2:2], wanted, strict=True):
            torch.testing.assert_close(target, want)

    def test_nothing_as_wide_as_the_features_twice_is_made(self, graph: Graph) -> None:
        stack, _ = self.make(graph)
        stack.train_forward()
        stack.train_backward()
        assert stack.modules[0].mix is None
        assert {name for name, _ in stack.modules[0].named_parameters()} == {"weight"}

    def test_embeds_another_graph_by_its_own_edges(self, graph: Graph) -> None:
        stack, _ = self.make(graph)
        stack.train_forward()
        fewer = replace(graph, edge_index=graph.edge_index[:, ::3])
        x = graph.x
        for made in stack.modules:
            x = operator(fewer) @ x @ made.weight.data
        torch.testing.assert_close(stack.embed(fewer), x, rtol=1e-4, atol=1e-4)


class TestFit:
    def test_answers_with_the_best_round_on_validation(self, problem: NodeProblem) -> None:
        answer = replace(SMALL, rounds=4).fit(problem)
        scores = [row["score"] for row in answer.log.history]
        assert len(scores) == 5
        assert answer.score[0] == max(scores) == scores[answer.log.best_epoch]
        assert answer.score == pytest.approx(answer.log.best_score, rel=1e-4)

    def test_patience_counts_rounds(self, problem: NodeProblem, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(problem, "score", lambda _: (0.5, -1.0))
        answer = replace(SMALL, rounds=6, patience=2).fit(problem)
        assert [row["epoch"] for row in answer.log.history] == [0, 1, 2]

    def test_learns_classes_that_are_far_apart(self, graph: Graph, problem: NodeProblem) -> None:
        answer = replace(SMALL, epochs=40, widths=(16, 16, 8)).fit(problem)
        split = make_split(graph, "random", 0)
        assert answer.prob is not None
        assert split.score(answer.prob.log(), "test")[0] > 0.9

    def test_dense_and_sparse_features_give_the_same(self, graph: Graph) -> None:
        x = spotty(graph, 0.04, negative=False)
        split = make_split(graph, "random", 0)
        found = [
            SMALL.fit(NodeProblem(replace(graph, x=features), split, 0)).prob for features in (x, Sparse.from_dense(x))
        ]
        torch.testing.assert_close(found[0], found[1], rtol=1e-3, atol=1e-4)

    def test_isolated_nodes_and_a_class_with_one_node(self, graph: Graph) -> None:
        edges = graph.edge_index[:, (graph.edge_index >= 20).all(0)]
        split = make_split(graph, "random", 0)
        y = graph.y.clone()
        y[split.train[0]] = 3
        lonely = replace(graph, edge_index=edges, y=y)
        problem = NodeProblem(lonely, make_split(lonely, "random", 0), 0)
        assert (problem.labels == 3).sum() == 1
        answer = SMALL.fit(problem)
        assert answer.prob is not None
        assert answer.prob.shape == (graph.n_nodes, 4)
        assert torch.isfinite(answer.prob).all()

    def test_a_graph_without_edges(self, graph: Graph) -> None:
        bare = replace(graph, edge_index=graph.edge_index[:, :0])
        answer = SMALL.fit(NodeProblem(bare, make_split(bare, "random", 0), 0))
        assert answer.prob is not None
        assert torch.isfinite(answer.prob).all()


class TestOptions:
    def test_one_entry_is_for_all_modules(self) -> None:
        made = SGNN(widths=(8, 4), orders=(1, 2), acts=("relu",), batches=(7,), lr=0.5, iters=(3, 4)).layers()
        assert made == [
            Layer(8, 1, "linear", "relu", 0.5, 3, 7, 0.2),
            Layer(4, 2, "linear", "relu", 0.5, 4, 7, 0.2),
        ]

    def test_rates_of_modules_come_before_the_one_for_all(self) -> None:
        made = SGNN(lr=0.5, lrs=(0.1, 0.2, 0.3), epochs=9).layers()
        assert [(one.lr, one.iters) for one in made] == [(0.1, 9), (0.2, 9), (0.3, 9)]

    @pytest.mark.parametrize("name", ["orders", "inners", "acts", "lrs", "iters", "batches"])
    def test_refuses_entries_for_another_number_of_modules(self, name: str) -> None:
        with pytest.raises(InputError, match=f"sgnn.{name} has 2 entries for 3 modules"):
            SGNN(**{name: (1, 1)}).layers()

    def test_refuses_no_modules(self) -> None:
        with pytest.raises(InputError, match=r"sgnn\.widths is empty"):
            SGNN(widths=()).layers()

    @pytest.mark.parametrize("source", ["paper", "official"])
    @pytest.mark.parametrize("link", [False, True])
    @pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed", "texas"])
    def test_every_row_of_the_file_fits_its_modules(self, source: str, link: bool, dataset: str) -> None:
        content = read_file(CONFIG)
        options: dict[str, Any] = {}
        for section in (source, *(["link"] if link else [])):
            options |= {**content[section]["*"], **content[section].get(dataset, {})}
        values = [options, *({**options, key: value} for key, all_ in content["search"].items() for value in all_)]
        for one in values:
            made = TypeAdapter(SGNN).validate_python(one)
            assert len(made.layers()) == len(options["widths"])
