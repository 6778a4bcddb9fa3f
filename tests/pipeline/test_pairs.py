"""Links that do not leak: chance where there is nothing to learn, and no way from test edges to the model."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph import links, negatives
from bes.graph.graph import Graph
from bes.graph.links import LinkSplit
from bes.graph.negatives import pair_keys
from bes.graph.sparse import Operators
from bes.graph.splits import make_split
from bes.graph.synthetic import sbm
from bes.pipeline import arms_of, check, run_seed, setting
from bes.pipeline.results import SeedResult

Quick = Callable[..., RunConfig]

HEURISTICS = ("cn", "aa", "ra", "pa", "cosine")
EVERY_RIVAL = ("bes-clusters", "bes-pairs", "gcn", "cheb", "mlp", *HEURISTICS)
#: Embeddings are shaped in a few visible steps.
SHAPE = {"n_iter": 5, "alpha": 0.01, "tol": 0.0}


@pytest.fixture(scope="session")
def quick_pairs() -> Quick:
    def build(**given: Any) -> RunConfig:
        sections: dict[str, Any] = {
            "encoders": {"names": "gcn,sage", "epochs": 8, "channels": 8},
            "shaper": SHAPE,
            "decoder": {"epochs": 8, "hidden": 16},
        }
        for name, values in sections.items():
            sections[name] = {**values, **given.pop(name, {})}
        return RunConfig.build("small", given={"task": "link", "rivals": "", **sections, **given})

    return build


def random_graph(seed: int) -> Graph:
    """Erdos-Renyi with random features and random classes: there is nothing to learn."""
    graph = sbm(n_nodes=2000, n_classes=1, n_features=8, degree=6, noise=0, separation=0, seed=seed)
    y = torch.randint(3, (2000,), generator=torch.Generator().manual_seed(seed))
    return replace(graph, y=y, name="random")


def aucs_of(quick_pairs: Quick, seeds: range, boundary: str, rivals: tuple[str, ...]) -> dict[str, list[float]]:
    """Each arm's test AUC by seed on random graphs."""
    config = quick_pairs(
        encoders={"epochs": 40, "channels": 16},
        decoder={"epochs": 20},
        links={"boundary": boundary},
        rivals=",".join(rivals),
    )
    found: dict[str, list[float]] = {}
    for seed in seeds:
        for arm in run_seed(config, random_graph(seed), seed).arms:
            found.setdefault(arm.arm, []).append(arm.metrics["test"]["auroc"])
    return found


def test_on_a_random_graph_every_arm_is_at_chance(quick_pairs: Quick) -> None:
    for boundary, rivals in (("classes", ()), ("pairs", ("bes-clusters", "gcn", "sage", "cheb", "mlp", *HEURISTICS))):
        found = aucs_of(quick_pairs, range(5), boundary, rivals)
        assert set(found) == {"control", "bes", *rivals}
        for arm, aucs in found.items():
            assert np.mean(aucs) == pytest.approx(0.5, abs=0.03), (arm, aucs)


def test_it_would_not_be_if_the_split_ignored_reverse_edges(
    quick_pairs: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The property above can fail: (u, v) and (v, u) as two edges, and the check that refuses such a split away."""
    monkeypatch.setattr(negatives, "pair_keys", lambda pairs, n: pairs[0] * n + pairs[1])
    with pytest.raises(InputError, match="message graph"):
        aucs_of(quick_pairs, range(1), "pairs", ())
    monkeypatch.setattr(links, "check_disjoint", lambda *_, **__: None)
    found = aucs_of(quick_pairs, range(2), "pairs", ("gcn",))
    assert min(found["control"] + found["bes"] + found["gcn"]) > 0.6


def other_test_edges(split: LinkSplit, change: str) -> LinkSplit:
    """The split with test edges moved to other pairs, added or removed."""
    n, test = split.graph.n_nodes, split._edges["test"]
    taken = torch.cat([split.train, *split._edges.values(), *split._negatives.values()], dim=1)
    fresh = negatives.uniform(test.shape[1], n, pair_keys(taken, n).unique(), torch.Generator().manual_seed(7))
    chosen = {"moved": fresh, "added": torch.cat([test, fresh], dim=1), "removed": test[:, ::2]}[change]
    return replace(split, _edges={**split._edges, "test": chosen})


def artefacts(result: SeedResult) -> Iterator[tuple[str, Any]]:
    """All that training made or chose: embeddings, shaping, epochs, thresholds, and every validation prediction."""
    yield from ((key, rows.tobytes()) for key, rows in result.rows.items())
    yield "history", result.history
    for arm in result.arms:
        held = arm.predictions["part"] == "val"
        yield f"{arm.arm} validation", arm.predictions["score"][held].tobytes()
        yield f"{arm.arm} chosen", (arm.selected, arm.metrics["val"], arm.boundary, arm.steps)


@pytest.mark.parametrize("boundary", ["classes", "clusters", "pairs"])
@pytest.mark.parametrize("change", ["moved", "added", "removed"])
def test_test_edges_change_no_training_artefact(
    change: str, boundary: str, small_graph: Graph, quick_pairs: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = quick_pairs(links={"boundary": boundary}, rivals="gcn,mlp,cn,pa,cosine")
    expected = run_seed(config, small_graph, 0)
    plain = setting.make_link_split
    monkeypatch.setattr(setting, "make_link_split", lambda *args, **kw: other_test_edges(plain(*args, **kw), change))
    found = run_seed(config, small_graph, 0)
    assert not np.array_equal(found.split["test"], expected.split["test"])
    assert found.arms[0].metrics["test"] != expected.arms[0].metrics["test"]
    for (name, one), (_, two) in zip(artefacts(expected), artefacts(found), strict=True):
        assert one == two, name


def test_every_operator_is_made_of_training_edges(
    small_graph: Graph, quick_pairs: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of neighbours, shaping, heuristics and the Chebyshev decoder."""
    made = []
    build = Operators.__init__

    def note(self: Operators, edge_index: torch.Tensor, n_nodes: int) -> None:
        made.append(set(pair_keys(edge_index, n_nodes).tolist()))
        build(self, edge_index, n_nodes)

    monkeypatch.setattr(Operators, "__init__", note)
    config = quick_pairs(
        decoder={"kind": "cheb"}, shaper={"scope": "neighbors", "neighborhood": "graph"}, rivals="cheb,cn,aa,ra,pa"
    )
    split = run_seed(config, small_graph, 0).split
    train = set(pair_keys(torch.from_numpy(split["train"]), 150).tolist())
    held = set(pair_keys(torch.from_numpy(np.hstack([split["val"], split["test"]])), 150).tolist())
    assert made
    assert not train & held
    assert all(edges == train for edges in made)


def test_validation_edges_pass_messages_at_test_time_only_and_only_when_asked(
    small_graph: Graph, quick_pairs: Quick
) -> None:
    without = run_seed(quick_pairs(rivals="cn"), small_graph, 0)
    with_val = run_seed(quick_pairs(rivals="cn", links={"message": "train+val"}), small_graph, 0)
    assert {arm.more["message_graph"] for arm in without.arms} == {"train"}
    assert {arm.more["message_graph"] for arm in with_val.arms} == {"train+val"}
    for one, two in zip(without.arms, with_val.arms, strict=True):
        assert one.metrics["val"] == two.metrics["val"]
        assert one.metrics["test"] != two.metrics["test"]
        assert one.metrics["test"]["n"] == two.metrics["test"]["n"]


def test_arms_share_what_they_should(small_graph: Graph, quick_pairs: Quick) -> None:
    config = quick_pairs(links={"boundary": "clusters", "n_clusters": 3}, rivals="bes-pairs,gcn,mlp,cn")
    result = run_seed(config, small_graph, 0)
    by_name = {arm.arm: arm for arm in result.arms}
    assert tuple(by_name) == arms_of(config) == ("control", "bes", "bes-pairs", "gcn", "mlp", "cn")
    assert by_name["bes"].steps["accepted"] > 0
    assert by_name["bes-pairs"].steps["accepted"] > 0
    assert {arm.more["boundary_mode"] for arm in result.arms} == {"clusters"}, "what test_boundary is about"
    assert by_name["bes"].more["shaped_by"] == "clusters"
    assert by_name["bes-pairs"].more["shaped_by"] == "pairs"
    assert "shaped_by" not in by_name["control"].more
    assert by_name["control"].selected["encoders"] == by_name["bes"].selected["encoders"]
    assert by_name["gcn"].seconds["encoders"] > 0
    for arm in result.arms:
        metrics = arm.metrics
        assert set(metrics) == {"val", "test", "test_boundary", "test_two_hop", "test_degree", "test_hard"}
        assert {"acc", "f1", "auroc", "ap", "hits@20", "hits@50", "hits@100"} <= set(metrics["test"])
        assert metrics["test_boundary"]["n"] == result.arms[0].metrics["test_boundary"]["n"]
        kept = arm.predictions
        assert len(kept["pair"]) == len(kept["part"]) == len(kept["label"]) == len(kept["score"]) == len(kept["prob"])
        assert kept["prob"].min() >= 0
        assert np.allclose(kept["prob"].sum(1), 1)
        here = kept["part"] == "test"
        link = kept["score"][here, 0] > metrics["val"]["threshold"]
        assert (link == (kept["label"][here] == 1)).mean() == pytest.approx(metrics["test"]["acc"])


def test_without_shaping_the_arms_are_one(small_graph: Graph, quick_pairs: Quick) -> None:
    for boundary in ("classes", "clusters", "pairs"):
        control, shaped = run_seed(
            quick_pairs(shaper={"n_layers": 0}, links={"boundary": boundary}), small_graph, 0
        ).arms
        assert np.array_equal(control.predictions["score"], shaped.predictions["score"])


def test_under_classes_all_arms_get_the_training_labels_and_no_others(small_graph: Graph, quick_pairs: Quick) -> None:
    """The control has what the shaper has; classes of other nodes change not one bit of any arm."""
    config = quick_pairs(links={"boundary": "classes", "label_split": "random:plain"}, rivals="mlp,cosine")
    result = run_seed(config, small_graph, 0)
    nodes = make_split(small_graph, "random:plain", 0)
    for part, same in (("test", True), ("val", True), ("train", False)):
        y = small_graph.y.clone()
        y[nodes.nodes(part)] = y[nodes.nodes(part)].roll(1)
        other = run_seed(config, replace(small_graph, y=y), 0)
        for one, two in zip(result.arms, other.arms, strict=True):
            unaware = same or one.arm == "cosine"  # a heuristic of the plain features
            assert np.array_equal(one.predictions["score"], two.predictions["score"]) == unaware, (part, one.arm)
    assert all(arm.more["labels_as_features"] for arm in result.arms)


def test_edge_classes_derived_and_given(small_graph: Graph, quick_pairs: Quick) -> None:
    row, col = small_graph.edge_index
    given = replace(small_graph, edge_label=(row + col) % 3)
    for graph, classes in ((small_graph, 2), (given, 3)):
        config = quick_pairs(task="edge", rivals="mlp,bes-clusters")
        check(config, graph, [0])
        result = run_seed(config, graph, 0)
        assert [arm.arm for arm in result.arms] == ["control", "bes", "mlp", "bes-clusters"]
        shared = {"boundary_mode": "pairs", "message_graph": "all", "labels_as_features": False}
        shared |= {"batching": "full", "memory_estimate_mib": result.arms[0].more["memory_estimate_mib"]}
        assert result.arms[0].more == shared
        assert result.arms[1].more == {**shared, "shaped_by": "pairs"}
        for arm in result.arms:
            assert set(arm.metrics) == {"val", "test", "test_boundary"}
            assert arm.predictions["prob"].shape[1] == classes
            assert 0 <= arm.metrics["test"]["acc"] <= 1
    assert check(quick_pairs(task="edge", links={"boundary": "classes"}), given, [0]) is None


def test_same_class_or_not_is_learned(quick_pairs: Quick) -> None:
    graph = sbm(n_nodes=300, n_classes=3, n_features=8, degree=10, noise=0.4, separation=4.0)
    result = run_seed(quick_pairs(task="edge", encoders={"epochs": 40}, decoder={"epochs": 40}), graph, 0)
    assert all(arm.metrics["test"]["auroc"] > 0.85 for arm in result.arms)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rivals": "cosin"}, "arm 'cosin' is not known: did you mean cosine"),
        ({"rivals": "bes-classes"}, "arm 'bes-classes' is not known"),
        ({"rivals": "cn,cn"}, "arm 'cn' is named twice"),
        ({"rivals": "bes-pairs", "links": {"boundary": "pairs"}}, "'bes-pairs' would be arm bes again"),
        ({"task": "edge", "links": {"message": "train+val"}}, "links.message and links.select are for --task link"),
        ({"task": "node", "split": "random", "links": {"boundary": "pairs"}}, "mean nothing for nodes"),
        ({"task": "edge", "rivals": "cn"}, "arm 'cn' is not known"),
        ({"decoder": {"kind": "sage"}}, "decoder 'sage' is not known"),
        ({"decoder": {"kind": "cheb"}, "links": {"boundary": "pairs"}}, "no use for the decoder 'cheb'"),
        ({"decoder": {"kind": "cheb"}, "rivals": "bes-pairs"}, "no use for the decoder 'cheb'"),
        ({"links": {"boundary": "pairs"}, "shaper": {"scope": "neighbors"}}, "use scope=views or self"),
        ({"links": {"boundary": "pairs"}, "shaper": {"scope": "nodes"}}, "use scope=views or self"),
        ({"selection": "test-peek"}, "selection=test-peek is for nodes only"),
        ({"split": "geom"}, "link split 'geom' is not known"),
        ({"split": "official"}, "no 'val_edges'"),
        ({"task": "edge", "split": "official"}, "edge split 'official' is not known"),
        ({"task": "edge", "links": {"boundary": "classes"}}, "would give the derived edge classes away"),
    ],
)
def test_what_cannot_be_run_is_refused_before_it_starts(
    given: dict[str, Any], words: str, small_graph: Graph, quick_pairs: Quick
) -> None:
    with pytest.raises(InputError, match=words):
        check(quick_pairs(**given), small_graph, [0])


def test_a_graph_without_classes(small_graph: Graph, quick_pairs: Quick) -> None:
    bare = replace(small_graph, y=torch.full_like(small_graph.y, -1), name="bare")
    assert run_seed(quick_pairs(), bare, 0).arms[1].more["boundary_mode"] == "clusters"
    with pytest.raises(InputError, match=r"graph 'bare' have no classes for boundary 'classes': use clusters or pairs"):
        check(quick_pairs(links={"boundary": "classes"}), bare, [0])
    with pytest.raises(InputError, match=r"'bare' has neither edge labels nor edges between labelled nodes"):
        check(quick_pairs(task="edge"), bare, [0])
    single = replace(small_graph, y=torch.ones_like(small_graph.y), name="single")
    assert run_seed(quick_pairs(), single, 0).arms[1].more["boundary_mode"] == "clusters", "one class is no boundary"


def test_two_class_decoders_are_refused_for_more_classes(small_graph: Graph, quick_pairs: Quick) -> None:
    row, col = small_graph.edge_index
    given = replace(small_graph, edge_label=(row + col) % 3, name="three")
    for kind in ("dot", "cheb"):
        config = quick_pairs(task="edge", decoder={"kind": kind}, links={"boundary": "clusters"})
        with pytest.raises(InputError, match=rf"decoder '{kind}' tells two classes apart, but the edges of .* have 3"):
            check(config, given, [0])


def test_rows_of_pairs_say_which_pairs_they_are(small_graph: Graph, quick_pairs: Quick) -> None:
    result = run_seed(quick_pairs(links={"boundary": "pairs", "shaping_pairs": 40}), small_graph, 0)
    train = {tuple(pair) for pair in result.split["train"].T.tolist()}
    assert result.rows["pair"].shape == (40, 2)
    assert [tuple(pair) in train for pair in result.rows["pair"].tolist()] == (result.rows["label"] == 1).tolist()
