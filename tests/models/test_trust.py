"""Edges within classes are told from those across by what is known without labels."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from bes.graph.graph import Graph
from bes.graph.scaling import scale
from bes.graph.sparse import Sparse
from bes.graph.synthetic import sbm
from bes.models import trust as module
from bes.models.trust import FLOOR, EdgeTrust, measures


@pytest.fixture(scope="module")
def noisy() -> Graph:
    """Features that tell classes well, and half of the edges across them."""
    return sbm(n_nodes=600, n_classes=3, n_features=8, degree=8.0, noise=0.5, separation=5.0)


def labelled(graph: Graph, share: float) -> tuple[torch.Tensor, torch.Tensor]:
    known = torch.randperm(graph.n_nodes, generator=torch.Generator().manual_seed(0))[: int(share * graph.n_nodes)]
    return known, graph.y[known]


def test_measures_are_those_of_a_loop(small_graph: Graph) -> None:
    row, col = (part[:40].numpy() for part in small_graph.edge_index)
    near = [set(small_graph.edge_index[1][small_graph.edge_index[0] == i].tolist()) for i in range(small_graph.n_nodes)]
    for found, i, j in zip(measures(small_graph, row, col), row, col, strict=True):
        d, e = len(near[i]), len(near[j])
        cosine = torch.cosine_similarity(small_graph.x[i], small_graph.x[j], dim=0).item()
        share = (len(near[i] & near[j]) / (d * e) ** 0.5) ** 0.5
        assert found == pytest.approx([cosine, share, np.log(d) + np.log(e), abs(np.log(d) - np.log(e))], abs=1e-5)


def test_sparse_features_measure_alike(small_graph: Graph) -> None:
    x = small_graph.x.clamp_min(0)
    row, col = small_graph.edge_index.numpy()
    dense, sparse = (Graph(y, small_graph.edge_index, small_graph.y, "g") for y in (x, Sparse.from_dense(x)))
    assert measures(dense, row, col) == pytest.approx(measures(sparse, row, col), abs=1e-5)


def test_edges_of_nodes_without_labels_are_told(noisy: Graph) -> None:
    known, labels = labelled(noisy, 0.6)
    trust = EdgeTrust().fit(noisy, known, labels)
    row, col = noisy.edge_index
    unseen = ~torch.isin(row, known) & ~torch.isin(col, known)
    prob = trust.predict_proba(noisy)
    assert trust.explained_ > 0.3
    assert roc_auc_score((noisy.y[row] == noisy.y[col])[unseen], prob[unseen]) > 0.85


def test_both_directions_of_an_edge_have_one_chance(noisy: Graph) -> None:
    prob = EdgeTrust().fit(noisy, *labelled(noisy, 0.6)).predict_proba(noisy)
    matrix = torch.zeros(noisy.n_nodes, noisy.n_nodes).index_put_(tuple(noisy.edge_index), prob)
    assert torch.equal(matrix, matrix.T)
    assert int((matrix > 0).sum()) == noisy.edge_index.shape[1]


def test_labels_that_say_nothing_explain_nothing(noisy: Graph) -> None:
    known, labels = labelled(noisy, 0.6)
    mixed = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))]
    assert EdgeTrust().fit(noisy, known, mixed).explained_ < 0.02


def test_few_labelled_edges_teach_nothing(noisy: Graph) -> None:
    trust = EdgeTrust().fit(noisy, *labelled(noisy, 0.05))
    assert trust.explained_ == 0
    assert trust.weight_.size == 0


def test_the_graph_propagates_by_chances_squared(noisy: Graph) -> None:
    trust = EdgeTrust().fit(noisy, *labelled(noisy, 0.6))
    ops = trust.transform(noisy).operators
    assert ops.weight is not None
    assert torch.equal(ops.weight, trust.predict_proba(noisy).square().clamp_min(FLOOR))


def test_restored_is_the_same(noisy: Graph) -> None:
    trust = EdgeTrust().fit(noisy, *labelled(noisy, 0.6))
    again = EdgeTrust.restored(trust.state())
    assert torch.equal(again.predict_proba(noisy), trust.predict_proba(noisy))
    assert again.explained_ == trust.explained_


def test_edges_are_measured_once_and_anew_with_other_features(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, seen = sbm(n_nodes=300, n_classes=3, n_features=8, degree=8.0, noise=0.5, separation=5.0), []
    monkeypatch.setattr(module, "measures", lambda *given: [seen.append(given), measures(*given)][1])
    trust = EdgeTrust().fit(graph, *labelled(graph, 0.8))
    first = trust.transform(graph).operators.weight
    assert torch.equal(trust.transform(graph.without_labels()).operators.weight, first)
    assert len(seen) == 1
    other = scale(graph, "row")
    assert other.operators is graph.operators
    found = trust.predict_proba(other)
    assert len(seen) == 2
    assert not torch.equal(found, trust.predict_proba(graph))
    module._MEASURED.clear()
    assert torch.equal(trust.predict_proba(other), found)


@pytest.mark.filterwarnings("error")
def test_a_graph_without_edges_teaches_nothing_and_warns_of_nothing() -> None:
    graph = Graph(torch.eye(4), torch.empty(2, 0, dtype=torch.long), torch.tensor([0, 1, 0, 1]))
    trust = EdgeTrust().fit(graph, torch.arange(4), graph.y)
    assert (trust.explained_, trust.weight_.size) == (0.0, 0)
    assert np.isfinite([*trust.mean_, *trust.scale_]).all()
