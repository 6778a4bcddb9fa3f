"""Logs: what a training says goes where it should, and nothing is imported that is not asked for."""

import csv
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bes.callbacks import CSVLog, Log, MLflowLog, TensorBoardLog, check_log, make_log
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.graph.links import split_links
from bes.graph.splits import split_nodes
from bes.models.decoders import Decoder
from bes.models.encoders import EncoderEnsemble
from bes.models.pair_encoders import PairEncoders
from bes.models.pairs import PairDecoder


class Kept(Log):
    """The contract at its barest."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, int, dict[str, float]]] = []
        self.ends: list[bool] = []

    def write(self, stage, step, values):
        self.rows.append((stage, step, values))

    def end(self, failed):
        self.ends.append(failed)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def shaped():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    return rng.normal(size=(3, 6))[y] * 0.9 + rng.normal(size=(90, 6)), y


def shaper(**options):
    return BoundaryShaper(**{"n_iter": 4, "delta": 10.0, "denominator": "negatives_only", **options})


def test_the_shaper_tells_each_iteration_counted_over_all_layers(shaped):
    seen = []
    fitted = shaper(batch_size=8).fit(*shaped, callbacks=[lambda *told: seen.append(told)])
    assert len(fitted.history_) == 8
    assert [step for step, _, _ in seen] == list(range(8))
    assert all(model is fitted for _, model, _ in seen)
    assert [row for _, _, row in seen] == fitted.history_
    plain = shaper(batch_size=8).fit(*shaped)
    assert plain.history_ == fitted.history_, "being watched changes nothing"
    assert np.array_equal(
        shaper().fit_transform(*shaped, callbacks=[Kept()]),
        shaper().fit_transform(*shaped),
    )


def test_every_fit_takes_a_log(small_graph, shaped):
    log = Kept()
    split, links = split_nodes(small_graph), split_links(small_graph)
    phi = EncoderEnsemble(["cheb", "gcn"], 8, epochs=3).fit(small_graph, split, callbacks=[log.stage("encoders")])
    Decoder(epochs=3).fit(small_graph, phi.transform(small_graph), split, callbacks=[log.stage("decoder")])
    pairs = PairEncoders(["gcn"], 8, epochs=3).fit(links, callbacks=[log.stage("pair encoders")])
    z = pairs.transform(links.graph)
    PairDecoder(epochs=3).fit(z, links, callbacks=[log.stage("pair decoder")])
    shaper().fit(*shaped, callbacks=[log.stage("shaping")])
    told = Counter(stage for stage, _, _ in log.rows)
    shaping = told.pop("shaping")
    assert told == dict.fromkeys(["encoders", "encoders 2", "decoder", "pair encoders", "pair decoder"], 3)
    assert shaping > 1
    losses = [values["loss"] for stage, _, values in log.rows if stage == "encoders 2"]
    assert losses == [row["loss"] for row in phi.logs_[1].history]


def test_another_model_is_another_stage():
    log, one, two = Kept(), object(), object()
    for model in (one, one, two):
        log(0, model, {"loss": 1})
        log.stage("fresh each time")(0, model, {"loss": 1})
    named = log.stage("  encoder\n cheb ")
    for model in (one, two, two):
        named(0, model, {"loss": 1})
    stages = [stage for stage, _, _ in log.rows]
    assert stages[:6:2] == ["", "", "2"]
    assert stages[1:6:2] == ["fresh each time"] * 3
    assert stages[6:] == ["encoder cheb", "encoder cheb 2", "encoder cheb 2"]


def test_only_numbers_are_kept():
    log = Kept()
    row = {
        "int": 3,
        "float": 0.5,
        "bool": True,
        "numpy": np.float32(0.25),
        "numpy bool": np.bool_(False),
        "tensor": torch.tensor(2.0, requires_grad=True),
        "nan": float("nan"),
        "text": "0.5",
        "none": None,
        "list": [1.0],
        "array": np.ones(1),
        "complex": 1j,
    }
    log(0, None, row)
    ((_, _, values),) = log.rows
    assert values.pop("nan") != 0
    assert values == {"int": 3, "float": 0.5, "bool": 1, "numpy": 0.25, "numpy bool": 0, "tensor": 2}
    assert all(type(value) is float for value in values.values())


def test_a_log_ends_once_and_says_how():
    for error, failed in [(None, False), (KeyError, True)]:
        log = Kept()
        try:
            with log as same:
                assert same is log
                if error:
                    raise error
        except KeyError:
            pass
        log.close()
        assert log.ends == [failed]
        with pytest.raises(InputError, match="closed"):
            log(0, None, {"loss": 1.0})


def test_a_callback_that_raises_ends_the_fit_with_its_own_error(small_graph, shaped):
    class MineError(Exception):
        pass

    def stop(step, _model, _row):
        if step == 1:
            raise MineError

    split = split_nodes(small_graph)
    for fit in (
        lambda: shaper().fit(*shaped, callbacks=[stop]),
        lambda: EncoderEnsemble(["gcn"], 8, epochs=3).fit(small_graph, split, callbacks=[stop]),
        lambda: Decoder(epochs=3).fit(small_graph, small_graph.x, split, callbacks=[stop]),
    ):
        with pytest.raises(MineError):
            fit()


def test_csv_is_long_and_the_same_for_the_same_run(shaped, tmp_path):
    for name in ("a.csv", "deep/b.csv"):
        with CSVLog(tmp_path / name) as log:
            fitted = shaper().fit(*shaped, callbacks=[log.stage("shaping")])
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "deep" / "b.csv").read_bytes()
    rows = read(tmp_path / "a.csv")
    assert list(rows[0]) == ["stage", "step", "name", "value"]
    losses = [float(row["value"]) for row in rows if row["name"] == "loss"]
    assert losses == [row["loss"] for row in fitted.history_], "to the last bit"
    assert {row["stage"] for row in rows} == {"shaping"}
    assert [int(row["step"]) for row in rows if row["name"] == "loss"] == list(range(len(losses)))


def test_csv_is_flushed_as_it_goes_and_continued_later(tmp_path):
    path = tmp_path / "log.csv"
    log = CSVLog(path)
    assert path.read_text() == "stage,step,name,value\n"
    log(0, None, {"loss": 0.5, "score": 1})
    assert path.read_text().splitlines()[1:] == [",0,loss,0.5", ",0,score,1.0"]
    log.close()
    with CSVLog(str(path)) as log:
        log.stage("b, c")(1, None, {"loss": 0.1})
    assert path.read_text().splitlines()[3:] == ['"b, c",1,loss,0.1']
    assert path.read_text().count("stage,step") == 1


@given(cut=st.integers(0, 60))
@settings(max_examples=61)
def test_a_csv_cut_short_anywhere_is_whole_again(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "log.csv"
    with CSVLog(path) as log:
        log.stage("one")(0, None, {"loss": 0.5, "score": 1.0})
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    with CSVLog(path) as log:
        log.stage("two")(1, None, {"loss": 0.25})
    rows = read(path)
    assert rows[-1] == {"stage": "two", "step": "1", "name": "loss", "value": "0.25"}
    assert all(None not in row.values() and float(row["value"]) for row in rows)
    assert len(rows) == 1 + max(0, whole[:cut].count(b"\n") - 1)


def test_csv_places_that_are_no_logs_are_named(tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("name,age\nada,36\n")
    with pytest.raises(InputError, match="no log of BES"):
        CSVLog(mine)
    assert mine.read_text() == "name,age\nada,36\n"
    for place in (tmp_path, mine / "log.csv"):
        with pytest.raises(InputError, match="cannot be written"):
            CSVLog(place)


def test_two_processes_may_write_one_csv(tmp_path):
    code = (
        "import sys; from bes.callbacks import CSVLog\n"
        "with CSVLog(sys.argv[1]) as log:\n"
        "    for i in range(200): log.stage(sys.argv[2])(i, None, {'loss': i / 7, 'score': i})"
    )
    path = tmp_path / "log.csv"
    CSVLog(path).close()
    started = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "ab"]
    assert [process.wait(60) for process in started] == [0, 0]
    rows = read(path)
    assert Counter(row["stage"] for row in rows) == {"a": 400, "b": 400}
    for name in "ab":
        mine = [row for row in rows if row["stage"] == name]
        assert [row["name"] for row in mine] == ["loss", "score"] * 200
        assert [float(row["value"]) for row in mine[::2]] == [i / 7 for i in range(200)]


def test_tensorboard_reads_what_was_logged(shaped, tmp_path):
    with TensorBoardLog(tmp_path / "events") as log:
        fitted = shaper().fit(*shaped, callbacks=[log.stage("shaping")])
        log(7, None, {"alone": 0.5})
    found = EventAccumulator(str(tmp_path / "events"))
    found.Reload()
    numbers = {name for name, value in fitted.history_[0].items() if not isinstance(value, str)}
    assert set(found.Tags()["scalars"]) == {f"shaping/{name}" for name in numbers} | {"alone"}
    losses = found.Scalars("shaping/loss")
    assert [event.step for event in losses] == list(range(len(fitted.history_)))
    assert [event.value for event in losses] == pytest.approx([row["loss"] for row in fitted.history_])
    assert [(event.step, event.value) for event in found.Scalars("alone")] == [(7, 0.5)]
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        TensorBoardLog(tmp_path / "file")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own to work in, and no settings of MLflow's."""
    for name in list(os.environ):
        if name.startswith("MLFLOW_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mlflow_runs(folder: Path, monkeypatch, experiment: str = "Default"):
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient(tracking_uri=folder.as_uri())
    place = client.get_experiment_by_name(experiment).experiment_id
    return client, client.search_runs([place])


def test_mlflow_reads_what_was_logged(shaped, here, monkeypatch):
    environment = dict(os.environ)
    with MLflowLog("shapes", here / "store", "mine") as log:
        fitted = shaper().fit(*shaped, callbacks=[log.stage("shaping")])
        log(7, None, {"hits@50": 0.5, "nan": float("nan")})
        for step in range(700):
            log.stage("many")(step, None, {"loss": step})
    assert dict(os.environ) == environment, "settings are left as they were"
    assert [path.name for path in here.iterdir()] == ["store"]
    client, (run,) = mlflow_runs(here / "store", monkeypatch, "shapes")
    assert run.info.run_id == log.run_id
    assert run.info.run_name == "mine"
    assert run.info.status == "FINISHED"
    losses = sorted((metric.step, metric.value) for metric in client.get_metric_history(log.run_id, "shaping/loss"))
    assert losses == list(enumerate(row["loss"] for row in fitted.history_))
    assert run.data.metrics["hits_50"] == 0.5
    assert [metric.value for metric in client.get_metric_history(log.run_id, "many/loss")] == list(range(700))


def test_a_run_that_fails_says_so_in_mlflow(here, monkeypatch):
    def fail():
        with MLflowLog("again", here / "store") as log:
            log(0, None, {"loss": 1.0})
            raise KeyError

    for _ in range(2):  # the experiment is made once and found again
        with pytest.raises(KeyError):
            fail()
    _, runs = mlflow_runs(here / "store", monkeypatch, "again")
    assert [run.info.status for run in runs] == ["FAILED"] * 2
    assert [run.data.metrics["loss"] for run in runs] == [1.0] * 2


def test_a_store_that_mlflow_cannot_use_is_named(here):
    (here / "file").touch()
    for uri in ("nonsense://place", here / "file"):
        with pytest.raises(InputError, match="MLflow cannot begin a run") as caught:
            MLflowLog(tracking_uri=uri)
        assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("here")
def test_logs_by_name(tmp_path, monkeypatch):
    folder = tmp_path / "runs" / "logs" / "0"
    kinds = {"csv": CSVLog, "tensorboard": TensorBoardLog, "mlflow": MLflowLog}
    for kind, expected in kinds.items():
        check_log(kind)
        with make_log(kind, folder) as log:
            assert type(log) is expected
            log.stage("decoder")(0, None, {"loss": 0.5})
    assert sorted(path.name for path in folder.iterdir()) == ["log.csv", "mlruns", "tensorboard"]
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    _, (run,) = mlflow_runs(folder / "mlruns", monkeypatch)
    assert run.info.run_name == "runs/logs/0"
    assert run.data.metrics == {"decoder/loss": 0.5}
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "elsewhere").as_uri())
    make_log("mlflow", tmp_path / "other").close()
    assert not (tmp_path / "other").exists()
    assert mlflow_runs(tmp_path / "elsewhere", monkeypatch)[1]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("tensorbord", r"did you mean tensorboard\?"),
        ("CSV", r"did you mean csv\?"),
        ("wandb", "use csv, tensorboard, mlflow"),
    ],
)
def test_unknown_logs_are_named(tmp_path, kind, words):
    for call in (check_log, lambda given: make_log(given, tmp_path)):
        with pytest.raises(InputError, match=words):
            call(kind)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    for package, log in [("tensorboard", TensorBoardLog), ("mlflow", MLflowLog)]:
        monkeypatch.setitem(sys.modules, package, None)
        for call in (lambda log=log: log(tmp_path), lambda package=package: check_log(package)):
            with pytest.raises(InputError, match=f"pip install {package}"):
                call()


def test_without_a_log_neither_is_imported():
    code = (
        "import sys, numpy as np, bes, bes.callbacks\n"
        "z = np.random.default_rng(0).normal(size=(30, 4))\n"
        "bes.BoundaryShaper(n_iter=2, delta=10.0).fit(z, np.arange(30) % 2)\n"
        "from bes.graph.synthetic import sbm\n"
        "graph = sbm(n_nodes=60, n_classes=3, n_features=8, degree=4.0, noise=0.3, separation=1.5)\n"
        "bes.EncoderEnsemble(['mlp'], 4, epochs=1).fit(graph, bes.split_nodes(graph))\n"
        "print([name for name in ('tensorboard', 'mlflow', 'torch.utils.tensorboard') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
