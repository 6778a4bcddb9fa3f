from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from bes.graph.graph import Graph
from bes.graph.links import PARTS, LinkSplit, make_link_split, official_links, split_links
from bes.graph.sparse import Sparse
from bes.graph.synthetic import sbm

FILE_KEYS = ("train", "val", "test", *(f"{part}_negatives" for part in PARTS))


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tensor(pairs) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T


def unordered(pairs: torch.Tensor) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in pairs.T.tolist()}


def once(pairs: torch.Tensor) -> set[tuple[int, int]]:
    """Checked on the way: smaller node first, so no loop, and no pair twice."""
    assert (pairs[0] < pairs[1]).all()
    assert len(unordered(pairs)) == pairs.shape[1]
    return unordered(pairs)


def links_of(split: LinkSplit, part: str, link: int = 1) -> set[tuple[int, int]]:
    return once(split.pairs(part)[:, split.reveal(part) == link])


def same(one: LinkSplit, other: LinkSplit) -> bool:
    mine, theirs = one.held(), other.held()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A block graph of 400 edges with everything on it that a message graph must not carry."""
    made = sbm(n_nodes=100, n_classes=3, n_features=4, noise=0.3)
    label = torch.zeros(made.edge_index.shape[1], dtype=torch.long)
    masks = {"train_mask": torch.ones(100, dtype=torch.bool)}
    return Graph(made.x, made.edge_index, made.y, "toy", masks, label, {"val_edges": tensor([(0, 1)])})


@pytest.fixture(scope="module")
def split(graph) -> LinkSplit:
    return split_links(graph)


@pytest.fixture(scope="module")
def dated() -> Graph:
    """Training edges 0-1-...-29, and a split by time that turns, doubles and repeats some of them."""
    pairs = {
        "val_edges": tensor([(1, 0), (5, 9), (9, 5), (7, 3)]),
        "test_edges": tensor([(20, 4), (20, 4), (2, 1), (5, 9), (11, 29)]),
        "val_negatives": tensor([(0, 15), (16, 0)]),
        "test_negatives": tensor([(15, 0), (1, 17), (17, 1)]),
    }
    path = tensor([(i, i + 1) for i in range(29)])
    return Graph(torch.eye(30), path, torch.zeros(30, dtype=torch.long), "dated", pairs=pairs)


@st.composite
def sparse_graphs(draw):
    n = draw(st.integers(6, 12))
    pairs = list(combinations(range(n), 2))
    edges = draw(st.sets(st.sampled_from(pairs), min_size=5, max_size=len(pairs) // 2))
    stored = [pair[:: -1 if draw(st.booleans()) else 1] for pair in sorted(edges)]
    return Graph(torch.ones(n, 1), tensor(stored), torch.zeros(n, dtype=torch.long), "drawn"), edges


# The parts


@given(sparse_graphs(), st.integers(0, 3))
def test_every_edge_is_in_one_part_and_no_negative_is_an_edge(case, seed):
    graph, edges = case
    split = split_links(graph, seed=seed)
    train, val, test = once(split.train), links_of(split, "val"), links_of(split, "test")
    assert len(train) + len(val) + len(test) == len(edges)
    assert train | val | test == edges
    assert unordered(split.graph.edge_index) == train
    assert split.graph.edge_index.shape[1] == 2 * len(train)
    others = {part: links_of(split, part, 0) for part in PARTS}
    assert not any(pairs & edges for pairs in others.values())
    assert not others["val"] & others["test"]
    assert (len(others["val"]), len(others["test"])) == (len(val), len(test))
    assert links_of(split, "two_hop") == links_of(split, "degree") == set()
    assert max(len(others["two_hop"]), len(others["degree"])) <= len(test)
    near = {u: {v for pair in train if u in pair for v in pair if v != u} for u in range(graph.n_nodes)}
    assert all(near[u] & near[v] for u, v in others["two_hop"])  # of training edges, not of all


@pytest.mark.parametrize(
    ("spec", "sizes", "name"),
    [
        ("random", (240, 80, 80), "random"),
        ("random:60/20/20", (240, 80, 80), "random"),
        ("random:85/5/10", (340, 20, 40), "random:85/5/10"),
        ("random:7/58/35", (28, 232, 140), "random:7/58/35"),
    ],
)
def test_sizes_and_names(graph, spec, sizes, name):
    split = make_link_split(graph, spec)
    assert (split.train.shape[1], len(links_of(split, "val")), len(links_of(split, "test"))) == sizes
    assert (len(links_of(split, "val", 0)), len(links_of(split, "test", 0))) == sizes[1:]
    assert split.name == name
    assert split.parts == PARTS
    assert (split.n_classes, split.n_logits) == (2, 1)


def test_the_parts_follow_the_seed(graph, split):
    assert same(split, split_links(graph, seed=0))
    other = split_links(graph, seed=1).held()
    assert not any(torch.equal(pairs, other[key]) for key, pairs in split.held().items())
    for key in ("val_negatives", "test_negatives"):  # other draws, and not the same ones past other edges
        assert len(unordered(split.held()[key]) & unordered(other[key])) < 10


def test_the_message_graph_knows_training_edges_only(graph, split):
    graph.operators.gcn  # noqa: B018 (cached, and not to be handed on)
    blind = split_links(graph).graph
    assert once(split.train) == unordered(blind.edge_index)
    assert torch.equal(blind.edge_index, Graph(graph.x, split.train, graph.y).edge_index)
    assert torch.equal(blind.x, graph.x)
    assert (blind.y == -1).all()
    assert blind.masks == blind.pairs == {}
    assert blind.edge_label is None
    assert blind.operators is not graph.operators
    dense = torch.zeros(100, 100)
    for u, v in once(split.train):
        dense[u, v] = dense[v, u] = 1
    assert torch.equal(blind.operators.sum.to_dense(), dense)
    assert torch.equal(blind.operators.degree, dense.sum(1))
    assert split.test_graph is split.graph


@pytest.mark.parametrize("part", PARTS)
def test_neither_order_of_the_pairs_tells_their_class(split, part):
    pairs = split.pairs(part).T.tolist()
    assert pairs == sorted(pairs)
    assert all(u < v for u, v in pairs)
    edges = unordered(split._edges.get(part, tensor([])))
    assert split.reveal(part).tolist() == [int((u, v) in edges) for u, v in pairs]


def test_held_out_pairs_do_not_show(split):
    assert "edges=" not in repr(split).replace("edge_index=", "")
    assert "negatives" not in repr(split)
    public = {key for key in vars(split) if not key.startswith("_")}
    assert public <= {"graph", "name", "n_classes", "train", "message", "select", "repeats", "test_graph"}


# Training


def test_training_pairs_are_training_edges_and_as_many_fresh_negatives(split):
    train, stream = once(split.train), rng(4)
    first, _ = split.training_pairs(10**6, rng(4))
    assert torch.equal(first, split.training_pairs(10**6, rng(4))[0])
    drawn = []
    for limit, count in ((10**6, 240), (10**6, 240), (50, 50), (50, 50)):
        pairs, link = split.training_pairs(limit, stream)
        assert link.tolist() == [1] * count + [0] * count
        assert once(pairs[:, :count]) <= train
        assert not once(pairs[:, count:]) & train
        drawn.append((unordered(pairs[:, :count]), unordered(pairs[:, count:])))
    assert drawn[0][0] == train
    assert drawn[2][0] != drawn[3][0]
    assert all(drawn[i][1] != drawn[i + 1][1] for i in (0, 2))


def test_training_negatives_avoid_training_edges_alone():
    """Pairs that never come up would be the held-out ones: so all of them have to."""
    graph = Graph(torch.ones(12, 1), tensor([(i, (i + 1) % 12) for i in range(12)]), torch.zeros(12).long(), "ring")
    split, stream = split_links(graph), rng(1)
    drawn = [split.training_pairs(100, stream)[0][:, 7:] for _ in range(150)]
    count = torch.bincount(torch.cat([pairs[0] * 12 + pairs[1] for pairs in drawn], 0), minlength=144)
    free = set(combinations(range(12), 2)) - once(split.train)
    assert {divmod(key, 12) for key in count.nonzero().flatten().tolist()} == free
    held = links_of(split, "val") | links_of(split, "test")
    assert len(held) == 5
    mean = 150 * 7 / len(free)
    assert sum(int(count[u * 12 + v]) for u, v in held) == pytest.approx(5 * mean, rel=0.3)


def test_validation_edges_pass_messages_to_the_test_where_asked(graph, split):
    more = make_link_split(graph, message="train+val")
    assert same(more, split)
    assert torch.equal(more.graph.edge_index, split.graph.edge_index)
    assert unordered(more.test_graph.edge_index) == once(split.train) | links_of(split, "val")
    assert not unordered(more.test_graph.edge_index) & links_of(split, "test")
    assert more.test_graph.operators.degree.sum() == 2 * (240 + 80)
    assert more.graph.operators.degree.sum() == 2 * 240
    assert (more.test_graph.y == -1).all()
    wide = more.with_columns(torch.ones(100, 1))
    assert wide.test_graph.n_features == graph.n_features + 1


def test_the_leak_lets_every_edge_pass_messages_and_says_so(graph, split):
    leaky = make_link_split(graph, message="all")
    assert same(leaky, split), "the same parts"
    for part in PARTS:
        assert torch.equal(leaky.pairs(part), split.pairs(part))
    for held in (leaky.graph, leaky.test_graph, leaky.graph_of("val"), leaky.graph_of("test")):
        assert torch.equal(held.edge_index, graph.edge_index)
        assert held.operators.degree.sum() == 2 * 400
        assert (held.y == -1).all(), "edges leak, labels do not"
        assert held.masks == held.pairs == {}
    assert leaky.test_graph is leaky.graph
    pairs, link = leaky.training_pairs(10**6, rng())
    assert once(pairs[:, link == 1]) == once(split.train), "what is learned from is the same"
    (note,) = leaky.notes
    assert "a leak" in note
    assert "test edges" in note
    assert split.notes == make_link_split(graph, message="train+val").notes == []
    wide = leaky.with_columns(torch.ones(100, 1))
    assert torch.equal(wide.graph.edge_index, graph.edge_index)
    assert (wide.message, wide.notes) == ("all", [note])


def test_the_leak_of_an_official_split_holds_its_edges_too(dated):
    leaky = make_link_split(dated, "official", message="all", repeats=True)
    every = torch.cat([dated.edge_index, dated.pairs["val_edges"], dated.pairs["test_edges"]], dim=1)
    assert unordered(leaky.graph.edge_index) == unordered(every)
    assert "a leak" in leaky.notes[0]


def test_only_the_leak_may_know_the_held_out_edges(graph, split, refuses):
    """And nothing else is forgiven it."""
    leaky = make_link_split(graph, message="all")
    for message in ("train", "train+val"):
        with refuses("message graph", "training edges alone"):
            replace(leaky, message=message)
    edge = split._edges["test"][:, :1]
    with refuses("'train' and 'test'", "share a pair"):
        replace(leaky, train=torch.cat([leaky.train, edge], dim=1))
    with refuses("'test' and 'val_negatives'", "share a pair"):
        fake(leaky, "val_negatives", edge.flip(0))


# What the split refuses to be


def fake(split: LinkSplit, part: str, pairs: torch.Tensor) -> LinkSplit:
    """`split` with `pairs` more in one of its parts."""
    edges, others = dict(split._edges), dict(split._negatives)
    place = others if part.endswith("_negatives") else edges
    key = part.removesuffix("_negatives")
    place[key] = torch.cat([place[key], pairs], dim=1)
    return replace(split, _edges=edges, _negatives=others)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("part", ["val", "test", *FILE_KEYS[3:]])
@pytest.mark.parametrize("source", ["train", "val", "test"])
def test_an_edge_in_a_second_place_is_refused(split, source, part, turned, refuses):
    edge = split.held()[source][:, :1]
    with refuses("split 'random' of graph 'toy'"):
        fake(split, part, edge.flip(0) if turned else edge)


@pytest.mark.parametrize("turned", [False, True])
def test_a_test_edge_among_the_training_edges_is_refused(split, turned, refuses):
    edge = split._edges["test"][:, :1]
    train = torch.cat([split.train, edge.flip(0) if turned else edge], dim=1)
    with refuses("'train' and 'test'", "share a pair"):
        replace(split, train=train, graph=replace(split.graph, edge_index=train))
    with refuses("message graph"):
        replace(split, train=train)
    with refuses("message graph"):
        replace(split, graph=replace(split.graph, edge_index=train))
    with refuses("'train'", "twice"):
        replace(split, train=torch.cat([split.train, split.train[:, :1].flip(0)], dim=1))


def test_a_message_graph_without_a_training_edge_is_refused(split, refuses):
    with refuses("message graph"):
        replace(split, graph=replace(split.graph, edge_index=split.train[:, 1:]))


def test_a_split_that_forgets_reverse_edges_is_refused(graph, monkeypatch, refuses):
    """(u, v) in train and (v, u) in test: the check does not trust the keys that made the parts."""
    monkeypatch.setattr("bes.graph.negatives.pair_keys", lambda pairs, n: pairs[0] * n + pairs[1])
    with refuses("message graph", "training edges alone"):
        split_links(graph)


def test_too_few_or_too_many_edges_are_refused(refuses):
    three = Graph(torch.ones(9, 1), tensor([(0, 1), (1, 2)]), torch.zeros(9).long(), "three")
    with refuses("'three'", "2 edges", "too few"):
        split_links(three)
    with refuses("'three'", "0 edges", "too few"):
        split_links(replace(three, edge_index=tensor([])))
    with refuses("without an edge", "too dense"):
        split_links(replace(three, edge_index=tensor(list(combinations(range(9), 2)))))


@pytest.mark.parametrize(("train", "val"), [(0, 0.2), (0.6, 0), (0.8, 0.2), (float("nan"), 0.2)])
def test_bad_fractions_are_refused(graph, train, val, refuses):
    with refuses("fractions"):
        split_links(graph, train, val)


@pytest.mark.parametrize(
    "spec",
    [
        *(
            "",
            "rnd",
            "random:",
            "random:60/20",
            "random:a/b/c",
            "random:50/50/10",
            "random:60/20/x/20",
            "random:60//20/20",
        ),
        *("random:60/20/20/", "random:-10/90/20", "random:0.6/0.2/0.2", "official:1", "mask"),
    ],
)
def test_unknown_specs_are_refused(graph, spec, refuses):
    with refuses(f"'{spec}'", "random:85/5/10"):
        make_link_split(graph, spec)


@pytest.mark.parametrize("spec", ["random:0/50/50", "random:100/0/0", "random:60/40/0"])
def test_specs_with_an_empty_part_are_refused(graph, spec, refuses):
    with refuses("fractions"):
        make_link_split(graph, spec)


# The source's own split


def test_official_pairs_are_taken_as_they_are(dated):
    split = make_link_split(dated, "official", seed=3, message="train+val", select="hits@50", repeats=True)
    assert (split.name, split.message, split.select) == ("official", "train+val", "hits@50")
    assert once(split.train) == unordered(dated.edge_index)
    for part in ("val", "test"):
        for kind, link in (("edges", 1), ("negatives", 0)):
            expected = sorted(sorted(pair) for pair in dated.pairs[f"{part}_{kind}"].T.tolist())
            assert split.pairs(part)[:, split.reveal(part) == link].T.tolist() == expected
        pairs = split.pairs(part).T.tolist()
        assert pairs == sorted(pairs)
    assert split.graph.pairs == {}
    assert unordered(split.test_graph.edge_index) == unordered(dated.edge_index) | {(0, 1), (5, 9), (3, 7)}
    edges = set.union(*(unordered(dated.pairs[f"{part}_edges"]) for part in ("val", "test"))) | once(split.train)
    for part in ("two_hop", "degree"):
        assert 0 < len(links_of(split, part, 0)) <= 5
        assert not links_of(split, part, 0) & edges
    assert same(split, official_links(dated, seed=3, repeats=True))
    assert not same(split, official_links(dated, seed=4, repeats=True))


def test_official_edges_that_repeat_must_be_allowed_and_are_counted(dated, refuses):
    """A file whose edges already hold the held-out ones is a leak, unless it is said to be a split by time."""
    with refuses("'official'", "'dated'"):
        official_links(dated)
    leaky = replace(dated, edge_index=torch.cat([dated.edge_index, dated.pairs["test_edges"]], dim=1))
    (note,) = official_links(leaky, repeats=True).notes
    count = dated.pairs["test_edges"].shape[1]
    assert f"{count} of {count} test edges are training edges too" in note
    clean = split_links(replace(dated, pairs={}), seed=0).held()
    own = {"val_edges": clean["val"], "test_edges": clean["test"]}
    own |= {key: clean[key] for key in ("val_negatives", "test_negatives")}
    honest = replace(dated, edge_index=clean["train"], pairs=own)
    assert official_links(honest).notes == []
    with refuses("'val' and 'test'"):
        official_links(replace(honest, pairs={**own, "test_edges": own["val_edges"].flip(0)}))
    with refuses("with itself"):
        official_links(replace(dated, pairs={**dated.pairs, "test_edges": tensor([(3, 3)])}), repeats=True)


def test_hard_negatives_of_an_official_split_avoid_its_held_out_edges(dated):
    """Of the pairs two steps apart on the path all but (0, 2) and (1, 3) are held-out edges, some of them turned."""
    held = {
        "val_edges": tensor([(i + 2, i) for i in range(2, 9)]),
        "test_edges": tensor([(i, i + 2) for i in range(9, 28)]),
    }
    split = official_links(replace(dated, pairs={**dated.pairs, **held}), repeats=True)
    assert links_of(split, "two_hop", 0) == {(0, 2), (1, 3)}
    assert not links_of(split, "degree", 0) & unordered(torch.cat([*held.values(), split.train], dim=1))


@pytest.mark.parametrize("key", ["val_edges", "test_edges", "val_negatives", "test_negatives"])
def test_missing_official_pairs_are_refused(dated, key, refuses):
    rest = {name: pairs for name, pairs in dated.pairs.items() if name != key}
    empty = {**dated.pairs, key: torch.empty(2, 0, dtype=torch.long)}
    for pairs in (rest, empty):
        with refuses("'dated'", f"'{key}'", "--split random"):
            official_links(replace(dated, pairs=pairs))


# Scores, features and files


def test_quality_is_auc_or_hits_as_asked(graph, split):
    truth, logits = split.reveal("val"), torch.randn(160, 1, generator=rng(2)).round(decimals=1)
    link, other = logits[truth == 1, 0].tolist(), logits[truth == 0, 0].tolist()
    area = sum((p > q) + (p == q) / 2 for p in link for q in other) / 80**2
    hits = sum(p > sorted(other)[-50] for p in link) / 80
    assert area != pytest.approx(hits)
    loss = F.binary_cross_entropy_with_logits(logits[:, 0], truth.float()).item()
    assert split.score(logits) == pytest.approx((area, -loss))
    assert make_link_split(graph, select="hits@50").score(logits, "val") == pytest.approx((hits, -loss))


def test_columns_keep_the_split(graph, split):
    more = torch.randn(100, 2, generator=rng())
    sparse = replace(split, graph=replace(split.graph, x=Sparse.from_dense(graph.x)), select="hits@50")
    for narrow in (split, sparse):
        wide = narrow.with_columns(more)
        assert same(wide, narrow)
        assert wide.select == narrow.select
        assert isinstance(wide.graph.x, Sparse) == isinstance(narrow.graph.x, Sparse)
        x = wide.graph.x.to_dense()
        assert torch.equal(x, torch.cat([graph.x, more], dim=1))
        assert torch.equal(wide.graph.edge_index, split.graph.edge_index)
    assert split.to("cpu") is split


def test_saved_split_comes_back(graph, split, dated, tmp_path):
    for source, saved in (
        (graph, split),
        (graph, make_link_split(graph, "random:85/5/10")),
        (dated, official_links(dated, repeats=True)),
    ):
        saved.save(tmp_path / "split.npz")
        back = LinkSplit.load(tmp_path / "split.npz", source, repeats=saved.repeats)
        assert same(back, saved)
        assert (back.name, back.repeats) == (saved.name, saved.repeats)
        assert torch.equal(back.graph.edge_index, saved.graph.edge_index)
        assert torch.equal(back.graph.x, source.x)
        assert (back.graph.y == -1).all()
        for part in PARTS:
            assert torch.equal(back.pairs(part), saved.pairs(part))
            assert torch.equal(back.reveal(part), saved.reveal(part))


@pytest.fixture
def load_with(graph, split, tmp_path):
    """`load_with(val=array)`: the split from a file in which some arrays are others, or none."""

    def load(**changed: np.ndarray | None) -> LinkSplit:
        arrays = {key: pairs.numpy() for key, pairs in split.held().items()} | changed
        np.savez(tmp_path / "bad.npz", **{key: array for key, array in arrays.items() if array is not None})
        return LinkSplit.load(tmp_path / "bad.npz", graph)

    return load


@pytest.mark.parametrize("key", FILE_KEYS)
def test_damaged_split_files_are_refused(split, load_with, key, refuses):
    good = split.held()[key].numpy()
    assert load_with().name == "saved"
    for bad in (None, good.T[:3], good[0], good.astype(float)):
        with refuses("bad.npz", f"'{key}'", "(2, P)"):
            load_with(**{key: bad})
    for node in (100, -1):
        with refuses("bad.npz", "outside graph 'toy'"):
            load_with(**{key: np.concatenate([good, [[0], [node]]], axis=1)})


@pytest.mark.parametrize("key", FILE_KEYS)
def test_split_files_whose_parts_share_a_pair_are_refused(split, load_with, key, refuses):
    arrays = {name: pairs.numpy() for name, pairs in split.held().items()}
    for other in ("train", "val", "test"):
        with refuses("split 'saved' of graph 'toy'"):
            load_with(**{key: np.concatenate([arrays[key], arrays[other][::-1, :1]], axis=1)})
