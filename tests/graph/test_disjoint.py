from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bes.errors import InputError
from bes.graph.disjoint import check_disjoint, read_pairs
from bes.graph.graph import Graph

PARTS = ("train", "val", "test", "val_negatives", "test_negatives", "two_hop_negatives", "degree_negatives")


def tensor(pairs) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T


def message_graph(pairs, n: int = 8) -> Graph:
    return Graph(torch.ones(n, 1), tensor(pairs), torch.full((n,), -1), "toy")


def check(parts: dict[str, list[tuple[int, int]]], *, graph: Graph | None = None, repeats: bool = False) -> None:
    held = {part: tensor(pairs) for part, pairs in parts.items() if part != "train"}
    check_disjoint(graph or message_graph(parts["train"]), tensor(parts["train"]), held, "s", repeats=repeats)


def clean() -> dict[str, list[tuple[int, int]]]:
    return {part: [(0, i + 1)] for i, part in enumerate(PARTS)}


def naive(parts: dict[str, list[tuple[int, int]]]) -> bool:
    """Whether no part holds a pair twice, edges share none, no negative is an edge, and val and test share none."""
    sets = {part: [frozenset(pair) for pair in pairs] for part, pairs in parts.items()}
    twice = any(len(set(pairs)) < len(pairs) for pairs in sets.values())
    shared = any(set(sets[a]) & set(sets[b]) for a, b in combinations(PARTS[:3], 2))
    linked = any(set(sets[a]) & set(sets[b]) for a in PARTS[3:] for b in PARTS[:3])
    return not (twice or shared or linked or set(sets["val_negatives"]) & set(sets["test_negatives"]))


@st.composite
def nearly_clean(draw):
    """Parts that share nothing, and at most one pair more in one of them, in either direction."""
    pool = draw(st.permutations(list(combinations(range(8), 2))))
    parts = {part: pool[3 * i : 3 * i + draw(st.integers(1, 3))] for i, part in enumerate(PARTS)}
    if draw(st.booleans()):
        u, v = draw(st.sampled_from(pool))
        parts[draw(st.sampled_from(PARTS))].append((v, u) if draw(st.booleans()) else (u, v))
    return parts


@given(nearly_clean())
def test_refuses_exactly_what_a_look_at_sets_refuses(parts):
    if naive(parts):
        check(parts)
    else:
        with pytest.raises(InputError, match="split 's' of graph 'toy'"):
            check(parts)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("one", "other"),
    [*combinations(PARTS[:3], 2), *((a, b) for a in PARTS[3:] for b in PARTS[:3]), ("val_negatives", "test_negatives")],
)
def test_one_shared_pair_is_refused_by_the_names_of_its_parts(one, other, turned, refuses):
    parts = clean()
    parts[one if one != "train" else other] += [
        pair[:: -1 if turned else 1] for pair in parts[other if one != "train" else one]
    ]
    with refuses(f"'{one}'", f"'{other}'", "share a pair", "split 's' of graph 'toy'"):
        check(parts)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_a_pair_twice_in_a_part_is_refused(part, turned, refuses):
    parts = clean()
    parts[part] += [pair[:: -1 if turned else 1] for pair in parts[part]]
    with refuses(f"'{part}'", "twice", "split 's' of graph 'toy'"):
        check(parts)


@pytest.mark.parametrize("repeats", [False, True])
def test_the_message_graph_holds_the_training_edges_alone(repeats, refuses):
    parts = clean()
    check(parts, graph=message_graph([(1, 0)]), repeats=repeats)
    for edges in ([(0, 1), (6, 7)], [], [(6, 7)]):
        with refuses("message graph of split 's' of graph 'toy'", "training edges alone"):
            check(parts, graph=message_graph(edges), repeats=repeats)


def test_splits_by_time_may_repeat_themselves():
    parts = clean()
    parts["train"] += parts["train"]
    parts["val"] += [(1, 0), (0, 1)]
    parts["test_negatives"] += [(0, 1)]
    check(parts, repeats=True)
    with pytest.raises(InputError):
        check(parts)


def test_read_pairs(refuses):
    graph, path = message_graph([]), Path("file.npz")
    small = np.array([[0, 7], [3, 1]], dtype=np.uint8)
    found = read_pairs({"val": small}, "val", path, graph)
    assert found.dtype == torch.long
    assert found.tolist() == small.tolist()
    assert read_pairs({"val": np.zeros((2, 0), np.int64)}, "val", path, graph).shape == (2, 0)
    for bad in (small[0], small[:1], small.astype(float), small == 0, small[None]):
        with refuses("file.npz", "'val'", "(2, P)"):
            read_pairs({"val": bad}, "val", path, graph)
    with refuses("file.npz", "'val'"):
        read_pairs({}, "val", path, graph)
    for bad in (np.array([[0], [8]]), np.array([[-1], [0]])):
        with refuses("file.npz", "outside graph 'toy'"):
            read_pairs({"val": bad}, "val", path, graph)
