"""The cost model against operations that are counted while a stage runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bes.bench.speed.rivals import Step, our_step
from bes.bench.speed.shaping import displacement as displacement_stage
from bes.bench.speed.workload import decoder_step as decoder_stage
from bes.bench.speed.workload import inference as inference_stage
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split
from bes.graph.synthetic import sbm
from bes.scale import cost
from bes.scale.cost import KINDS, Sizes

aten = torch.ops.aten


class Counter(TorchDispatchMode):
    """Flops of dense products, and of bags by the entries that are really touched."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = self.sparse = self.entries = 0

    def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (aten.mm.default, aten.addmm.default):
            a, b = args[-2:]
            self.dense += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        if func in (aten._embedding_bag.default, aten._embedding_bag_forward_only.default):
            self.entries += args[1].numel()
            self.sparse += 2 * args[1].numel() * args[0].shape[1]
        return func(*args, **(kwargs or {}))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return sbm(n_nodes=200, n_classes=4, n_features=64, degree=6.0)


@pytest.fixture(scope="module")
def split(graph: Graph) -> NodeSplit:
    return make_split(graph, "random", 0)


@pytest.fixture
def sizes(graph: Graph, split: NodeSplit) -> Sizes:
    return Sizes(200, graph.edge_index.shape[1] // 2, classes=4, labelled=split.train.numel())


def counted(call: Any) -> Counter:
    call()  # what is built once is built now
    with Counter() as counter:
        call()
    return counter


def products(works: list[cost.Work]) -> tuple[float, float]:
    """Flops of dense and of sparse products."""
    sparse = sum(work.flops for work in works if work.name == "propagation")
    others = [work for work in works if work.name not in ("propagation", "hidden layer", "Adam")]
    return cost.flops(others), sparse


def hops(works: list[cost.Work]) -> int:
    return sum(work.name == "propagation" for work in works)


@pytest.mark.parametrize("kind", KINDS)
def test_the_flops_of_a_training_step_are_those_that_are_done(
    kind: str, graph: Graph, split: NodeSplit, sizes: Sizes
) -> None:
    done = counted(our_step(kind, graph, split))
    assert (done.dense, done.sparse) == products(cost.encoder_step(kind, sizes))


def test_features_are_propagated_once_where_they_are_no_larger_than_messages(sizes: Sizes) -> None:
    assert hops(cost.encoder_step("gcn", sizes)) == 2  # those of the second layer
    assert hops(cost.encoder_step("gcn", sizes, ranks=True)) == 4
    thin = sbm(n_nodes=200, n_classes=4, n_features=64, degree=0.5)  # less than a message a node and number
    few = Sizes(200, thin.edge_index.shape[1] // 2, classes=4)
    done = counted(our_step("gcn", thin, make_split(thin, "random", 0)))
    assert (done.dense, done.sparse) == products(cost.encoder_step("gcn", few))
    assert hops(cost.encoder_step("gcn", few)) == 4


@pytest.mark.parametrize("kind", ["gcn", "cheb"])
def test_narrow_features_are_propagated_first_and_have_no_way_back(kind: str, split: NodeSplit) -> None:
    narrow = sbm(n_nodes=200, n_classes=4, n_features=5, degree=6.0)
    sizes = Sizes(200, narrow.edge_index.shape[1] // 2, features=5, classes=4)
    done = counted(our_step(kind, narrow, split))
    assert (done.dense, done.sparse) == products(cost.encoder_step(kind, sizes))


def test_the_entries_touched_are_those_of_the_formula(graph: Graph, split: NodeSplit, sizes: Sizes) -> None:
    done = counted(inference_stage(graph, split))
    assert done.entries == 2 * cost.entries(KINDS["gcn"], sizes) == 2 * graph.operators.gcn.csr.values().numel()
    assert (done.dense, done.sparse) == products(cost.inference("gcn", sizes))


def test_a_decoders_step_is_without_its_first_propagation(graph: Graph, split: NodeSplit, sizes: Sizes) -> None:
    step = decoder_stage(graph, split)
    done = counted(step)
    assert (done.dense, done.sparse) == products(cost.decoder_step("cheb", sizes))
    assert isinstance(step, Step)
    with torch.no_grad():
        done = counted(step.forward)
    assert (done.dense, done.sparse) == products(cost.decoder_inference("cheb", sizes))


def test_the_displacement_is_one_product_of_all_rows(graph: Graph, split: NodeSplit) -> None:
    done = counted(displacement_stage(graph, split))
    weights = 2 * (2 * 64**3)  # the old and the new value map
    moved = next(work for work in cost.displacement(200, 64) if work.name == "moved")
    assert done.dense == moved.flops + weights


def test_parameters_are_counted(graph: Graph, split: NodeSplit) -> None:
    for name, kind in KINDS.items():
        network = our_step(name, graph, split).network
        assert sum(p.numel() for p in network.parameters()) == cost.weights(kind, 64, 64, 4), name


def test_stages_are_linear_and_neighbours_by_cells_are_not() -> None:
    small, large = (Sizes(n, 7 * n, labelled=n / 2) for n in (100_000, 1_000_000))
    for stage in (cost.region, cost.apply, lambda s: cost.encoder_step("gcn", s)):
        assert cost.flops(stage(large)) == pytest.approx(10 * cost.flops(stage(small)), rel=1e-3)
    steep = cost.flops(cost.neighbours(large)) / cost.flops(cost.neighbours(small))
    assert 15 < steep < 10**1.5
    few = Sizes(2000, 1, labelled=1000)
    assert cost.flops(cost.neighbours(few)) == 2 * 1000**2 * 64


def test_all_of_shaping_is_its_layers_times_their_iterations() -> None:
    sizes = Sizes(10_000, 70_000, labelled=5_000)
    one = cost.flops(cost.shaping(sizes, layers=1, iterations=0, sample=100))
    step = cost.flops(cost.iteration(256, 100, 64, 10))
    assert cost.flops(cost.shaping(sizes, layers=2, iterations=7, sample=100)) == pytest.approx(2 * (one + 7 * step))
    assert cost.moved(cost.shaping(sizes)) > cost.moved(cost.shaping(sizes, sample=100))
