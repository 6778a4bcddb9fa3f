"""Suites of one's own: what a file may say, and one sentence for what it may not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bes.bench.model import ACCURACY, AUC, F1, Ask, Sheet, Suite
from bes.bench.suites import chosen_suites
from bes.bench.suites.own import METRICS, read_suite
from bes.bench.units import units_of
from bes.errors import InputError

Write = Callable[..., Path]

SMALL: dict[str, Any] = {"datasets": ["cora"], "methods": {"GCN": "gcn", "without": "control", "BES": "bes"}}

unhurried = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(splits=3)`: a small suite as `own.json`, changed as given; None takes a key out."""

    def write(name: str = "own.json", **given: Any) -> Path:
        content = {key: value for key, value in {**SMALL, **given}.items() if value is not None}
        (tmp_path / name).write_text(json.dumps(content))
        return tmp_path / name

    return write


def asks(suite: Suite) -> dict[tuple[str, str], Ask]:
    found = {(cell.row, cell.column): cell.ask for cell in suite.sheets[0].cells}
    return {place: ask for place, ask in found.items() if ask is not None}


def only_sheet(suite: Suite) -> Sheet:
    assert len(suite.sheets) == 1
    assert not suite.pictures
    return suite.sheets[0]


def refusal(path: Path) -> str:
    """The one sentence that a file is refused with."""
    with pytest.raises(InputError) as error:
        read_suite(path)
    said = str(error.value)
    assert "\n" not in said
    assert said.rstrip()[-1] in ".?"
    return said


def test_every_method_on_every_data_set(write: Write) -> None:
    suite = read_suite(write(datasets=["cora", "some/where/Own graph.npz"], splits=3))
    sheet = only_sheet(suite)
    assert (suite.name, suite.title, sheet.name) == ("own", "own", "own")
    assert sheet.rows == ["GCN", "without", "BES"]
    assert sheet.columns == ["cora", "Own graph"]
    assert sheet.protocol.honest
    found = asks(suite)
    assert all(ask.seeds == (0, 1, 2) and ask.metric == ACCURACY for ask in found.values())
    assert found["BES", "Own graph"].config.dataset == "some/where/Own graph.npz"
    assert [found[row, "cora"].arm for row in sheet.rows] == ["gcn", "control", "bes"]
    assert len(units_of([suite])) == 2 * 2 * 3, "control and bes are one run"


def test_a_rival_is_trained_as_its_own_encoder(write: Write) -> None:
    found = asks(read_suite(write()))
    assert found["GCN", "cora"].config.encoders.names == ("gcn",)
    assert set(found["BES", "cora"].config.encoders.names) == {"cheb", "gcn"}
    assert found["BES", "cora"].config == found["without", "cora"].config


def test_settings_of_all_and_of_one(write: Write) -> None:
    one_layer = {"arm": "bes", "settings": {"shaper": {"n_layers": 1}, "decoder": {"hidden": 8}}}
    suite = read_suite(
        write(
            methods={"BES": "bes", "one layer": one_layer, "SAGE": "sage"},
            settings={"shaper": {"tau": 3.0}, "decoder": {"epochs": 7}, "encoders": {"lr": 0.5}, "split": "low:3"},
        )
    )
    found = asks(suite)
    plain, changed, rival = (found[row, "cora"].config for row in ("BES", "one layer", "SAGE"))
    assert (plain.shaper.tau, plain.shaper.n_layers, plain.decoder.epochs, plain.split) == (3.0, 2, 7, "low:3")
    assert (changed.shaper.tau, changed.shaper.n_layers, changed.decoder.hidden) == (3.0, 1, 8)
    assert changed.decoder.epochs == 7
    assert (rival.encoders.names, rival.encoders.lr) == (("sage",), 0.5)
    assert plain.decoder.hidden == 64, "the settings of one method leave the others alone"


def test_title_and_reference(write: Write) -> None:
    assert only_sheet(read_suite(write())).reference == "BES"
    suite = read_suite(write(title="My [graphs]", reference="GCN"))
    assert (suite.title, only_sheet(suite).title, only_sheet(suite).reference) == ("My [graphs]", "My [graphs]", "GCN")
    said = refusal(write(reference="Mine"))
    assert "'Mine'" in said
    assert "'GCN'" in said


def test_metrics(write: Write) -> None:
    sheet = only_sheet(read_suite(write(metrics=["acc", "f1", "auroc"])))
    assert sheet.columns == ["cora accuracy", "cora F1", "cora AUC"]
    assert [cell.ask.metric for cell in sheet.cells[:3] if cell.ask] == [ACCURACY, F1, AUC]
    assert only_sheet(read_suite(write(metrics=["f1"]))).columns == ["cora"]
    assert METRICS["hits@50"].path == "metrics.test.hits@50"
    assert "metrics" in refusal(write(metrics=["accuracy"]))


def test_links_and_heuristics(write: Write) -> None:
    methods = {"common neighbours": "cn", "GCN": "gcn", "BES": "bes"}
    suite = read_suite(write(task="link", methods=methods, metrics=["auroc", "hits@50"]))
    said = refusal(write(task="link", methods=methods, metrics=["balanced_acc"]))
    assert "balanced_acc, which is for nodes only" in said
    found = asks(suite)
    assert {ask.config.task for ask in found.values()} == {"link"}
    assert found["common neighbours", "cora AUC"].arms == ("cn",)
    assert found["BES", "cora Hits@50"].metric == METRICS["hits@50"]
    assert {unit.arms for unit in units_of([suite])} == {("cn",), ("gcn",), ("control", "bes")}


def test_an_arm_that_is_not_known(write: Write) -> None:
    assert refusal(write(methods={"Mine": "gatv3"})) == "The arm 'gatv3' is not known: did you mean gatv2 or gat?"
    assert "The arm 'cn' is not known" in refusal(write(methods={"of links alone": "cn"}))


@pytest.mark.parametrize("where", ["all", "one"])
def test_selection_on_test_is_refused(write: Write, where: str) -> None:
    peek = {"selection": "test-peek"}
    given = {"settings": peek} if where == "all" else {"methods": {"BES": {"arm": "bes", "settings": peek}}}
    assert "which the suite itself decides" in refusal(write(**given))


def test_messages_over_test_edges_are_not_called_honest(write: Write) -> None:
    path = write(task="link", settings={"links": {"message": "all"}})
    try:
        honest = only_sheet(read_suite(path)).protocol.honest
    except InputError:
        honest = False
    assert not honest


@pytest.mark.parametrize(
    ("given", "word"),
    [
        *(({"datasets": wrong}, "datasets") for wrong in (None, [], "cora")),
        *(({"methods": wrong}, "methods") for wrong in (None, {}, ["bes"], {"BES": 5})),
        ({"methods": {"BES": {"settings": {}}}}, "methods"),
        ({"methods": {"BES": {"arm": "bes", "setting": {}}}}, "setting"),
        *(({"splits": wrong}, "splits") for wrong in (0, 1.5)),
        *(({"metrics": wrong}, "metrics") for wrong in ([], ["hits@50"])),  # which nodes do not have
        ({"task": "edge"}, "task"),
        ({"metric": ["acc"]}, "metrics"),
        ({"settings": {"shaper": {"tua": 1}}}, "tau"),
        ({"settings": {"encoders": 5}}, "encoders"),
        ({"settings": {"encoders": {"epochs": "many"}}}, "epochs"),
        ({"settings": {"preset": "papper"}}, "paper"),
    ],
)
def test_what_is_wrong_is_named(write: Write, given: dict[str, Any], word: str) -> None:
    assert word in refusal(write(**given))


def test_yaml_is_json_with_fewer_signs(tmp_path: Path, write: Write) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "own.yaml"
    path.write_bytes(b"\x89PNG\xff")
    assert "cannot be read" in refusal(path)
    path.write_text("datasets: [cora]\nmethods:\n  GCN: gcn\n  without: control\n  BES: {arm: bes}\n")
    assert read_suite(path) == read_suite(write("own.json"))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["title", "task", "datasets", "methods", "metrics", "settings", "reference"]) | st.text(
    max_size=8
)
sections = st.sampled_from(["encoders", "shaper", "decoder", "links", "split", "preset", "rivals", "selection", "task"])


@unhurried
@given(changed=st.dictionaries(keys, anything, max_size=3))
def test_any_values_make_a_suite_or_one_sentence(write: Write, changed: dict[str, Any]) -> None:
    path = write(**changed)
    try:
        assert asks(read_suite(path))
    except InputError:
        assert refusal(path)


@unhurried
@given(changed=st.dictionaries(sections, anything, max_size=3), arm=st.sampled_from(["bes", "gcn"]))
def test_any_settings_make_a_suite_or_one_sentence(write: Write, changed: dict[str, Any], arm: str) -> None:
    path = write(methods={"one": {"arm": arm, "settings": changed}, "two": "bes"})
    try:
        assert {ask.config.selection for ask in read_suite(path).asks()} == {"validation"}
    except InputError:
        assert refusal(path)


#: Pieces of YAML whose order makes sense of them or not.
PIECES = ["datasets", "methods", "cora", ": ", "- ", "\n", "  ", "{", "}", "[", "]", '"', "'", "|", "&a ", "*a", "? "]
PIECES += ["!!int ", "!!timestamp ", "2001-99-99", "1e999", ".nan", "~", "#", "\t", "%", "0o9", "<<", "\x00", "é"]


@unhurried
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12), end=st.sampled_from([".yaml", ".yml", ".json"]))
def test_any_text_makes_a_suite_or_one_sentence(tmp_path: Path, pieces: list[str], end: str) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / f"own{end}"
    path.write_text("".join(pieces), encoding="utf-8")
    assert refusal(path), "no such text names data sets and methods"


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (".yaml", "title: 2001-99-99"),  # looks like a date and is none
        (".yaml", "title: !!int abc"),
        (".yaml", "splits: " + "9" * 5000),  # more digits than Python turns into a number
        (".json", '{"splits": ' + "9" * 5000 + "}"),
        (".yaml", "[" * 50_000),
        (".json", "[" * 50_000),
    ],
    ids=["date", "tag", "digits-yaml", "digits-json", "deep-yaml", "deep-json"],
)
def test_text_that_the_reader_itself_trips_over(tmp_path: Path, end: str, text: str) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / f"own{end}"
    path.write_text(text)
    assert str(path) in refusal(path)


def test_data_sets_of_one_name_do_not_share_a_column(write: Write) -> None:
    """`a/x.npz` and `b/x.npz` are two data sets: one column would show the numbers of one of them."""
    path = write(datasets=["a/x.npz", "b/x.npz"])
    try:
        columns = only_sheet(read_suite(path)).columns
    except InputError:
        columns = refusal(path).split()
    assert len(columns) >= 2


@pytest.mark.parametrize("first", ["table1", "other/table1.json"])
def test_a_suite_does_not_take_the_place_of_another_of_its_name(tmp_path: Path, write: Write, first: str) -> None:
    """Both would be written into one folder: the first would not be run, and nothing would say so."""
    (tmp_path / "other").mkdir()
    names = [first if first == "table1" else str(write(first)), str(write("table1.json"))]
    try:
        found = {suite.name for suite in chosen_suites(names)}
    except InputError:
        found = {"one", "sentence"}
    assert len(found) == 2


def test_a_method_by_itself_has_its_options_and_is_tuned(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        """
datasets: [citeseer]
splits: 2
tune: 3
methods:
  H2GCN: h2gcn
  Wide: {arm: gcn, options: {hidden: 256}}
  BES: bes
"""
    )
    asks = {cell.row: cell.ask for cell in read_suite(file).sheets[0].cells}
    h2gcn, wide, bes = (asks[row] for row in ("H2GCN", "Wide", "BES"))
    assert h2gcn is not None
    assert tuple(h2gcn.config.methods) == ("h2gcn",)
    assert h2gcn.config.tune == 3
    assert wide is not None
    assert wide.config.methods["gcn"]["hidden"] == 256
    assert bes is not None
    assert (bes.config.methods, bes.config.tune) == ({}, 0)


def test_what_a_suite_decides_of_methods_is_not_set(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("datasets: [citeseer]\nmethods: {A: bes}\nsettings: {methods: {gcn: {}}}\n")
    with pytest.raises(InputError, match="name 'methods', which the suite itself decides"):
        read_suite(file)
    file.write_text("datasets: [citeseer]\nmethods: {A: {arm: bes, options: {alpha: 1}}}\n")
    with pytest.raises(InputError, match="The arm 'bes' has no options: write them under settings"):
        read_suite(file)
