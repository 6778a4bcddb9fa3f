"""Shaping of the encoders: the loss, who takes part, what is kept, and what stays as it was."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from bes import EncoderEnsemble, EncoderShaper
from bes.core.soft import propagated, smoothed
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.splits import NodeSplit, make_split
from bes.graph.synthetic import sbm
from bes.models import encoder_shaper
from bes.models.alike import both_views, read
from bes.models.fused import Fused, fused_proba
from bes.models.soft_pull import SoftPull
from bes.models.trust import EdgeTrust
from models.blocks import block_graph, encoded_blocks

Case = tuple[Graph, NodeSplit, EncoderEnsemble]


@pytest.fixture(scope="module")
def case() -> Case:
    return encoded_blocks()


def test_auto_takes_the_first_teacher_that_validation_does_not_find_worse(case: Case) -> None:
    graph, split, phi = case
    prob, ops = fused_proba(phi, graph), graph.operators
    known, truth = split.train, F.one_hot(split.train_labels, 3).float()
    smooth = {
        "smooth": smoothed(prob, ops.gcn, known, truth, 10, 0.1),
        "alike": smoothed(prob, both_views(graph), known, truth, 10, 0.1),
    }
    others = {
        "beliefs": propagated(prob, ops.sum, ops.degree, known, truth),
        "own": prob,
    }
    score = {name: split.score(found.clamp_min(1e-12).log())[0] for name, found in {**smooth, **others}.items()}
    best = max(score.values())
    near = best - (best * (1 - best) / split.val.numel()) ** 0.5
    order = [max(smooth, key=lambda name: score[name]), *others]
    assert EncoderShaper(1).fit(phi, graph, split).teacher_ == next(name for name in order if score[name] >= near)
    for name in score:
        assert EncoderShaper(1, teacher=name).fit(phi, graph, split).teacher_ == name
    with pytest.raises(InputError, match="smooth"):
        EncoderShaper(1, teacher="smoth").fit(phi, graph, split)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scores", "taken"),
    [
        # the error of 0.80 over 400 nodes is 0.02
        ({"smooth": 0.75, "alike": 0.74, "beliefs": 0.79, "own": 0.80}, "beliefs"),
        ({"smooth": 0.785, "alike": 0.785, "beliefs": 0.70, "own": 0.80}, "smooth"),
        ({"smooth": 0.785, "alike": 0.79, "beliefs": 0.80, "own": 0.80}, "alike"),
        ({"smooth": 0.5, "alike": 0.6, "beliefs": 0.77, "own": 0.80}, "own"),
    ],
)
def test_a_standard_error_decides_between_teachers(case: Case, scores: dict[str, float], taken: str) -> None:
    graph, split, phi = case
    pull = SoftPull(EncoderShaper(), Fused(phi.encoders_), graph, split)
    given = iter(scores.values())
    assert pull.take_teacher("auto", lambda _: (next(given), 0.0), 400) == taken


def test_the_share_grows_from_first_to_last(case: Case) -> None:
    graph, split, phi = case
    shaper = EncoderShaper(12, every=3, first=0.2, last=0.8).fit(phi, graph, split)
    shares = [row["share"] for row in shaper.history_]
    assert shares == pytest.approx([0.2] * 3 + [0.35] * 3 + [0.5] * 3 + [0.65] * 3)
    assert [row["iteration"] for row in shaper.history_] == list(range(12))
    free = graph.n_nodes - split.train.numel()
    assert [row["joined"] for row in shaper.history_] == [int(share * free) for share in shares]
    assert all(row["displacement"] > 0 for row in shaper.history_)
    assert sum(shaper.history_[-1]["by_class"]) == shaper.history_[-1]["joined"]


def test_what_was_given_stays_and_what_is_kept_is_the_best_epoch(case: Case) -> None:
    graph, split, phi = case
    before = phi.transform(graph)
    shaper = EncoderShaper(30).fit(phi, graph, split)
    assert torch.equal(phi.transform(graph), before)
    best = shaper.log_.best_score[0]
    assert best == pytest.approx(max(split.score(fused_proba(phi, graph).log())[0], *_scores(shaper)))
    assert split.score(shaper.predict_proba(graph).log())[0] == pytest.approx(best)
    assert not any(weight.requires_grad for one in shaper.encoders_.encoders_ for weight in one.parameters())
    assert shaper.transform(graph).shape == before.shape


def _scores(shaper: EncoderShaper) -> list[float]:
    return [row["score"] for row in shaper.history_]


def test_where_no_epoch_is_better_the_encoders_stay(case: Case) -> None:
    graph, split, phi = case
    shaper = EncoderShaper(5, lr=1e-12, weight_decay=0.0).fit(phi, graph, split)
    assert shaper.log_.best_epoch == -1
    torch.testing.assert_close(shaper.predict_proba(graph), fused_proba(phi, graph), rtol=0, atol=0)
    assert shaper.band_.size == shaper.history_[0]["band"]


def test_the_guard_keeps_what_enough_epochs_speak_for(case: Case) -> None:
    graph, split, _ = case
    phi = EncoderEnsemble(["gcn"], 8, epochs=1).fit(graph, split)  # so little trained that more must gain
    free = EncoderShaper(30, guard=None).fit(phi, graph, split)
    assert free.epoch_ == free.log_.best_epoch >= 0
    begun, n = split.score(fused_proba(phi, graph).log())[0], split.val.numel()
    better = sum(round(n * (score - begun)) >= 2 for score in _scores(free)) / 30
    assert 0 < better == pytest.approx(free.better_), "or this shows nothing"
    assert free.gain_ > 0 < free.gain_error_
    assert free.asked_ is None
    for guard, kept in ((0.0, True), (0.99 * free.better_, True), (1.01 * free.better_, False)):
        shaper = EncoderShaper(30, guard=guard).fit(phi, graph, split)
        assert shaper.asked_ == guard
        assert (shaper.better_, shaper.log_.best_epoch) == (free.better_, free.epoch_)
        expected = free.predict_proba(graph) if kept else fused_proba(phi, graph)
        assert torch.equal(shaper.predict_proba(graph), expected)
        assert shaper.epoch_ == (free.epoch_ if kept else -1)
        again = copy.deepcopy(free).set_params(guard=guard).decide(phi, graph, split)
        assert torch.equal(again.predict_proba(graph), expected)
        assert again.facts() == shaper.facts()
        assert np.array_equal(again.band_, shaper.band_)
        back = shaper.set_params(guard=None).decide(phi, graph, split)
        assert torch.equal(back.predict_proba(graph), free.predict_proba(graph)), "what was refused is not lost"


def test_without_validation_the_guard_has_nothing_to_say(case: Case) -> None:
    graph, split, phi = case
    nobody = NodeSplit(split.train, split.val[:0], split.test, split.name, split.n_classes, graph.y)
    shaper = EncoderShaper(10).fit(phi, graph, nobody)
    assert shaper.epoch_ == shaper.log_.best_epoch
    assert (shaper.gain_, shaper.gain_error_, shaper.asked_) == (0.0, 0.0, None)


def test_without_both_weights_it_only_trains_on(case: Case) -> None:
    graph, split, phi = case
    shaper = EncoderShaper(4, weight=0.0, gravity=0.0).fit(phi, graph, split)
    network = Fused(phi.encoders_)
    logits = network.eval()(graph)[0]
    plain = F.cross_entropy(logits[split.train], split.train_labels).item()
    assert 0 < shaper.history_[0]["loss"] < plain + 1.0
    pull = SoftPull(shaper, network, graph, split)
    assert pull(network(graph)).item() == 0.0


def test_labels_outside_train_are_not_seen(case: Case) -> None:
    """Other classes outside train and validation: the same encoders to the last bit."""
    graph, split, phi = case
    y = graph.y.clone()
    y[split.test] = (y[split.test] + 1) % 3
    other = Graph(graph.x, graph.edge_index, y, name=graph.name)
    swapped = NodeSplit(split.train, split.val, split.test, split.name, split.n_classes, y)
    one = EncoderShaper(12).fit(phi, graph, split)
    two = EncoderShaper(12).fit(phi, other, swapped)
    assert torch.equal(one.predict_proba(graph), two.predict_proba(graph))


def test_with_few_labels_it_learns_from_the_others() -> None:
    """Three blocks whose features say little: accuracy rises in the mean, if no class swallows others."""
    graph = block_graph()
    gains = []
    for seed in range(6):
        split = make_split(graph, "low:2", seed)
        phi = EncoderEnsemble(["gcn"], 16, epochs=40, random_state=seed).fit(graph, split)
        shaped = EncoderShaper(60, balance=1.0, random_state=seed).fit(phi, graph, split)
        before, after = fused_proba(phi, graph), shaped.predict_proba(graph)
        gains.append(split.score(after.log(), "test")[0] - split.score(before.log(), "test")[0])
    assert sum(gains) > 0


def noisy_case() -> Case:
    """Classes told by features, and edges that say nothing: a GCN is poor on it."""
    graph = sbm(n_nodes=600, n_classes=3, n_features=8, degree=8.0, noise=0.7, separation=5.0)
    split = make_split(graph, "random", 0)
    return graph, split, EncoderEnsemble(["gcn"], 16, epochs=60).fit(graph, split)


def test_edges_that_can_be_told_count_by_their_trust() -> None:
    graph, split, phi = noisy_case()
    plain = EncoderShaper(40, trust=None).fit(phi, graph, split)
    shaper = EncoderShaper(40, teacher="smooth").fit(phi, graph, split)
    assert (plain.weighted_, plain.explained_) == (False, 0.0)
    assert shaper.weighted_
    assert shaper.explained_ >= shaper.trust
    assert phi.trust_ is None, "what was given stays"
    before, with_trust = fused_proba(phi, graph), shaper.predict_proba(graph)
    assert split.score(with_trust.log(), "test")[0] > split.score(before.log(), "test")[0] + 0.05
    known = EdgeTrust().fit(graph, split.train, split.train_labels)
    assert torch.equal(with_trust, Fused(shaper.encoders_.encoders_).eval()(known.transform(graph))[0].softmax(1))


def test_too_little_explained_leaves_the_graph_as_it_is() -> None:
    graph, split, phi = noisy_case()
    bar = EncoderShaper(1).fit(phi, graph, split).explained_
    assert not EncoderShaper(1, trust=bar + 1e-6).fit(phi, graph, split).weighted_
    assert EncoderShaper(1, trust=bar - 1e-6).fit(phi, graph, split).weighted_


def test_encoders_that_stay_see_the_graph_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, split, phi = noisy_case()
    monkeypatch.setattr(encoder_shaper, "share_better", lambda _: 0.0)
    shaper = EncoderShaper(5, teacher="smooth").fit(phi, graph, split)
    assert shaper.weighted_
    assert shaper.epoch_ == -1
    assert shaper.encoders_.trust_ is None
    assert torch.equal(shaper.predict_proba(graph), fused_proba(phi, graph))


def test_who_is_taught_by_look_alikes_is_read_so_where_validation_finds_it_no_worse() -> None:
    """Features tell classes, edges say little: both views are better than the GCN alone."""
    graph, split, phi = noisy_case()
    shaper = EncoderShaper(5, teacher="alike", trust=None).fit(phi, graph, split)
    encoders = shaper.encoders_
    assert shaper.both_views_ is encoders.both_views_ is True
    assert phi.both_views_ is False, "what was given stays"
    own = Fused(encoders.encoders_).eval()(graph)[0].softmax(1)
    both = read(own, graph)
    assert torch.equal(shaper.predict_proba(graph), both)
    assert split.score(both.log())[0] >= split.score(own.log())[0]
    assert shaper.facts()["both_views"] is True
    assert EncoderShaper(2, teacher="smooth", trust=None).fit(phi, graph, split).both_views_ is False
    assert EncoderShaper(2, teacher="alike", weight=0.0, trust=None).fit(phi, graph, split).both_views_ is False


def test_what_is_worse_on_validation_is_not_read_from_both_views(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, split, phi = case
    monkeypatch.setattr(encoder_shaper, "read", lambda prob, _: prob.roll(1, 1))
    shaper = EncoderShaper(5, teacher="alike").fit(phi, graph, split)
    own = Fused(shaper.encoders_.encoders_).eval()(graph)[0].softmax(1)
    assert split.score(own.roll(1, 1).log())[0] < split.score(own.log())[0]
    assert shaper.both_views_ is False
    assert torch.equal(shaper.predict_proba(graph), own)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"every": 0}, "every=0 is out of range: use a whole number from 1"),
        ({"first": -0.5}, "first=-0.5 is out of range"),
        ({"temperature": 0.0}, "temperature=0.0 is out of range: use a number above 0"),
        ({"restart": 1.0}, "restart=1.0 is out of range"),
        ({"steps": -3}, "steps=-3 is out of range"),
        ({"guard": 2.0}, "guard=2.0 is out of range: use a number in .0, 1. or None"),
        ({"trust": "yes"}, "trust='yes' is out of range: use a number up to 1 or None"),
        ({"pulled": "labeled"}, "pulled='labeled' is not known: use band or labelled"),
        ({"teacher": "smoth"}, "teacher='smoth' is not known: use auto"),
    ],
)
def test_options_out_of_range_are_refused(case: Case, given: dict[str, object], words: str) -> None:
    graph, split, phi = case
    with pytest.raises(InputError, match=words):
        EncoderShaper(2, **given).fit(phi, graph, split)


def test_shaped_encoders_that_read_the_graph_in_their_own_way_are_not_shaped_again() -> None:
    graph, split, phi = noisy_case()
    shaped = EncoderShaper(5, teacher="smooth", guard=None).fit(phi, graph, split).encoders_
    assert shaped.trust_ is not None
    with pytest.raises(InputError, match="These encoders are shaped already"):
        EncoderShaper(1).fit(shaped, graph, split)


def test_shaped_encoders_work_where_they_were_shaped(case: Case) -> None:
    graph, split, phi = case
    given = copy.deepcopy(phi)
    given.device = "cuda"  # where they were trained; shaping takes place elsewhere
    shaper = EncoderShaper(1, device="cpu").fit(given, graph, split)
    assert (shaper.encoders_.device, given.device) == ("cpu", "cuda")
    assert shaper.predict_proba(graph).device.type == "cpu"
