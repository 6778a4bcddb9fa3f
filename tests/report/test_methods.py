"""Methods by themselves: the order, the differences, what is said of them, and the page."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.report import methods
from bes.report.html import write_report
from bes.runs import run
from bes.stored import StoredRun
from bes.summary import Summary

Read = Callable[[Path], Any]
Quick = Callable[..., RunConfig]
Scores = list[tuple[float | None, float | None]]

#: Two methods of five epochs.
TWO = {"gcn": {"epochs": 5, "hidden": 4}, "mlp": {"epochs": 5}}


def made(**scores: Scores) -> list[dict[str, Any]]:
    """Records of methods with these accuracies on validation and test, one a seed."""
    return [
        {
            "task": "node",
            "seed": seed,
            "arm": name,
            "metrics": {"val": {"n": 9, "acc": val}, "test": {"n": 9, "acc": test}},
            "notes": [],
        }
        for name, found in scores.items()
        for seed, (val, test) in enumerate(found)
    ]


def flat(val: float, *test: float) -> Scores:
    """One score on validation, and these on test."""
    return [(val, one) for one in test]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Quick) -> StoredRun:
    """Two seeds of two methods."""
    return StoredRun(run(quick(methods=TWO), small_graph, [0, 1], tmp_path_factory.mktemp("methods") / "run").path)


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Quick) -> StoredRun:
    """A seed of a network and of a heuristic, which has no options."""
    plan = quick(task="link", methods={"cn": {}, "gcn": {"epochs": 5}})
    return StoredRun(run(plan, small_graph, [0], tmp_path_factory.mktemp("methods") / "link").path)


def tuned(source: StoredRun, path: Path) -> StoredRun:
    """The run as if three settings of gcn had been tried, the third of which won and the second failed."""
    shutil.copytree(source.path, path)
    content = json.loads((path / "config.json").read_text())
    content["config"]["tune"] = 3
    (path / "config.json").write_text(json.dumps(content))
    records = [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]
    tried = [
        {"options": {}, "score": 0.5, "seconds": 1.25},
        {"options": {"lr": 9.0}, "score": -1.0, "seconds": 0.5, "error": "It diverged: lower its lr."},
        {"options": {"lr": 0.02}, "score": 0.75, "seconds": 2.0},
        {"options": {"lr": 0.02}, "score": 0.75, "seconds": 0.0},
    ]
    for record in records:
        if record["arm"] == "gcn":
            record["method"]["options"]["lr"] = 0.02
            record["method"]["tuned"] = {"trials": len(tried), "seed": 0, "tried": tried}
    (path / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return StoredRun(path)


def test_validation_alone_says_which_is_best() -> None:
    records = made(a=flat(0.5, 0.9, 0.9), b=flat(0.7, 0.1, 0.1), c=flat(0.6, 0.5, 0.5))
    assert methods.ranked(records) == ["b", "c", "a"]
    rows = methods.rows(records)
    assert [row["best"] for row in rows] == [True, False, False]
    assert rows[0]["difference"] is None
    assert rows[2]["difference"]["test"] == "+80.00 ± 0.00"


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 4), min_size=1, max_size=6))
def test_test_scores_change_no_order(scores: list[tuple[float, float, float, float]]) -> None:
    named = {f"m{place}": one for place, one in enumerate(scores)}
    records = made(**{name: [(a, c), (b, d)] for name, (a, b, c, d) in named.items()})
    turned = made(**{name: [(a, 1 - d), (b, 1 - c)] for name, (a, b, c, d) in named.items()})
    order = methods.ranked(records)
    assert order == methods.ranked(turned)
    means = [round(sum(named[name][:2]) / 2, 12) for name in order]
    assert means == sorted(means, reverse=True)
    assert methods.verdict(records).endswith(".")


def test_differences_are_paired_by_seed_and_by_hand() -> None:
    """-0.02, +0.01, -0.05: mean -0.02, error 0.03 / sqrt 3."""
    records = made(best=flat(0.9, 0.72, 0.79, 0.65), other=flat(0.8, 0.7, 0.8, 0.6))
    found = methods.rows(records[::-1])[1]["difference"]
    assert found == {
        "validation": "-10.00 ± 0.00",
        "test": "-2.00 ± 1.73",
        "splits": 3,
        "reading": "no clear difference",
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([], "nothing to compare"),
        ([0.5], "one split tells nothing"),
        ([0.1, 0.2, 0.15], "too few splits"),
        ([0.1, -0.1, 0.05], "no clear difference"),
        ([0.1, 0.2, 0.15, 0.1, 0.2], "clearly better"),
        ([-0.1, -0.2, -0.15, -0.1, -0.2], "clearly worse"),
        ([0.1, -0.1, 0.05, -0.06, 0.02], "no clear difference"),
        ([0.0] * 5, "no clear difference"),
    ],
)
def test_what_a_difference_allows_one_to_say(changes: list[float], said: str) -> None:
    assert methods.reading(Summary.of(changes)) == said


NOISE = (0.01, -0.01, 0.0, 0.02, -0.02)


def level(val: float, mean: float, sign: int = 1) -> Scores:
    return flat(val, *(mean + sign * one for one in NOISE))


VERDICTS = {
    "a method alone": (
        made(a=flat(0.5, 0.25, 0.75)),
        "a has test accuracy 50.00 ± 25.00 over 2 splits: there is no other method to compare it with.",
    ),
    "one split": (
        made(a=flat(0.5, 0.25), b=flat(0.6, 0.2)),
        "b is best on validation, with test accuracy 20.00 over 1 split: one split tells nothing about its noise.",
    ),
    "few splits": (
        made(a=flat(0.5, 0.25, 0.25), b=flat(0.6, 0.5, 0.51)),
        "b is best on validation, with test accuracy 50.50 ± 0.50 over 2 splits (standard error): 2 splits are too few "
        "to call a difference to the others clear.",
    ),
    "every kind": (
        made(a=level(0.9, 0.5), low=level(0.8, 0.3), high=level(0.7, 0.8), same=level(0.6, 0.5, -1)),
        "a is best on validation, with test accuracy 50.00 ± 0.71 over 5 splits (standard error): on the test part it "
        "is clearly ahead of low, clearly behind high, not clearly different from same.",
    ),
    "many": (
        made(a=level(0.9, 0.5), **{name: level(0.8, 0.3) for name in "bcde"}),
        "a is best on validation, with test accuracy 50.00 ± 0.71 over 5 splits (standard error): on the test part it "
        "is clearly ahead of 4 methods.",
    ),
    "a tie": (
        made(b=level(0.9, 0.5), a=level(0.9, 0.3), c=level(0.9, 0.3), d=level(0.1, 0.3)),
        "b is best on validation (a tie with a and c goes to the one named first), with test accuracy 50.00 ± 0.71 "
        "over 5 splits (standard error): on the test part it is clearly ahead of a, c and d.",
    ),
    "no validation": (
        made(a=[(None, 0.5)], b=[(None, 0.4)]),
        "No method has a figure on validation: none can be called the best.",
    ),
    "no test": (
        made(a=[(0.5, None)], b=[(0.4, None)]),
        "a is best on validation: the test part has nothing to score, and nothing more can be said.",
    ),
}


@pytest.mark.parametrize(("records", "said"), VERDICTS.values(), ids=VERDICTS.keys())
def test_the_verdict_is_one_sentence(records: list[dict[str, Any]], said: str) -> None:
    assert methods.verdict(records) == said


def test_without_validation_none_is_marked() -> None:
    rows = methods.rows(made(a=[(None, 0.5)], b=[(None, 0.4)]))
    assert [(row["best"], row["difference"]) for row in rows] == [(False, None), (False, None)]


def test_a_seed_that_lacks_a_method_is_left_out_and_told() -> None:
    records = made(a=flat(0.5, 0.4, 0.4, 0.9), b=flat(0.6, 0.3, 0.3))
    assert methods.missing(records) == {2: ["b"]}
    assert {record["seed"] for record in methods.complete(records)} == {0, 1}
    assert methods.rows(records)[1]["test"] == {"accuracy": "40.00 ± 0.00"}
    (note,) = methods.notes(records)
    assert note.startswith("Seed 2 lacks b and is left out of the means")
    assert methods.complete(records[:1] + records[-1:]) == records[:1] + records[-1:], "better than nothing"


def test_notes_name_the_method_and_its_seeds() -> None:
    records = made(a=flat(0.5, 0.4, 0.4), b=flat(0.6, 0.3, 0.3))
    for record in records:
        record["notes"] = ["slow"] if record["arm"] == "a" else [f"odd {record['seed']}"]
    assert methods.notes(records) == ["a, seeds 0, 1: slow", "b, seed 0: odd 0", "b, seed 1: odd 1"]


def test_what_chance_alone_would_do() -> None:
    records = made(a=level(0.9, 0.5), b=level(0.8, 0.5), c=level(0.7, 0.5))
    assert methods.by_chance(records) == pytest.approx(2 * 2 * stats.t.sf(2, df=4))
    assert methods.by_chance(made(a=level(0.9, 0.5), b=level(0.8, 0.5))) is None
    assert methods.by_chance(made(a=flat(0.9, 0.5), b=flat(0.8, 0.5), c=flat(0.7, 0.5))) is None


def test_options_say_where_they_are_from(nodes: StoredRun, links: StoredRun, tmp_path: Path) -> None:
    found = methods.about(tuned(nodes, tmp_path / "run"), "gcn")
    origins = {option["name"]: (option["value"], option["from"]) for option in found["options"]}
    assert found["source"] == "paper"
    assert origins["epochs"] == ("5", "given")
    assert origins["dropout"] == ("0.5", "paper")
    assert origins["patience"] == ("0", "default")
    assert origins["features"] == ("none", "default")
    assert origins["lr"] == ("0.02", "tuned")
    pairs = {option["name"]: option["from"] for option in methods.about(links, "gcn")["options"]}
    assert (pairs["hidden"], pairs["lr"], pairs["epochs"]) == ("for pairs", "paper", "given")
    nothing = methods.about(links, "cn")
    assert (nothing["source"], nothing["options"], nothing["tried"]) == ("", [], [])


def test_a_method_of_another_version_has_its_options_without_a_source(
    nodes: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "METHODS", {})
    found = methods.about(nodes, "gcn")
    assert {option["from"] for option in found["options"]} == {""}
    assert {option["name"] for option in found["options"]} >= {"lr", "hidden"}


def test_the_trial_that_won_is_marked() -> None:
    tried = [
        {"options": {}, "score": 0.5, "seconds": 1.0},
        {"options": {"lr": 0.02, "parts": [1, 2]}, "score": 0.75, "seconds": 2.0},
        {"options": {"lr": 9.0}, "score": -1.0, "seconds": 1.0, "error": "It diverged."},
        {"options": {"lr": 0.02, "parts": [1, 2]}, "score": 0.75, "seconds": 0.0},
    ]
    start = {"lr": 0.01, "parts": [1]}
    rows = methods.trials(tried, start, {"lr": 0.02, "parts": [1, 2]})
    assert [row["best"] for row in rows] == [False, True, False, False]
    assert [row["again"] for row in rows] == [False, False, False, True]
    assert [row["score"] for row in rows] == [0.5, 0.75, None, 0.75]
    assert [row["options"] for row in rows] == ["", "lr 0.02, parts [1, 2]", "lr 9.0", "lr 0.02, parts [1, 2]"]
    assert [row["best"] for row in methods.trials(tried, start, start)] == [True, False, False, False]


def check_order(page: Any) -> None:
    """Headings go down one level at a time, ids are used once."""
    levels = [int(tag[1]) for tag, _ in page.tags if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_page_tells_all_of_it(nodes: StoredRun, read: Read) -> None:
    page = read(write_report(nodes))
    check_order(page)
    assert "2 methods on small" in page.text
    assert methods.verdict(nodes.records) in page.text
    assert "150 nodes" in page.text
    assert "split random, seeds 0, 1, epochs chosen on validation. Settings not tuned." in page.text
    first, second = methods.rows(nodes.records)
    for part in ("validation", "test"):
        assert f"{first['method']} best on validation {' '.join(first[part].values())}" in page.text
        assert f"{second['method']} {' '.join(second[part].values())}" in page.text
    apart = second["difference"]
    assert f"{second['method']} {apart['validation']} {apart['test']} 2 {apart['reading']}" in page.text
    for record in nodes.records:
        both = " ".join(f"{100 * record['metrics'][part]['acc']:.2f}" for part in ("val", "test"))
        epoch = record["selected_epoch"]["encoders"][0]
        assert f"{record['seed']} {record['arm']} {both} {epoch} {record['seconds']['encoders']:.2f}" in page.text
    assert "gcn : settings of paper" in page.text
    assert "mlp : settings of ours" in page.text
    assert '"tune": 0' in page.text
    assert "torch" in page.text
    assert "test-peek" not in page.text
    assert "Settings tried" not in page.text


def test_the_sections_come_in_order(nodes: StoredRun, read: Read) -> None:
    page = read(write_report(nodes))
    titles = (
        "Every method",
        "Against the best on validation",
        "Options and tuning",
        "Time and memory",
        "Each seed and method",
        "Configuration and versions",
    )
    places = [page.text.index(title) for title in titles]
    assert places == sorted(places)


def test_tuning_is_told(nodes: StoredRun, tmp_path: Path, read: Read) -> None:
    text = read(write_report(tuned(nodes, tmp_path / "run"))).text
    assert "Settings tuned: 3 tried of each method." in text
    assert "gcn : settings of paper, 4 tried on split 0" in text
    assert "1 50.00 1.25 its settings" in text
    assert "2 none 0.50 lr 9.0 failed: It diverged: lower its lr." in text
    assert "3 75.00 2.00 best lr 0.02" in text
    assert "4 75.00 0.00 lr 0.02 (tried before)" in text
    assert " 3.75 " in text.split("Time and memory")[1], "seconds of all trials"


def test_links_have_their_metrics_and_hard_negatives(links: StoredRun, read: Read) -> None:
    page = read(write_report(links))
    check_order(page)
    assert methods.verdict(links.records) in page.text
    assert "one split tells nothing" in page.text
    assert "Against hard negatives" in page.text
    assert "Messages pass over training edges only." in page.text
    assert "It has no options." in page.text
    for row in methods.rows(links.records):
        assert next(iter(row["test"])) == "AUC", "what validation selects by is first"
        for part in ("validation", "test", "hard"):
            assert " ".join(row[part].values()) in page.text


def test_a_method_alone_is_compared_with_nobody(tmp_path: Path, small_graph: Graph, quick: Quick, read: Read) -> None:
    names = Names(tuple(f"n{i}" for i in range(small_graph.n_nodes)), notes=("<u>note</u>",))
    plan = quick(methods={"mlp": {"epochs": 3}}, selection="test-peek").model_copy(update={"dataset": "<b>&amp;"})
    page = read(write_report(StoredRun(run(plan, replace(small_graph, names=names), [0], tmp_path).path)))
    check_order(page)
    assert "1 method on <b>&amp;" in page.text
    assert "there is no other method to compare it with" in page.text
    assert "Against the best" not in page.text
    assert "Selected on the test part (test-peek)." in page.text
    assert "What was noticed while the graph was read. <u>note</u>" in page.text
    assert not {"b", "u"} & {tag for tag, _ in page.tags}


@pytest.mark.parametrize("part", ["val", "test"])
def test_a_page_without_figures_of_a_part(
    nodes: StoredRun, read: Read, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """As Hits@50 has none where a part has few pairs."""
    lost = {"n": 0, "acc": None, "balanced_acc": None, "f1": None, "auroc": None}
    records = [{**record, "metrics": {**record["metrics"], part: lost}} for record in nodes.records]
    monkeypatch.setattr(nodes, "records", records)
    page = read(write_report(nodes))
    assert methods.verdict(records) in page.text
    assert "gcn none none none" in page.text.replace(" best on validation", "")
    assert ("Against the best on validation" in page.text) == (part == "test")
    assert ("nothing to compare" in page.text) == (part == "test")


def test_a_paired_run_with_a_method_keeps_its_report(
    tmp_path: Path, small_graph: Graph, quick: Quick, read: Read
) -> None:
    plan = quick(methods={"bes": {}, "gcn": {"epochs": 3}})
    page = read(write_report(StoredRun(run(plan, small_graph, [0], tmp_path).path)))
    assert "Boundary embedding shaping on small" in page.text
    assert "Every arm on the test part" in page.text
    assert "Every method" not in page.text
