"""Generated graphs have the counts, the tail and the homophily that they promise, and say what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bes.graph.datasets import CATALOG
from bes.graph.like import LIKE, generate

SMALL = {name: replace(like, nodes=6_000, edges=40_000, groups=8, community=50) for name, like in LIKE.items()}


@pytest.mark.parametrize("name", LIKE)
def test_the_catalogue_and_the_generator_promise_the_same(name):
    like, info = LIKE[name], CATALOG[name]
    assert (info.nodes, info.edges, info.features) == (like.nodes, like.edges, like.features)
    assert info.classes == (like.groups if like.labelled else 0)
    assert (info.nodes, info.features, info.classes) == (
        CATALOG[info.like].nodes,
        CATALOG[info.like].features,
        CATALOG[info.like].classes,
    )


@pytest.mark.parametrize("name", LIKE)
def test_counts_are_exact_and_the_seed_decides(name):
    graph = generate(name, SMALL[name])
    assert (graph.n_nodes, graph.n_edges, graph.n_features) == (6_000, 40_000, 128)
    assert graph.n_classes == (8 if SMALL[name].labelled else 0)
    assert graph.content_hash == generate(name, SMALL[name]).content_hash
    assert graph.content_hash != generate(name, SMALL[name], seed=1).content_hash


def test_homophily_is_what_was_asked_for_and_classes_are_uneven():
    graph = generate("arxiv-like", SMALL["arxiv-like"])
    row, col = graph.edge_index
    assert float((graph.y[row] == graph.y[col]).double().mean()) == pytest.approx(0.65, abs=1e-4)
    size = torch.bincount(graph.y).sort().values
    assert len(size) == 8
    assert size[-1] > 2 * size[0]
    assert not torch.equal(graph.y, graph.y.sort().values)  # a node's number says nothing of its class


def test_degrees_have_a_heavy_tail_that_the_option_makes():
    degree = generate("arxiv-like", SMALL["arxiv-like"]).operators.degree
    even = generate("arxiv-like", replace(SMALL["arxiv-like"], tail=0.0)).operators.degree
    assert degree.max() > 20 * degree.median()
    assert even.max() < 4 * even.median()


def test_whoever_runs_them_is_told_that_they_are_not_the_real_ones():
    for name in LIKE:
        info = CATALOG[name]
        assert "speed and memory only" in info.warning
        assert info.like in info.warning
        assert "never for accuracy" in info.note
    assert CATALOG["cora"].warning == CATALOG["sbm"].warning == ""
