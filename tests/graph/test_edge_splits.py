from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from bes.errors import InputError
from bes.graph.edge_splits import EdgeSplit, split_edges
from bes.graph.graph import Graph
from bes.graph.synthetic import sbm

PARTS = ("train", "val", "test")


def tensor(pairs) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T


def with_labels(label: dict[tuple[int, int], int], n: int = 9, y: list[int] | None = None) -> Graph:
    """A graph whose edges, stored in one direction or the other, carry classes of their own."""
    pairs = [pair[:: -1 if sum(pair) % 2 else 1] for pair in label]
    node = torch.zeros(n, dtype=torch.long) if y is None else torch.tensor(y)
    return Graph(
        torch.ones(n, 1), tensor(pairs), node, "toy", edge_label=torch.tensor(list(label.values()), dtype=torch.long)
    )


def classes_of(split: EdgeSplit) -> dict[str, dict[tuple[int, int], int]]:
    """Edge -> class of each part, by the doors that a split has; checked on the way: smaller node first, none twice."""
    rng = torch.Generator().manual_seed(0)
    found = {}
    for part in PARTS:
        pairs, c = split.training_pairs(10**6, rng) if part == "train" else (split.pairs(part), split.reveal(part))
        found[part] = {(int(u), int(v)): int(k) for (u, v), k in zip(pairs.T, c, strict=True)}
        assert len(found[part]) == pairs.shape[1]
        assert all(u < v for u, v in found[part])
    return found


def sizes(label: dict[tuple[int, int], int]) -> dict[int, list[int]]:
    """Edges of each class in train, val and test."""
    found = {}
    for c in set(label.values()):
        count = list(label.values()).count(c)
        first = max(1, round(0.6 * count))
        second = min(count - first, round(0.2 * count))
        found[c] = [first, second, count - first - second]
    return found


def too_few(label: dict[tuple[int, int], int]) -> bool:
    _, val, test = map(sum, zip(*sizes(label).values(), strict=True))
    return val == 0 or test == 0


def check_parts(split: EdgeSplit, label: dict[tuple[int, int], int]) -> None:
    """Every labelled edge in one part with its class, by class in the shares asked for."""
    found = classes_of(split)
    assert sum(map(len, found.values())) == len(label)
    assert {**found["train"], **found["val"], **found["test"]} == label
    for c, expected in sizes(label).items():
        assert [list(found[part].values()).count(c) for part in PARTS] == expected


edges = st.sampled_from(list(combinations(range(9), 2)))


@given(st.dictionaries(edges, st.integers(-1, 2), min_size=1, max_size=36), st.integers(0, 3))
def test_own_classes_of_edges(label, seed):
    graph = with_labels(label)
    known = {pair: c for pair, c in label.items() if c >= 0}
    if len(set(known.values())) < 2:
        with pytest.raises(InputError, match=f"{len(set(known.values()))} known classes"):
            split_edges(graph, seed=seed)
        return
    if too_few(known):
        with pytest.raises(InputError, match=f"{len(known)} labelled edges, too few"):
            split_edges(graph, seed=seed)
        return
    split = split_edges(graph, seed=seed)
    check_parts(split, known)
    assert not split.derived
    assert split.n_classes == max(known.values()) + 1
    assert split.n_logits == (1 if split.n_classes == 2 else 3)
    assert torch.equal(split.graph.edge_index, graph.edge_index)


@given(st.lists(st.integers(-1, 2), min_size=9, max_size=9), st.sets(edges, min_size=1), st.integers(0, 3))
def test_classes_derived_from_nodes(y, pairs, seed):
    graph = Graph(torch.ones(9, 1), tensor(sorted(pairs)), torch.tensor(y), "toy")
    label = {(u, v): int(y[u] == y[v]) for u, v in pairs if y[u] >= 0 and y[v] >= 0}
    refusal = None
    if not label:
        refusal = "neither edge labels nor edges between labelled nodes"
    elif len(set(label.values())) == 1:
        refusal = "1 known classes"
    elif too_few(label):
        refusal = f"{len(label)} labelled edges, too few"
    if refusal:
        with pytest.raises(InputError, match=refusal):
            split_edges(graph, seed=seed)
        return
    split = split_edges(graph, seed=seed)
    check_parts(split, label)
    assert split.derived
    assert (split.n_classes, split.n_logits) == (2, 1)
    assert torch.equal(split.graph.edge_index, graph.edge_index)


@pytest.fixture(scope="module")
def many() -> Graph:
    """A block graph with 600 edges of three classes, some unknown, and node labels and masks that must not be seen."""
    graph = sbm(n_nodes=150, n_classes=3, n_features=4, noise=0.4)
    label = torch.randint(-1, 3, (600,), generator=torch.Generator().manual_seed(1))
    once = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    masks = {"train_mask": torch.ones(150, dtype=torch.bool)}
    return Graph(graph.x, once, graph.y, "many", masks, label, {"val_edges": once[:, :3]})


def test_parts_follow_the_seed(many):
    one, same, other = (classes_of(split_edges(many, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert all(one[part] != other[part] for part in PARTS)


def test_the_message_graph_has_all_edges_and_no_label(many):
    for graph, derived in ((many, False), (replace(many, edge_label=None), True)):
        split = split_edges(graph)
        assert split.derived == derived
        assert torch.equal(split.graph.edge_index, many.edge_index)
        assert torch.equal(split.graph.operators.gcn.to_dense(), many.operators.gcn.to_dense())
        assert split.test_graph is split.graph
        assert (split.graph.y == -1).all()
        assert split.graph.edge_label is None
        assert split.graph.masks == split.graph.pairs == {}


def test_classes_outside_train_have_two_doors_only(many):
    split = split_edges(many)
    held = {part: classes_of(split)[part] for part in ("val", "test")}
    rng = torch.Generator().manual_seed(0)
    for limit in (5, 10**6):
        pairs, _ = split.training_pairs(limit, rng)
        assert not {(int(u), int(v)) for u, v in pairs.T} & {*held["val"], *held["test"]}
    assert "labels" not in repr(split)
    assert [key for key in vars(split) if not key.startswith("_")] == [
        *("graph", "name", "n_classes", "edges", "train", "val", "test", "derived")
    ]
    assert split.parts == ("val", "test")
    for part in split.parts:
        assert getattr(split, part).tolist() == sorted(getattr(split, part).tolist())  # no order by class
    for ask in (split.reveal, split.pairs):  # another name is no part, and above all not test
        with pytest.raises(KeyError):
            ask("train")


def test_training_pairs_are_a_random_part_of_train(many):
    split = split_edges(many)
    train = classes_of(split)["train"]
    rng = torch.Generator().manual_seed(3)
    draws = []
    for _ in range(2):
        pairs, c = split.training_pairs(20, rng)
        draws.append({(int(u), int(v)): int(k) for (u, v), k in zip(pairs.T, c, strict=True)})
        assert len(draws[-1]) == 20
        assert draws[-1].items() <= train.items()
    assert draws[0] != draws[1]


def test_score_is_accuracy_and_loss(many):
    split = split_edges(many)
    truth = split.reveal("test")
    wrong = torch.arange(len(truth)) < 30
    logits = F.one_hot(torch.where(wrong, (truth + 1) % 3, truth), 3).float()
    accuracy, loss = split.score(logits, "test")
    assert accuracy == pytest.approx(1 - 30 / len(truth))
    assert loss == pytest.approx(-F.cross_entropy(logits, truth).item())
    two = split_edges(replace(many, edge_label=None))
    sign = 2.0 * two.reveal("val")[:, None] - 1
    assert two.score(sign, "val") == pytest.approx((1.0, -math.log(1 + math.exp(-1))))
    assert two.score(-sign)[0] == 0


def test_columns_and_device_keep_the_split(many):
    split = split_edges(many)
    assert split.to("cpu") is split
    more = torch.rand(150, 2)
    wide = split.with_columns(more)
    assert torch.equal(wide.graph.x, torch.cat([many.x, more], dim=1))
    assert classes_of(wide) == classes_of(split)
    assert (wide.graph.y == -1).all()


def test_saved_edges_are_those_of_the_parts(many, tmp_path):
    split = split_edges(many)
    split.save(tmp_path / "split.npz")
    with np.load(tmp_path / "split.npz") as file:
        assert str(file["name"]) == "random"
        for part, found in classes_of(split).items():
            assert sorted(map(tuple, file[part].T.tolist())) == sorted(found)
        assert not any("label" in key for key in file.files)


def test_a_rare_class_is_trained_on_first():
    label = dict(zip(combinations(range(9), 2), [0] * 33 + [1, 1, 2], strict=True))
    found = classes_of(split_edges(with_labels(label), 0.1, 0.2))
    assert sorted(found["train"].values()) == [0, 0, 0, 1, 2]


def test_what_cannot_be_split_is_refused(refuses):
    none = Graph(torch.ones(3, 1), tensor([(0, 1), (1, 2)]), torch.tensor([0, -1, 1]), "toy")
    with refuses("'toy'", "neither edge labels nor edges between labelled nodes"):
        split_edges(none)
    with refuses("'toy'", "neither"):
        split_edges(Graph(torch.ones(3, 1), tensor([]), torch.tensor([0, 0, 1]), "toy"))
    with refuses("'toy'", "1 known classes"):
        split_edges(replace(none, y=torch.zeros(3, dtype=torch.long)))
    with refuses("'toy'", "0 known classes"):
        split_edges(with_labels({(0, 1): -1, (1, 2): -1}))
    with refuses("'toy'", "2 labelled edges, too few"):
        split_edges(with_labels({(0, 1): 0, (1, 2): 1, (2, 3): -1}))
    with refuses("fractions"):
        split_edges(with_labels({(0, 1): 0, (1, 2): 1}), 0.6, -0.5)
