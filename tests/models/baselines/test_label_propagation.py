"""Label propagation against PyG's, and against a loop over nodes and neighbours."""

from dataclasses import replace

import pytest
import torch
from torch_geometric.nn.models import LabelPropagation as PyG

from bes.graph.graph import Graph
from bes.graph.sparse import Operators
from bes.graph.splits import NodeSplit, split_nodes
from bes.models.baselines.label_propagation import LabelPropagation, shares, spread
from bes.models.baselines.node_problem import NodeProblem
from models.blocks import block_graph


def path(n: int) -> Operators:
    """0 - 1 - ... - n-1."""
    return Graph(
        torch.zeros(n, 1), torch.stack([torch.arange(n - 1), torch.arange(1, n)]), torch.zeros(n).long()
    ).operators


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("steps", [1, 50])
def test_pyg_spreads_the_same(alpha: float, steps: int) -> None:
    graph = block_graph()
    split = split_nodes(graph)
    problem = NodeProblem(graph, split, 0)
    expected = PyG(steps, alpha)(problem.one_hot, graph.edge_index)
    torch.testing.assert_close(spread(problem.one_hot, graph.operators, alpha, steps), expected)


@pytest.mark.parametrize("norm", ["DAD", "AD"])
def test_a_step_is_the_loop_over_neighbours(norm: str) -> None:
    graph = block_graph(n=30)
    start = NodeProblem(graph, split_nodes(graph), 0).one_hot
    found = spread(start, graph.operators, 0.8, 2, norm=norm)
    degree = torch.bincount(graph.edge_index[0], minlength=30).tolist()
    rows = start.tolist()
    for _ in range(2):
        new = [[0.2 * value for value in row] for row in start.tolist()]
        for i, j in graph.edge_index.t().tolist():
            weight = (degree[i] * degree[j]) ** -0.5 if norm == "DAD" else 1 / degree[j]
            for c in range(3):
                new[i][c] += 0.8 * weight * rows[j][c]
        rows = [[min(max(value, 0.0), 1.0) for value in row] for row in new]
    torch.testing.assert_close(found, torch.tensor(rows))


def test_rows_are_held_within_their_bounds() -> None:
    star = Graph(torch.zeros(30, 1), torch.stack([torch.zeros(29), torch.arange(1, 30)]).long(), torch.zeros(30).long())
    start = torch.ones(30, 1).index_fill(0, torch.tensor([0]), -1.0)
    hub, leaf = spread(start, star.operators, 1.0, 1, low=-1.0)[:2, 0].tolist()
    assert hub == 1.0  # 29 leaves over sqrt(29) would be 5.4
    assert leaf == pytest.approx(-(29**-0.5))
    assert spread(start, star.operators, 1.0, 1)[1].item() == 0.0


def test_labels_reach_as_far_as_the_steps() -> None:
    start = torch.zeros(6, 1)
    start[0] = 1.0
    for steps in (1, 3, 5):
        reached = (spread(start, path(6), 0.9, steps) > 0).flatten().tolist()
        assert reached == [i <= steps for i in range(6)]


def test_a_row_of_zeros_becomes_the_shares_of_the_classes() -> None:
    found = shares(torch.tensor([[0.0, 0.0], [0.2, 0.6]]), torch.tensor([3.0, 1.0]))
    torch.testing.assert_close(found, torch.tensor([[0.75, 0.25], [0.25, 0.75]]))


def few(graph: Graph, train: list[int]) -> NodeSplit:
    rest = torch.tensor([i for i in range(graph.n_nodes) if i not in train])
    return replace(split_nodes(graph), train=torch.tensor(train), val=rest[::2], test=rest[1::2])


def test_a_node_without_neighbours_and_a_class_without_a_label() -> None:
    graph = block_graph()
    lonely = replace(graph, edge_index=graph.edge_index[:, (graph.edge_index != 5).all(0)])
    split = few(lonely, [0, 3, 1])  # classes 0, 0 and 1
    prob = LabelPropagation().fit(NodeProblem(lonely, split, 0)).prob
    assert prob is not None
    torch.testing.assert_close(prob[5], torch.tensor([2 / 3, 1 / 3, 0.0]))
    torch.testing.assert_close(prob.sum(1), torch.ones(120))
    assert (prob[:, 2] == 0).all()


@pytest.mark.parametrize("norm", ["DAD", "AD"])
def test_it_finds_blocks_and_does_not_read_features(norm: str) -> None:
    graph = block_graph()
    split = split_nodes(graph)
    method = LabelPropagation(norm=norm)
    answer = method.fit(NodeProblem(graph, split, 0))
    assert answer.prob is not None
    assert split.score(answer.prob.log(), "test")[0] > 0.6
    assert answer.score[0] == split.score(answer.prob.log(), "val")[0]
    assert answer.log.best_epoch == -1
    blind = method.fit(NodeProblem(replace(graph, x=torch.zeros(120, 2)), split, 0))
    assert blind.prob is not None
    assert torch.equal(answer.prob, blind.prob)
