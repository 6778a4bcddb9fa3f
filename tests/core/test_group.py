"""Shaping on ranks is what one process does: rows in uneven parts, in any order, one part without a label."""

import numpy as np
import pytest
import torch

from bes.core.group import ALONE, Roll
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from core.ranks import on_ranks

N = 240


@pytest.fixture(scope="module")
def graph():
    """Overlapping classes; the rows of the last part have no label."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    z = rng.normal(size=(3, 6))[y] + rng.normal(size=(N, 6))
    order = rng.permutation(N)
    parts = [np.sort(part) for part in np.split(order, [70, 90, 200])]
    y[parts[-1]] = -1
    edges = rng.integers(0, N, (2, 500))
    return z, y, np.concatenate([edges, edges[::-1]], axis=1), parts


def local(part, edges):
    """The halo of a part, and the edges into its rows by local index."""
    inside = np.isin(edges[0], part)
    halo = np.setdiff1d(edges[1][inside], part)
    place = np.full(N, -1)
    place[np.concatenate([part, halo])] = np.arange(len(part) + len(halo))
    return halo, place[edges[:, inside]]


def shaped(graph, size, **options):
    """By each rank: its numbers, boundary nodes by number, history, regions, shaped own rows."""
    z, y, edges, parts = graph
    parts = parts if size == 4 else [np.sort(np.concatenate(parts[:3])), parts[3]]
    cut = [local(part, edges) for part in parts]

    def work(rank):
        halo, near = cut[rank.rank]
        rows = np.concatenate([parts[rank.rank], halo])
        fitted = BoundaryShaper(**options).fit(z[rows], y[rows], edge_index=near, group=rank)
        out = fitted.transform(z[rows], edge_index=near, group=rank)
        nodes = [parts[rank.rank][found] for found in fitted.boundary_]
        return parts[rank.rank], nodes, fitted, out[: rank.own]

    return on_ranks(parts, [halo for halo, _ in cut], work)


CASES = [
    {},
    {"n_views": 2, "unit": "spread"},
    {"scope": "neighbors"},
    {"neighborhood": "graph"},
    {"covariance": "per_class", "hinge": "rival"},
    {"objective": "pairwise"},
    {"update": "official", "targets": "all"},
    {"batch_size": 1000},
]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_ranks_do_what_one_process_does(graph, options, size):
    z, y, edges, _ = graph
    options = {"n_iter": 8, "tau": 10.0, "delta": 20.0, "batch_size": 16, **options}
    alone = BoundaryShaper(**options).fit(z, y, edge_index=edges)
    expected = alone.transform(z, edge_index=edges)
    ranks = shaped(graph, size, **options)
    assert sum(row["accepted"] for row in alone.history_) > 3
    assert not np.allclose(expected, z, atol=1e-3)
    for layer, nodes in enumerate(alone.boundary_):
        found = np.concatenate([by_layer[layer] for _, by_layer, _, _ in ranks])
        assert np.array_equal(np.sort(found), nodes)
    for rows, _, fitted, out in ranks:
        np.testing.assert_allclose(out, expected[rows], atol=1e-9)
        assert fitted.region_sizes_ == alone.region_sizes_
        assert fitted.classes_.tolist() == [0, 1, 2]
        pairs = zip(fitted.history_, alone.history_, strict=True)
        assert all(one["displacement"] == pytest.approx(two["displacement"]) for one, two in pairs)


def test_what_needs_all_rows_is_refused(graph):
    for options in ({"scope": "nodes"}, {"labels": "soft"}):
        with pytest.raises(InputError, match="one process"):
            shaped(graph, 2, **options)
    z, y, edges, parts = graph
    with pytest.raises(InputError, match="whole numbers"):
        shaped((z, np.where(y < 0, "-1", y.astype(str)), edges, parts), 2)


def test_every_rank_draws_its_part_of_the_same_batch():
    parts = [np.array([5, 1, 9]), np.array([2]), np.array([7, 3])]
    drawn = torch.tensor([4, 0, 2, 5])

    def work(rank):
        roll = Roll(torch.arange(rank.own), rank)
        return roll.count, rank.numbers(roll.pick(drawn)).tolist()

    found = on_ranks(parts, [np.empty(0, int)] * 3, work)
    assert [count for count, _ in found] == [6, 6, 6]
    ordered = np.sort(np.concatenate(parts))[drawn]
    assert sorted(node for _, mine in found for node in mine) == sorted(ordered)
    assert Roll(torch.tensor([5, 1, 9]), ALONE).pick(torch.tensor([2, 0])).tolist() == [9, 5]
