"""Classes as a table that goes back to where the nodes came from: chosen on validation, ids untouched."""

import copy
import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.custom import from_csv
from bes.graph.extend import extend
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.predict import choose_arm, columns, mean_prob, predict_new, predict_run, write_predictions
from bes.records import RunDirectory
from bes.runs import run
from bes.stored import StoredRun

Quick = Callable[..., RunConfig]
Record = dict[str, Any]

#: Ids that a careless writer spoils.
AWKWARD = [
    "<img src=x onerror=alert(1)>",
    'say "hello"',
    "two\nlines",
    "two\r\nlines",
    "a\rb",
    "a,b",
    "=1+1",
    "+cmd|' /C calc'!A0",
    " spaces ",
    "",
    "007",
    "é 表 🙂",
    "'",
    "\t",
]
CLASSES = ("a,b", 'the "best"', "=2")


def records(control: list[float | None], shaped: list[float | None], **more: Any) -> list[Record]:
    """Records of both arms with these validation accuracies; test says the opposite."""
    return [
        {"task": "node", "seed": seed, "arm": arm, "metrics": {"val": {"acc": acc}, "test": {"acc": 1 - (acc or 0)}}}
        | more
        for arm, found in (("control", control), ("bes", shaped))
        for seed, acc in enumerate(found)
    ]


def table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


@pytest.fixture(scope="module")
def named(small_graph: Graph) -> Graph:
    """The small graph with names of its owner's, and a node in three without a label."""
    ids = (*AWKWARD, *(f"n{i}" for i in range(len(AWKWARD), 150)))
    y = small_graph.y.clone()
    y[::3] = -1
    return replace(small_graph, y=y, names=Names(ids, id_column="who, exactly", classes=CLASSES))


@pytest.fixture(scope="module")
def finished_named(named: Graph, quick: Quick, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of the graph with names, each in its own process."""
    path = tmp_path_factory.mktemp("named") / "run"
    run(quick(), named, [0, 1], path, jobs=2)
    return path


@pytest.mark.parametrize(
    ("made", "arm", "sentence"),
    [
        (
            records([0.7, 0.8], [0.75, 0.85]),
            "bes",
            "Arm bes was chosen on validation, where mean accuracy over 2 seeds is 75.00% for control and 80.00% for "
            "bes.",
        ),
        (
            records([0.75, 0.85], [0.7, 0.8]),
            "control",
            "Arm control was chosen on validation, where mean accuracy over 2 seeds is 80.00% for control and 75.00% "
            "for bes.",
        ),
        (
            records([0.1 + 0.2], [0.3]),
            "control",
            "Arm control was chosen on validation, where mean accuracy over 1 seed is 30.00% for control and 30.00% "
            "for bes (a tie goes to the simpler one).",
        ),
        (
            records([0.3], [0.1 + 0.2], selection="test-peek"),
            "control",
            "Arm control was chosen on validation, where mean accuracy over 1 seed is 30.00% for control and 30.00% "
            "for bes (a tie goes to the simpler one), with epochs selected on test (test-peek).",
        ),
    ],
)
def test_the_better_arm_on_validation_is_chosen(made: list[Record], arm: str, sentence: str) -> None:
    assert choose_arm(made) == (arm, sentence)
    assert choose_arm(made[::-1]) == (arm, sentence), "in any order"


def test_only_seeds_with_both_arms_count() -> None:
    """Control is better in the one pair, worse over all."""
    assert choose_arm(records([0.6, 0.1, None], [0.5, None, 0.9]))[0] == "control"
    for made in (records([0.7], []), records([None], [0.9]), []):
        with pytest.raises(InputError, match="No seed has validation figures of both"):
            choose_arm(made)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_test_metrics_do_not_choose(accuracies: list[float]) -> None:
    made = records([0.7, 0.8], [0.75, 0.85])
    other = copy.deepcopy(made)
    for record, acc in zip(other, accuracies, strict=True):
        record["metrics"]["test"] = {"acc": acc}
    assert choose_arm(other) == choose_arm(made)
    for record in other:
        del record["metrics"]["test"]
    assert choose_arm(other) == choose_arm(made)


def test_probabilities_are_means_over_the_seeds(finished: RunDirectory) -> None:
    stored = StoredRun(finished.path)
    for arm in ("control", "bes"):
        prob = [stored.predictions(seed, arm)["prob"].astype(float) for seed in (0, 1)]
        np.testing.assert_allclose(mean_prob(stored, arm), (prob[0] + prob[1]) / 2, rtol=1e-12)
    with pytest.raises(InputError, match="has no arm 'bess': use control or bes"):
        mean_prob(stored, "bess")


def test_every_node_goes_back_to_its_owner(finished_named: Path, named: Graph) -> None:
    stored = StoredRun(finished_named)
    path, sentence = predict_run(stored)
    arm, expected = choose_arm(stored.records)
    assert sentence == expected
    assert path == finished_named / "predictions.csv"
    header, *rows = table(path)
    assert header == ["who, exactly", "prediction", "prob_a,b", 'prob_the "best"', "prob_=2"]
    assert named.names is not None
    assert [row[0] for row in rows] == list(named.names.ids), "exactly, in the input's order, labelled or not"
    prob = np.array([[float(cell) for cell in row[2:]] for row in rows])
    np.testing.assert_allclose(prob, mean_prob(stored, arm), rtol=1e-5)
    np.testing.assert_allclose(prob.sum(1), 1, atol=1e-5)
    assert [row[1] for row in rows] == [CLASSES[best] for best in prob.argmax(1)]
    before = path.read_bytes()
    predict_run(stored)
    assert path.read_bytes() == before


def test_models_from_other_processes_are_those_that_predicted(finished_named: Path) -> None:
    stored = StoredRun(finished_named)
    assert stored.graph.class_names == CLASSES
    for seed in (0, 1):
        for arm in ("control", "bes"):
            found = stored.model(seed).predict_proba(stored.graph, arm).numpy()
            recorded = stored.predictions(seed, arm)["prob"]
            np.testing.assert_allclose(found, recorded, atol=1e-5)  # other threads, other last bits


def test_without_names_nodes_are_numbered(finished: RunDirectory, tmp_path: Path) -> None:
    shutil.copytree(finished.path, tmp_path / "run")
    path, _ = predict_run(StoredRun(tmp_path / "run"))
    header, *rows = table(path)
    assert header == ["node", "prediction", "prob_0", "prob_1", "prob_2"]
    assert [row[0] for row in rows] == [str(i) for i in range(150)]


def test_predictions_of_another_graph_are_refused(finished: RunDirectory, tmp_path: Path) -> None:
    shutil.copytree(finished.path, tmp_path / "run")
    for arrays in ({"prob": np.ones((149, 3))}, {"prob": np.ones((150, 3), dtype=int)}, {"node": np.arange(150)}):
        for arm in ("control", "bes"):
            np.savez(tmp_path / "run" / "predictions" / f"0-{arm}.npz", **arrays)
        with pytest.raises(InputError, match=r"predictions/0-.*\.npz does not fit the run's graph: run it again"):
            predict_run(StoredRun(tmp_path / "run"))
    assert not (tmp_path / "run" / "predictions.csv").exists()


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(TEXT, max_size=8),
    id_column=TEXT.filter(lambda name: name != "prediction" and not name.startswith("prob_")),
    classes=st.lists(TEXT, min_size=1, max_size=4, unique=True),
)
def test_any_text_comes_back_exactly(ids: list[str], id_column: str, classes: list[str], tmp_path: Path) -> None:
    prob = np.random.default_rng(0).dirichlet(np.ones(len(classes)), len(ids))
    write_predictions(tmp_path / "p.csv", ids, id_column, classes, prob)
    header, *rows = table(tmp_path / "p.csv")
    assert header == [id_column, "prediction", *(f"prob_{name}" for name in classes)]
    assert [row[0] for row in rows] == ids
    assert [row[1] for row in rows] == [classes[best] for best in prob.argmax(1)]
    for row, expected in zip(rows, prob, strict=True):
        np.testing.assert_allclose([float(cell) for cell in row[2:]], expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["prediction", "prob_yes", "prob_no"])
def test_an_id_column_that_clashes_is_to_be_renamed(tmp_path: Path, name: str) -> None:
    for write in (
        lambda: write_predictions(tmp_path / "p.csv", ["a"], name, ["yes", "no"], np.array([[0.5, 0.5]])),
        lambda: columns(name, ["yes", "no"]),
    ):
        with pytest.raises(InputError, match=f"id column is called '{name}'.*: rename it"):
            write()
    assert not list(tmp_path.iterdir())
    assert columns("prob_maybe", ["yes", "no"])[0] == "prob_maybe"


def test_the_table_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path, prob = tmp_path / "new" / "p.csv", np.array([[0.25, 0.75]])
    write_predictions(path, ["a"], "id", ["x", "y"], prob)
    assert path.read_bytes() == b"id,prediction,prob_x,prob_y\r\na,y,0.25,0.75\r\n"
    with pytest.raises(InputError, match="have shape"):
        write_predictions(path, ["a", "b"], "id", ["x", "y"], prob)
    with pytest.raises(UnicodeEncodeError):
        write_predictions(path, ["\ud800"], "id", ["x", "y"], prob)
    assert path.read_bytes() == b"id,prediction,prob_x,prob_y\r\na,y,0.25,0.75\r\n"
    assert [found.name for found in path.parent.iterdir()] == ["p.csv"]
    with pytest.raises(InputError, match=r"cannot be written \(.*\): choose another place"):
        write_predictions(path / "below.csv", ["a"], "id", ["x", "y"], prob)


class People(NamedTuple):
    """A run on two CSV files."""

    run: StoredRun
    nodes: list[list[str]]
    edges: list[list[str]]


def write(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


HEADER = ["name", *(f"f{i}" for i in range(8))]
ENDS = ["from", "to"]


@pytest.fixture(scope="module")
def people(small_graph: Graph, quick: Quick, tmp_path_factory: pytest.TempPathFactory) -> People:
    """The small graph as two CSV files, run with two seeds."""
    folder = tmp_path_factory.mktemp("people")
    assert isinstance(small_graph.x, Tensor)
    ids = [f"n{i}" for i in range(150)]
    nodes = [[name, *(f"{value:.6f}" for value in row)] for name, row in zip(ids, small_graph.x.tolist(), strict=True)]
    edges = [[ids[a], ids[b]] for a, b in small_graph.edge_index.T.tolist() if a < b]
    teams = [[*row, "abc"[c]] for row, c in zip(nodes, small_graph.y.tolist(), strict=True)]
    files = write(folder / "people.csv", [[*HEADER, "team"], *teams]), write(folder / "knows.csv", [ENDS, *edges])
    run(quick(), from_csv(*files, label="team"), [0, 1], folder / "run")
    return People(StoredRun(folder / "run"), nodes, edges)


def twins(people: People, originals: list[int], folder: Path) -> tuple[Path, Path]:
    """New nodes with the features and the edges of known ones."""
    twin = {people.nodes[i][0]: f"twin of {people.nodes[i][0]}" for i in originals}
    nodes = [[twin[row[0]], *row[1:]] for row in people.nodes if row[0] in twin]
    edges = [[twin[a], b] for a, b in people.edges if a in twin] + [[a, twin[b]] for a, b in people.edges if b in twin]
    return write(folder / "nodes.csv", [HEADER, *nodes]), write(folder / "edges.csv", [ENDS, *edges])


@pytest.mark.parametrize("arm", ["control", "bes"])
def test_a_new_node_like_a_known_one_is_predicted_like_it(people: People, arm: str, tmp_path: Path) -> None:
    """To the last digits like its twin in the grown graph; much like it was, as its neighbours have one more."""
    known, moved = mean_prob(people.run, arm), []
    for original in range(0, 150, 15):
        files = twins(people, [original], tmp_path)
        assert predict_new(people.run, *files, tmp_path / "p.csv", arm=arm) == (1, [])
        header, row = table(tmp_path / "p.csv")
        assert header == ["name", "prediction", "prob_a", "prob_b", "prob_c"]
        assert row[0] == f"twin of n{original}"
        found = np.array(row[2:], dtype=float)
        grown, _ = extend(people.run.graph, *files)
        both = [people.run.model(seed).predict_proba(grown, arm)[original] for seed in (0, 1)]
        np.testing.assert_allclose((both[0] + both[1]) / 2, found, atol=1e-5)
        moved.append(np.abs(found - known[original]).mean())
    apart = np.abs(known - known[::-1]).mean()
    assert np.mean(moved) < 0.5 * apart


def test_the_order_of_new_rows_does_not_matter(people: People, tmp_path: Path) -> None:
    nodes, edges = twins(people, [3, 4, 5, 80], tmp_path)
    count, notes = predict_new(people.run, nodes, edges, tmp_path / "one.csv")
    assert (count, notes) == (4, [choose_arm(people.run.records)[1]])
    for path in (nodes, edges):
        header, *rows = table(path)
        write(path, [header, *reversed(rows)])
    predict_new(people.run, nodes, edges, tmp_path / "two.csv")
    one, two = table(tmp_path / "one.csv")[1:], table(tmp_path / "two.csv")[1:]
    assert [row[0] for row in one] == [row[0] for row in two[::-1]]
    assert [row[0] for row in one] == [row[0] for row in table(nodes)[:0:-1]], "in the order of the file"
    for a, b in zip(one, two[::-1], strict=True):
        assert a[1] == b[1]
        np.testing.assert_allclose([float(cell) for cell in a[2:]], [float(cell) for cell in b[2:]], atol=1e-5)


def test_new_nodes_need_no_edges_and_are_not_written_to_the_run(people: People, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in people.run.path.rglob("*") if path.is_file()}
    nodes, _ = twins(people, [0, 1], tmp_path)
    rows = table(nodes)
    strange = write(nodes, [[*row, extra] for row, extra in zip(rows, ["colour", "red", "blue"], strict=True)])
    count, notes = predict_new(people.run, strange, None, tmp_path / "p.csv", arm="bes")
    assert count == 2
    assert any("'colour'" in note and "ignored" in note for note in notes)
    prob = np.array([[float(cell) for cell in row[2:]] for row in table(tmp_path / "p.csv")[1:]])
    np.testing.assert_allclose(prob.sum(1), 1, atol=1e-5)
    assert {path: path.read_bytes() for path in people.run.path.rglob("*") if path.is_file()} == before


def test_the_arms_give_different_predictions(people: People, tmp_path: Path) -> None:
    files = twins(people, list(range(0, 150, 10)), tmp_path)
    for arm in ("control", "bes"):
        predict_new(people.run, *files, tmp_path / f"{arm}.csv", arm=arm)
    assert table(tmp_path / "control.csv") != table(tmp_path / "bes.csv")


def test_what_cannot_predict_new_nodes_is_refused(people: People, finished: RunDirectory, tmp_path: Path) -> None:
    files, out = twins(people, [0], tmp_path), tmp_path / "p.csv"
    with pytest.raises(InputError, match="has no arm 'bess': use control or bes"):
        predict_new(people.run, *files, out, arm="bess")
    with pytest.raises(InputError, match="New nodes cannot be added to graph 'small'"):
        predict_new(StoredRun(finished.path), *files, out)
    shutil.copytree(people.run.path, tmp_path / "older", ignore=shutil.ignore_patterns("models"))
    with pytest.raises(
        InputError, match=r"was left without the model of seed 0 \(models/0\.safetensors\): run it again"
    ):
        predict_new(StoredRun(tmp_path / "older"), *files, out)
    with pytest.raises(InputError, match="device 'nonsense' cannot be used"):
        predict_new(people.run, *files, out, device="nonsense")
    assert not out.exists()


@pytest.mark.parametrize("task", ["link", "edge"])
def test_runs_of_pairs_predict_no_nodes(finished: RunDirectory, tmp_path: Path, task: str) -> None:
    shutil.copytree(finished.path, tmp_path / "run")
    content = json.loads((tmp_path / "run" / "config.json").read_text())
    content["config"]["task"] = task
    (tmp_path / "run" / "config.json").write_text(json.dumps(content))
    stored = StoredRun(tmp_path / "run")
    calls: list[Callable[[], object]] = [
        lambda: predict_run(stored),
        lambda: mean_prob(stored, "bes"),
        lambda: predict_new(stored, tmp_path / "nodes.csv", None, tmp_path / "p.csv"),
    ]
    for call in calls:
        with pytest.raises(InputError, match=f"is of task {task}, and gives no classes to nodes: use one of task node"):
            call()
    assert not (tmp_path / "run" / "predictions.csv").exists()


def test_runs_of_methods_alone_keep_no_model(finished: RunDirectory, tmp_path: Path) -> None:
    shutil.copytree(finished.path, tmp_path / "run")
    content = json.loads((tmp_path / "run" / "config.json").read_text())
    content["config"]["methods"] = {"gcn": {}}
    (tmp_path / "run" / "config.json").write_text(json.dumps(content))
    stored = StoredRun(tmp_path / "run")
    calls: list[Callable[[], object]] = [
        lambda: predict_run(stored),
        lambda: predict_new(stored, tmp_path / "nodes.csv", None, tmp_path / "p.csv", arm="bes"),
    ]
    for call in calls:
        with pytest.raises(InputError, match="is of methods alone and kept no model to predict with: run it with bes"):
            call()
    assert not (tmp_path / "run" / "predictions.csv").exists()


def test_a_tsv_is_separated_by_tabs(tmp_path: Path) -> None:
    write_predictions(tmp_path / "p.tsv", ["a", "b"], "who", ["x", "y"], np.array([[0.25, 0.75], [1.0, 0.0]]))
    with (tmp_path / "p.tsv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows == [["who", "prediction", "prob_x", "prob_y"], ["a", "y", "0.25", "0.75"], ["b", "x", "1", "0"]]


def test_nothing_that_is_read_is_written_over(people: People, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("x\n")
    for out in (new, tmp_path / "." / "new.csv", people.run.path / "predictions.csv"):
        before = out.read_bytes() if out.exists() else None
        with pytest.raises(InputError, match=r"would replace .*: choose another --out"):
            predict_new(people.run, new, None, out)
        assert (out.read_bytes() if out.exists() else None) == before
