"""Full batch or parts: who decides, what is refused, and what the records say."""

from __future__ import annotations

import pytest
import torch

from bes.errors import InputError
from bes.pipeline import batching, check, run_seed
from bes.pipeline.batching import memory_of, parts_of, sentence, settled
from bes.run_ids import run_id


def test_auto_is_full_while_memory_is_enough(quick, small_graph, monkeypatch):
    config = quick()
    assert settled(config, small_graph) is config
    assert parts_of(config, small_graph) is None
    monkeypatch.setattr(batching, "available", lambda _: 100.0)  # less than Python itself takes
    assert settled(config, small_graph).batching == "parts"
    assert "GiB needed, 0.1 GiB available; parts." in sentence(settled(config, small_graph), small_graph)
    for other in (quick(batching="full"), quick(methods="gcn"), quick(shaping="encoders")):
        assert settled(other, small_graph) is other


@pytest.mark.parametrize(
    "given",
    [{"methods": "gcn"}, {"shaping": "encoders"}, {"task": "link", "decoder": {"kind": "cheb"}}],
)
def test_parts_are_refused_where_the_whole_graph_is_needed(quick, small_graph, given):
    with pytest.raises(InputError, match="batching=full"):
        check(quick(batching="parts", **given), small_graph, [0])


@pytest.mark.parametrize(("task", "extra"), [("node", {}), ("node", {"crossfit": 2}), ("link", {}), ("edge", {})])
def test_a_seed_in_parts_goes_the_whole_way(quick, small_graph, task, extra):
    config = quick(batching="parts", n_parts=6, parts_per_step=2, task=task, rivals=(), **extra)
    check(config, small_graph, [0])
    result, again = (run_seed(config, small_graph, 0) for _ in range(2))
    for arm, same in zip(result.arms, again.arms, strict=True):
        assert arm.metrics == same.metrics
        assert arm.more["batching"] == "parts"
        assert arm.more["memory_estimate_mib"] == round(memory_of(config, small_graph).peak, 1)
    full = run_seed(quick(task=task, rivals=(), **extra), small_graph, 0)
    assert full.arms[0].more["batching"] == "full"
    assert not torch.equal(*(torch.from_numpy(found.rows["before"]) for found in (result, full)))


def test_run_ids_know_parts_and_nothing_of_a_full_batch(quick):
    plain = run_id(quick(), "data", "1", 0, "bes")
    assert plain == run_id(quick(batching="full"), "data", "1", 0, "bes")
    assert plain == run_id(quick(n_parts=9, parts_per_step=3), "data", "1", 0, "bes")
    parts = run_id(quick(batching="parts"), "data", "1", 0, "bes")
    assert len({plain, parts, run_id(quick(batching="parts", n_parts=9), "data", "1", 0, "bes")}) == 3


def test_records_of_generated_graphs_say_what_they_are(quick, small_graph):
    config = quick().model_copy(update={"dataset": "arxiv-like"})
    for arm in run_seed(config, small_graph, 0).arms:
        assert "speed and memory only" in arm.notes[0]
        assert sum("speed and memory only" in note for note in arm.notes) == 1
    assert not any("speed and memory" in note for arm in run_seed(quick(), small_graph, 0).arms for note in arm.notes)
