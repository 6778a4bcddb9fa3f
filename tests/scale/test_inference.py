"""Inference in blocks of rows gives what a pass over the whole graph gives, for every convolution."""

from __future__ import annotations

import pytest
import torch

from bes import seeding
from bes.graph.graph import Graph
from bes.graph.sparse import Sparse
from bes.graph.splits import split_nodes
from bes.graph.synthetic import sbm
from bes.models.convs import CONVS
from bes.models.decoders import KINDS, Decoder
from bes.models.encoders import EncoderEnsemble
from bes.scale.batches import cut
from bes.scale.inference import layer


def made(*, sparse: bool, isolated: int = 3) -> Graph:
    graph = sbm(n_nodes=160, n_classes=4, n_features=9, degree=6.0, seed=1)
    x = torch.cat([graph.x, torch.ones(isolated, 9)])
    y = torch.cat([graph.y, graph.y.new_zeros(isolated)])
    return Graph(Sparse.from_dense(x) if sparse else x, graph.edge_index, y)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("width", [4, 20])
@pytest.mark.parametrize("name", CONVS)
def test_a_layer_in_blocks_is_the_layer(name: str, width: int, sparse: bool) -> None:
    graph = made(sparse=sparse)
    conv = CONVS[name](9, width, generator=seeding.generator(0, name))
    with torch.no_grad():
        expected = conv(graph.x, graph.operators)
        for n_parts, per_step in ((6, 1), (5, 2), (1, 1)):
            found = layer(conv.sweeps(), graph.x, cut(graph, n_parts, per_step))
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", CONVS)
def test_embeddings_of_trained_encoders_are_the_same_in_blocks(name: str) -> None:
    graph = made(sparse=False)
    phi = EncoderEnsemble([name], 6, epochs=3).fit(graph, split_nodes(graph))
    torch.testing.assert_close(phi.transform(graph, cut(graph, 5, 2)), phi.transform(graph), rtol=0, atol=1e-5)


@pytest.mark.parametrize("norm", ["batch", "none"])
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_of_decoders_are_the_same_in_blocks(kind: str, norm: str) -> None:
    graph = made(sparse=False)
    z = torch.randn(graph.n_nodes, 6)
    clf = Decoder(kind, hidden=8, epochs=3, norm=norm).fit(graph, z, split_nodes(graph))
    found = clf.predict_proba(graph, z, cut(graph, 5, 2))
    torch.testing.assert_close(found, clf.predict_proba(graph, z), rtol=0, atol=1e-5)
