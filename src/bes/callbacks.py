"""Where the numbers of a training can go: a CSV file, TensorBoard or MLflow, each as a callback."""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any, Self

from bes.errors import InputError, did_you_mean

HEADER = b"stage,step,name,value\n"

#: What `--log` may name, and the package it needs.
KINDS = {"csv": "", "tensorboard": "tensorboard", "mlflow": "mlflow"}


class Log(ABC):
    """A callback of any `fit(..., callbacks=[log])`, and a place where rows of numbers are kept.

    It is called with a step, the model and a row of history, and keeps the row's numbers; other values are
    left out. `log.stage("encoder cheb")` is such a callback as well, and keeps its rows under that name.
    `close`, or the end of a `with` block, ends the log; what a log raises ends the fit.

    A log of another kind has to define `write` and `end`.
    """

    def __init__(self) -> None:
        self._own, self._closed = Stage(self, ""), False

    def __call__(self, step: int, model: object, row: Mapping[str, object]) -> None:
        self._own(step, model, row)

    def stage(self, name: str) -> Stage:
        """A callback that keeps its rows under `name`."""
        return Stage(self, " ".join(name.split()))

    def add(self, stage: str, step: int, row: Mapping[str, object]) -> None:
        """Keep the numbers of `row`."""
        if self._closed:
            raise InputError("The log is closed: make another one, or close it later.")
        self.write(stage, step, _numbers(row))

    def close(self, *, failed: bool = False) -> None:
        """End the log; a second time nothing happens. `failed` says that its run did not come to its end."""
        if not self._closed:
            self._closed = True
            self.end(failed)

    @abstractmethod
    def write(self, stage: str, step: int, values: dict[str, float]) -> None:
        """Keep the values of one step; `stage` is empty where none was named."""

    @abstractmethod
    def end(self, failed: bool) -> None:
        """Let go of what is open; called once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(failed=kind is not None)


class Stage:
    """A callback that writes to `log` under a name.

    Steps begin again with another model, as with the next encoder of an ensemble. So each model after the
    first has a stage of its own: `encoder`, `encoder 2`, `encoder 3`.
    """

    def __init__(self, log: Log, name: str) -> None:
        self._log, self._name = log, name
        self._models, self._last = 0, object()

    def __call__(self, step: int, model: object, row: Mapping[str, object]) -> None:
        if model is not self._last:
            self._models, self._last = self._models + 1, model
        name = self._name if self._models == 1 else f"{self._name} {self._models}".strip()
        self._log.add(name, step, row)


class CSVLog(Log):
    """Rows `stage, step, name, value` at the end of a CSV file, each step flushed before the next begins.

    Runs that are the same write the same file: there is no time in it. An older log is continued.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = self.path.read_bytes() if self.path.exists() else b""
            if not content.startswith(HEADER) and not HEADER.startswith(content):
                raise InputError(f"{path} is no log of BES: choose another place.")
            self._file = self.path.open("ab")
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}): choose a writable place.") from None
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)  # a crash cut the last line short
        self._put(b"" if whole else HEADER)

    def write(self, stage: str, step: int, values: dict[str, float]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([stage, step, name, value] for name, value in values.items())
        self._put(text.getvalue().encode())  # a step at once: two processes do not mix their lines

    def _put(self, lines: bytes) -> None:
        self._file.write(lines)
        self._file.flush()

    def end(self, failed: bool) -> None:  # noqa: ARG002
        self._file.close()


class TensorBoardLog(Log):
    """Scalars `stage/name` in an event file under `directory`."""

    def __init__(self, directory: str | Path) -> None:
        super().__init__()
        _need("tensorboard", "TensorBoardLog")
        writer = import_module("torch.utils.tensorboard").SummaryWriter
        try:
            self._writer = writer(log_dir=str(directory))
        except OSError as error:
            raise InputError(f"{directory} cannot be written ({error.strerror}): choose a writable place.") from None

    def write(self, stage: str, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(_path(stage, name), value, step)

    def end(self, failed: bool) -> None:  # noqa: ARG002
        self._writer.close()


class MLflowLog(Log):
    """Metrics `stage/name` of one new MLflow run; the user's active run and tracking URI stay as they are.

    Args:
        experiment: Name of the experiment, made where it is missing; MLflow's default one without it.
        tracking_uri: Where MLflow keeps its runs, by default where `MLFLOW_TRACKING_URI` says. A `Path` is a folder
            on this machine; for its own commands to read such a folder, newer versions of MLflow want
            `MLFLOW_ALLOW_FILE_STORE=true`.
        run_name: Name of the run; MLflow finds one without it.
    """

    def __init__(
        self, experiment: str | None = None, tracking_uri: str | Path | None = None, run_name: str | None = None
    ) -> None:
        super().__init__()
        _need("mlflow", "MLflowLog")
        mlflow = import_module("mlflow")
        self._metric = mlflow.entities.Metric
        self._waiting: list[Any] = []
        self._sent = 0.0
        uri = tracking_uri.absolute().as_uri() if isinstance(tracking_uri, Path) else tracking_uri
        try:
            with _folders_allowed():
                self._client = mlflow.MlflowClient(tracking_uri=uri)
                place = "0" if experiment is None else self._experiment(experiment)
                self.run_id: str = self._client.create_run(place, run_name=run_name).info.run_id
        except (mlflow.MlflowException, OSError) as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise InputError(f"MLflow cannot begin a run ({reason}): check the tracking URI.") from None

    def _experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self._client.create_experiment(name))

    def write(self, stage: str, step: int, values: dict[str, float]) -> None:
        now = int(time.time() * 1000)
        for name, value in values.items():
            key = re.sub(r"[^\w/.: -]", "_", _path(stage, name))  # all that MLflow allows
            self._waiting.append(self._metric(key, value, now, step))
        if len(self._waiting) > 500 or time.monotonic() - self._sent > 1:  # a server takes long for each message
            self._send()

    def _send(self) -> None:
        for first in range(0, len(self._waiting), 500):
            self._client.log_batch(self.run_id, metrics=self._waiting[first : first + 500])
        self._waiting.clear()
        self._sent = time.monotonic()

    def end(self, failed: bool) -> None:
        self._send()
        self._client.set_terminated(self.run_id, "FAILED" if failed else "FINISHED")


def make_log(kind: str, directory: Path) -> Log:
    """The log that `--log` names, `csv`, `tensorboard` or `mlflow`, in the run's folder `directory`.

    MLflow writes to a folder there as well, unless `MLFLOW_TRACKING_URI` is set.
    """
    check_log(kind)
    if kind == "csv":
        return CSVLog(directory / "log.csv")
    if kind == "tensorboard":
        return TensorBoardLog(directory / "tensorboard")
    local = None if os.environ.get("MLFLOW_TRACKING_URI") else directory / "mlruns"
    return MLflowLog(tracking_uri=local, run_name="/".join(directory.absolute().parts[-3:]))


def check_log(kind: str) -> None:
    """Refuse a log that `make_log` cannot make, before anything is trained."""
    if kind not in KINDS:
        near = difflib.get_close_matches(kind.lower(), KINDS)
        hint = did_you_mean(near, f"use {', '.join(KINDS)}.")
        raise InputError(f"The log '{kind}' is not known: {hint}")
    if KINDS[kind]:
        _need(KINDS[kind], f"The log '{kind}'")


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a row, those of numpy and torch too."""
    plain = {name: value.item() if getattr(value, "ndim", None) == 0 else value for name, value in row.items()}
    return {name: float(value) for name, value in plain.items() if isinstance(value, Real)}


def _path(stage: str, name: str) -> str:
    return f"{stage}/{name}" if stage else name


def _need(package: str, what: str) -> None:
    if find_spec(package) is None:
        raise InputError(f"{what} needs {package}, which is not installed: pip install {package}.")


@contextmanager
def _folders_allowed() -> Iterator[None]:
    """Newer versions of MLflow keep runs in a folder only where they are told to."""
    name = "MLFLOW_ALLOW_FILE_STORE"
    told = name in os.environ
    os.environ.setdefault(name, "true")
    try:
        yield
    finally:
        if not told:
            del os.environ[name]
