"""The benchmark of speed: what it says and how it counts, not how fast anything is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from bes.bench import speed
from bes.bench.speed import rivals
from bes.bench.speed.kept import Kept
from bes.bench.speed.model import Timing, in_turns
from bes.bench.speed.products import products
from bes.bench.speed.rivals import CONVOLUTIONS, GRAPHS, WIDTH, _pyg, conv_steps, our_step, their_step
from bes.bench.speed.roofline import Reading, _sparse, roofline
from bes.bench.speed.stages import stages
from bes.graph.graph import Graph
from bes.graph.sparse import Operators
from bes.graph.splits import make_split
from bes.models.convs import CONVS
from bes.products import by_onednn


def test_calls_take_turns_and_the_first_of_each_does_not_count() -> None:
    seen: list[str] = []
    found = in_turns(lambda: seen.append("a"), lambda: seen.append("b"), seconds=0.0, least=3)
    assert seen == ["a", "b"] * 4
    assert len(found) == 2
    assert all(took >= 0 for took in found)


def test_a_ratio_is_how_many_times_as_long_the_rival_takes() -> None:
    assert Timing("stage", "cora", "x", 2.0, 5.0).ratio == 2.5
    alone = Timing("stage", "cora", "x", 2.0).as_dict()
    assert alone == {"kind": "stage", "graph": "cora", "name": "x", "ours_ms": 2.0, "rival_ms": None, "ratio": None}


@pytest.mark.parametrize("conv", sorted(set(CONVS) - {"mlp"}))
def test_a_step_of_either_side_trains(conv: str, small_graph: Graph) -> None:
    """What is timed changes the parameters, all but what softmax may cancel."""
    split = make_split(small_graph, "random", 0)
    torch.manual_seed(0)
    for step in (our_step(conv, small_graph, split), their_step(_pyg()[conv], small_graph, split)):
        before = [parameter.detach().clone() for parameter in step.network.parameters()]
        step()
        after = list(step.network.parameters())
        assert sum(not torch.equal(a, b) for a, b in zip(before, after, strict=True)) >= len(before) - 1
        assert all(parameter.isfinite().all() for parameter in after)


def test_every_convolution_but_the_plain_one_has_a_rival() -> None:
    assert set(_pyg()) == set(CONVS) - {"mlp"} == set(CONVOLUTIONS)
    assert GRAPHS == ("cora", "pubmed", "amazon_computers")


def test_both_sides_have_as_many_parameters(small_graph: Graph) -> None:
    split = make_split(small_graph, "random", 0)
    for conv, layer in _pyg().items():
        steps = (our_step(conv, small_graph, split), their_step(layer, small_graph, split))
        counts = [sum(parameter.numel() for parameter in step.network.parameters()) for step in steps]
        assert counts[0] == counts[1], conv
    assert WIDTH == 64


def test_bytes_of_a_sparse_product_are_counted() -> None:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    csr = Operators(edges, 3).sum.csr
    index = csr.col_indices().element_size()
    assert _sparse(csr, 5).bytes == 4 * (4 + index + 20) + 3 * (index + 20)


def test_products_are_held_against_torchs_own() -> None:
    found = list(products({"small": (40, 8, 4, False), "both learn": (40, 8, 4, True)}))
    assert [(one.kind, one.name) for one in found] == [("product", "small"), ("product", "both learn")]
    for one in found:
        assert one.ratio is not None
        assert one.ratio > 0
        assert one.more == {"onednn": by_onednn()}


def test_the_roofline_says_shares_of_two_limits() -> None:
    found = list(roofline(nodes=20_000, length=1 << 16, side=64))
    limits, products = found[:2], found[2:]
    assert [one.name for one in limits] == ["triad, GB/s", "gemm, GFLOP/s"]
    assert all(one.more["limit"] > 0 for one in limits)
    assert len(products) == 9
    assert all(one.ratio is not None and one.ratio > 0 for one in products)
    for one in products:
        known = one.as_dict()
        assert known["bound"] in ("memory", "flops")
        assert known["rival_ms"] * known["attainable_gflops"] == pytest.approx(known["flops"] / 1e6)
        if "ceiling_ms" in known:
            parts = sum(known.get(key, 0) for key in ("reading_ms", "cached_ms", "fresh_ms", "rest_ms"))
            assert known["ceiling_ms"] == pytest.approx(parts)
            assert known["ceiling_share"] == pytest.approx(parts / known["ours_ms"])
    assert sum("reading_ms" in one.more for one in products) == 4
    dense = products[-1].more
    assert dense["intensity"] == pytest.approx(2 * 64 * 64 / (8 * 64), rel=0.05)  # the weight counts for little


def test_what_a_sparse_product_reads_is_read_whole() -> None:
    csr = Operators(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3).sum.csr
    reading = Reading(csr, torch.ones(3, 5))
    assert reading.stream.tolist() == [1, 0, 2, 1]
    assert reading.bags.tolist() == [0]
    reading()


def test_kinds_can_be_forgotten_and_other_work_is_not_known(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.add(Timing("conv-step", "cora", "gcn", 1.0, 2.0))
    kept.add(Timing("growth", "sbm-10", "inference", 1.0, more={"work": 1}))
    assert kept.known("growth") == {("sbm-10", "inference")} == kept.known("growth", work=1)
    assert kept.known("growth", work=2) == set()
    kept.forget(["growth"])
    assert [line["kind"] for line in kept.lines()] == ["conv-step"]
    assert len((tmp_path / "timings.1.jsonl").read_text().splitlines()) == 2
    with kept.path.open("a") as file:
        file.write('{"kind": "gro')  # a kill
    assert [line["kind"] for line in kept.lines()] == ["conv-step"]
    kept.set_aside()
    assert kept.lines() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["timings.1.jsonl", "timings.2.jsonl"], "none is lost"


def test_a_process_of_its_own_takes_the_steps() -> None:
    found = rivals._apart("digits", 0.0, "0")
    assert list(found) == list(CONVOLUTIONS)
    assert all(ours > 0 and rival > 0 for ours, rival in found.values())


def test_steps_are_taken_with_torch_as_it_comes_and_with_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    took = {"0": {"gcn": (2.0, 8.0)}, "1": {"gcn": (1.0, 3.0)}}
    monkeypatch.setattr(rivals, "_apart", lambda _name, _seconds, pages: took[pages])
    (one,) = conv_steps(("citeseer",))
    assert (one.name, one.ours_ms, one.rival_ms, one.ratio) == ("gcn", 2.0, 8.0, 4.0)
    assert one.more == {"huge_ours_ms": 1.0, "huge_rival_ms": 3.0, "huge_ratio": 3.0}


def test_graphs_that_are_not_here_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("BES_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert list(conv_steps(("cora",))) == []
    assert list(stages(("cora",))) == []


@pytest.fixture
def one_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """One timing a part instead of measurements, and a folder for what is left."""

    def part(*_: Any) -> Iterator[Timing]:
        yield Timing("conv-step", "cora", "gcn", 2.0, 7.0)

    def grown(kept: Kept, _: int) -> Iterator[Timing]:
        for nodes in (10_000, 100_000, 1_000_000):
            if (f"sbm-{nodes}", "inference") not in kept.known("growth"):
                more = {
                    "nodes": nodes,
                    "peak_mib": 300.0,
                    "used_mib": nodes / 1000,
                    "cpu_ms": nodes / 25,
                    "wall_ms": nodes / 50,
                }
                yield Timing("growth", f"sbm-{nodes}", "inference", nodes / 50, more=more)

    monkeypatch.setattr(speed, "PARTS", {"conv-step": part, "growth": grown})
    monkeypatch.setattr(speed, "QUICK", ("conv-step",))
    return tmp_path


def test_the_command_prints_lines_or_json(command: Callable[..., Any], one_part: Path) -> None:
    assert "3.50 times" in command("bench", "speed", "--quick", "--out", str(one_part)).out
    (shown,) = json.loads(command("bench", "speed", "--quick", "--json", "--out", str(one_part)).out)
    assert (shown["kind"], shown["graph"], shown["name"], shown["ratio"]) == ("conv-step", "cora", "gcn", 3.5)


def test_growth_goes_on_and_ends_with_exponents(command: Callable[..., Any], one_part: Path) -> None:
    assert "sbm-" not in command("bench", "speed", "--limit-minutes", "0", "--out", str(one_part)).out
    found = json.loads(command("bench", "speed", "--json", "--out", str(one_part)).out)
    assert [one["kind"] for one in found] == ["conv-step", *["growth"] * 4]
    assert found[-1]["time_exponent"] == pytest.approx(1.0)
    assert found[-1]["memory_exponent"] == pytest.approx(1.0)
    lines = (one_part / "speed" / "timings.jsonl").read_text().splitlines()
    command("bench", "speed", "--out", str(one_part))
    again = (one_part / "speed" / "timings.jsonl").read_text().splitlines()
    assert len(again) == len(lines) + 1  # growth is known, a step is measured again
    command("bench", "speed", "--no-resume", "--out", str(one_part))
    assert len((one_part / "speed" / "timings.jsonl").read_text().splitlines()) == 4


def test_the_command_leaves_a_page_and_its_picture(command: Callable[..., Any], one_part: Path) -> None:
    command("bench", "speed", "--out", str(one_part))
    text = (one_part / "speed" / "speed.md").read_text()
    assert "2.0 / 7.0 = **3.5**" in text
    assert "| 1.00 | 1.00 | 1.00 |" in text
    assert (one_part / "speed" / "speed.png").stat().st_size > 1000


def test_it_is_called_by_itself(command: Callable[..., Any], refused: Callable[..., Any]) -> None:
    refused(command("bench", "speed", "table1"), "'speed'", "by itself")
    refused(command("bench", "table1", "--quick"), "--quick", "speed")
