"""Layers on a graph with added nodes, against PyG's on the whole."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, SAGEConv

from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.models.baselines.nodeimport_networks import AttentionLayer, Backbone, ImportNetwork, MeanLayer, SageLayer
from bes.models.baselines.nodeimport_synthesis import Added, Synthesis


@pytest.fixture(params=[True, False], ids=["with isolated", "small"])
def graph(request: pytest.FixtureRequest, small_graph: Graph) -> Graph:
    if not request.param:
        return small_graph
    keep = (small_graph.edge_index >= 10).all(0)
    return Graph(small_graph.x, small_graph.edge_index[:, keep], small_graph.y)


@pytest.fixture
def added(graph: Graph) -> Added:
    labels = (torch.arange(150) % 5 == 0).long()
    return Synthesis(graph, torch.arange(150), labels, 2).draw(torch.Generator().manual_seed(0))


def whole(graph: Graph, added: Added) -> tuple[Tensor, Tensor]:
    """Features and edges (from, to) of the graph with the added nodes."""
    assert isinstance(graph.x, Tensor)
    edges = torch.cat([graph.edge_index.flip(0), torch.stack([added.col, added.row + 150])], dim=1)
    return torch.cat([graph.x, added.mix(graph.x)]), edges


def looped(edges: Tensor, count: int) -> Tensor:
    return torch.cat([edges, torch.arange(count).expand(2, -1)], dim=1)


def check(layer: nn.Module, expected: Tensor, graph: Graph, added: Added) -> None:
    """Values and gradients, from dense and sparse features, with added nodes and without."""
    assert isinstance(graph.x, Tensor)
    for x in (graph.x, Sparse.from_dense(graph.x)):
        torch.testing.assert_close(layer(x, graph.operators, added), expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(layer(x, graph.operators), expected[:150], rtol=1e-4, atol=1e-5)


def test_mean_layer_is_pygs_sage_without_root_on_looped_edges(graph: Graph, added: Added) -> None:
    pyg, layer = SAGEConv(8, 5, root_weight=False), MeanLayer(8, 5)
    layer.load_state_dict({"lin.weight": pyg.lin_l.weight, "bias": pyg.lin_l.bias})
    x, edges = whole(graph, added)
    check(layer, pyg(x, looped(edges, len(x))), graph, added)


def test_sage_layer_is_pygs(graph: Graph, added: Added) -> None:
    pyg, layer = SAGEConv(8, 5), SageLayer(8, 5)
    layer.load_state_dict(pyg.state_dict())
    x, edges = whole(graph, added)
    check(layer, pyg(x, edges), graph, added)


@pytest.mark.parametrize("heads", [1, 3])
def test_attention_layer_is_pygs(graph: Graph, added: Added, heads: int) -> None:
    pyg, layer = GATConv(8, 4, heads=heads), AttentionLayer(8, 4 * heads, heads)
    nn.init.normal_(pyg.bias)
    layer.load_state_dict(pyg.state_dict())
    x, edges = whole(graph, added)
    expected = pyg(x, edges)
    check(layer, expected, graph, added)
    weight = torch.randn_like(expected)
    (expected * weight).sum().backward()
    (layer(graph.x, graph.operators, added) * weight).sum().backward()
    for name, value in layer.named_parameters():
        torch.testing.assert_close(value.grad, pyg.get_parameter(name).grad, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("backbone", ["gcn", "gat", "sage"])
def test_the_graphs_own_nodes_do_not_notice_added_ones(graph: Graph, added: Added, backbone: Backbone) -> None:
    network = ImportNetwork(backbone, 8, 12, 3, heads=4, dropout=0.0, generator=torch.Generator().manual_seed(0))
    network.added = added
    both = network.train()(graph)
    again = network.again(graph, torch.Generator())
    assert both.shape == (150 + added.count, 3)
    torch.testing.assert_close(again, both)
    alone = network.eval()(graph)
    torch.testing.assert_close(both[:150], alone)


def test_another_dropout_of_the_same_pass(graph: Graph) -> None:
    network = ImportNetwork("gcn", 8, 12, 3, heads=1, dropout=0.5, generator=torch.Generator().manual_seed(0)).train()
    first = network(graph, torch.Generator().manual_seed(1))
    torch.testing.assert_close(network.again(graph, torch.Generator().manual_seed(1)), first)
    assert not torch.allclose(network.again(graph, torch.Generator().manual_seed(2)), first)


def test_weight_decay_is_for_the_first_layer() -> None:
    network = ImportNetwork("sage", 8, 12, 3, heads=1, dropout=0.5, generator=torch.Generator().manual_seed(0))
    first, second = network.groups(0.1)
    assert (first["weight_decay"], second["weight_decay"]) == (0.1, 0.0)
    assert len(first["params"]) + len(second["params"]) == len(list(network.parameters()))
