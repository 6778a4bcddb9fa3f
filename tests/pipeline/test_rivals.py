"""A rival by itself is the arm that it is beside the others; what the leak of links gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import make_split
from bes.models.convs import CONVS
from bes.models.heuristics import HEURISTICS
from bes.pipeline import arms_of, check, run_rival, run_seed
from bes.pipeline.results import ArmResult

Quick = Callable[..., RunConfig]

SHAPE = {"n_iter": 5, "alpha": 0.01, "tol": 0.0}


def links(quick: Quick, **given: Any) -> RunConfig:
    return quick(**{"task": "link", "rivals": "", "encoders": {"names": "gcn,sage"}, "shaper": SHAPE, **given})


def same(alone: ArmResult, beside: ArmResult) -> None:
    """But for the boundary, which is that of the embeddings that a rival does not have."""
    assert alone.arm == beside.arm
    for key, expected in beside.predictions.items():
        assert np.array_equal(alone.predictions[key], expected), key
    assert alone.metrics == {part: found for part, found in beside.metrics.items() if part != "test_boundary"}
    assert "test_boundary" in beside.metrics
    assert alone.selected == beside.selected
    assert alone.notes == beside.notes
    assert alone.more == beside.more
    assert alone.boundary == [] == beside.boundary


# Nodes


def test_a_rival_by_itself_is_the_arm_beside_bes(small_graph: Graph, quick: Quick) -> None:
    config = quick(rivals=("gcn", "sgc"))
    assert arms_of(config) == ("control", "bes", "gcn", "sgc")
    control, bes, *rivals = run_seed(config, small_graph, 3).arms
    for arm in rivals:
        same(run_rival(config, small_graph, 3, arm.arm), arm)
        same(run_rival(quick(encoders={"names": (arm.arm,)}), small_graph, 3, arm.arm), arm)
    plain = run_seed(quick(), small_graph, 3).arms
    assert [arm.metrics for arm in plain] == [control.metrics, bes.metrics], "they take nothing from the others"
    assert rivals[0].metrics != rivals[1].metrics
    other = run_rival(config, small_graph, 4, "gcn")
    assert not np.array_equal(other.predictions["prob"], rivals[0].predictions["prob"])


def test_a_rival_is_the_ensembles_own_encoder(small_graph: Graph, quick: Quick) -> None:
    """Trained by the same draws whoever is beside it: what it chose is what the ensemble's first one chose."""
    arms = run_seed(quick(encoders={"names": "gcn,cheb", "epochs": 12}, rivals="gcn"), small_graph, 0).arms
    assert arms[2].selected["encoders"] == arms[0].selected["encoders"][:1]


def test_the_seconds_of_a_rival_are_its_own(small_graph: Graph, quick: Quick) -> None:
    arm = run_seed(quick(rivals="gcn"), small_graph, 0).arms[2]
    assert arm.seconds["encoders"] > 0
    assert (arm.seconds["shaping"], arm.seconds["decoder"]) == (0.0, 0.0)


def test_test_labels_change_no_rival_unless_it_peeks(small_graph: Graph, quick: Quick) -> None:
    nodes = make_split(small_graph, "random:plain", seed=0).nodes("test")
    y = small_graph.y.clone()
    y[nodes] = (y[nodes] + 1 + nodes % 2) % 3
    config = quick(split="random:plain", encoders={"epochs": 30})
    one, two = (run_rival(config, graph, 0, "gcn") for graph in (small_graph, replace(small_graph, y=y)))
    assert np.array_equal(one.predictions["prob"], two.predictions["prob"])
    assert one.metrics["test"] != two.metrics["test"]
    peek = quick(split="random:plain", encoders={"epochs": 30}, selection="test-peek")
    one, two = (run_rival(peek, graph, 0, "gcn") for graph in (small_graph, replace(small_graph, y=y)))
    assert not np.array_equal(one.predictions["prob"], two.predictions["prob"]), "the check above can fail"


def test_to_peek_is_never_to_lose_on_the_test_part(small_graph: Graph, quick: Quick) -> None:
    """The same epochs, and the best of them for the test part: for control, bes and every rival."""
    gained = 0
    for seed in range(4):
        given: dict[str, Any] = {"encoders": {"epochs": 15}, "decoder": {"epochs": 15}, "rivals": ("gcn", "kgnn")}
        honest = run_seed(quick(**given), small_graph, seed).arms
        peek = run_seed(quick(selection="test-peek", **given), small_graph, seed).arms
        for a, b in zip(honest, peek, strict=True):
            assert b.metrics["test"]["acc"] >= a.metrics["test"]["acc"], (seed, a.arm)
            gained += b.metrics["test"]["acc"] > a.metrics["test"]["acc"]
    assert gained > 0, "or nothing was seen"


def test_whose_settings_methods_get_is_no_matter_of_rivals(small_graph: Graph, quick: Quick) -> None:
    config = quick(rivals="gcn", methods="bes,h2gcn", settings="official")
    check(config, small_graph, [0])
    arms = {arm.arm: arm for arm in run_seed(config, small_graph, 0).arms}
    assert arms["h2gcn"].more["method"]["settings"] == "official"
    assert arms["gcn"].more["method"]["settings"] != "official"
    (plain,) = (arm for arm in run_seed(quick(rivals="gcn"), small_graph, 0).arms if arm.arm == "gcn")
    assert plain.metrics == arms["gcn"].metrics


@pytest.mark.parametrize(
    ("rivals", "words"),
    [
        ("gnc", r"arm 'gnc' is not known: did you mean .*gcn"),
        ("gcn,cheb,gcn", r"arm 'gcn' is named twice among the rivals: name it once\.$"),
        ("cn", r"arm 'cn' is not known"),
        ("bes", r"arm 'bes' is not known"),
    ],
)
def test_rivals_that_cannot_be_are_refused(small_graph: Graph, quick: Quick, rivals: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        check(quick(rivals=rivals), small_graph, [0])
    assert "\n" not in str(caught.value)
    assert str(caught.value)[-1] in ".?"


def test_every_convolution_can_be_a_rival(small_graph: Graph, quick: Quick) -> None:
    config = quick(rivals=tuple(CONVS))
    check(config, small_graph, [0])
    arm = run_rival(config, small_graph, 0, tuple(CONVS)[-1])
    assert arm.metrics["test"]["acc"] is not None


def test_a_rival_that_diverges_says_so(small_graph: Graph, quick: Quick) -> None:
    with pytest.raises(InputError, match=r"The method 'gcn' on graph 'sbm' diverged .*encoders\.lr\)\.$"):
        run_rival(quick(encoders={"lr": 1e38}), small_graph, 0, "gcn")


# Links


@pytest.mark.parametrize("boundary", ["classes", "clusters"])
def test_a_rival_of_links_by_itself_is_the_arm_beside_bes(small_graph: Graph, quick: Quick, boundary: str) -> None:
    """One of the ensemble's encoders, one that is not, features alone, and heuristics."""
    given = {"links": {"boundary": boundary}}
    arms = run_seed(links(quick, rivals="sage,cheb,mlp,cn,cosine", **given), small_graph, 1).arms[2:]
    assert {"cn", "cosine"} <= set(HEURISTICS)
    for arm in arms:
        names = (arm.arm,) if arm.arm in CONVS else ("gcn", "sage")
        same(run_rival(links(quick, encoders={"names": names}, **given), small_graph, 1, arm.arm), arm)


def test_the_leak_is_told_in_every_record(small_graph: Graph, quick: Quick) -> None:
    config = links(quick, rivals="gcn,cn", links={"message": "all"})
    check(config, small_graph, [0])
    for arm in run_seed(config, small_graph, 0).arms:
        assert "leak" in arm.notes[0]
        assert arm.more["message_graph"] == "all"
    assert "leak" in run_rival(config, small_graph, 0, "cn").notes[0]
    for arm in run_seed(links(quick, rivals="gcn,cn"), small_graph, 0).arms:
        assert not any("leak" in note for note in arm.notes)
        assert arm.more["message_graph"] == "train"


def test_the_leak_does_not_lose(quick: Quick, small_graph: Graph) -> None:
    """The same held-out pairs: common neighbours and networks see the test edges, and score them no worse."""
    given: dict[str, Any] = {"encoders": {"names": "gcn,sage", "epochs": 40, "channels": 16}, "rivals": "gcn,cn,aa"}
    gain: dict[str, list[float]] = {}
    for seed in range(2):
        honest = run_seed(links(quick, **given), small_graph, seed)
        leaky = run_seed(links(quick, links={"message": "all"}, **given), small_graph, seed)
        for key in ("train", "val", "test", "val_negatives", "test_negatives"):
            assert np.array_equal(honest.split[key], leaky.split[key])
        for a, b in zip(honest.arms, leaky.arms, strict=True):
            gain.setdefault(a.arm, []).append(b.metrics["test"]["auroc"] - a.metrics["test"]["auroc"])
    assert all(np.mean(gained) > 0 for gained in gain.values()), gain


def test_the_leak_is_for_links_alone(small_graph: Graph, quick: Quick) -> None:
    with pytest.raises(InputError, match=r"links\.message and links\.select are for --task link only"):
        check(quick(task="edge", rivals="", links={"message": "all"}), small_graph, [0])
    with pytest.raises(InputError, match="mean nothing for nodes"):
        check(quick(links={"message": "all"}), small_graph, [0])
    assert torch.is_tensor(small_graph.y)
