"""A small graph, quick settings, and the command line as a function."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import settings

from bes.cli import main
from bes.config import RunConfig
from bes.graph.graph import Graph
from bes.graph.readers import write_npz
from bes.graph.synthetic import sbm
from bes.records import RunDirectory
from bes.runs import run

settings.register_profile("shared-machine", deadline=None)  # time is not what these tests are about
settings.load_profile("shared-machine")
torch.set_num_threads(1)  # tests run side by side, and their tensors are small
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the same for the processes that tests start

#: Settings under which a seed of the small graph takes a tenth of a second and is still shaped.
QUICK = {
    "encoders": {"epochs": 5, "channels": 8},
    "shaper": {"n_iter": 5, "delta": 20.0, "tau": 10.0, "alpha": 0.01, "tol": 0.01},
    "decoder": {"epochs": 5, "hidden": 16},
}


class Called(NamedTuple):
    """What a command left: its exit code and what it printed, white space made plain."""

    code: int
    out: str
    err: str


# Started in the background, we would hand it down to every process of a test that Ctrl-C is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def small_graph() -> Graph:
    """Three classes that overlap, 150 nodes."""
    return sbm(n_nodes=150, n_classes=3, n_features=8, degree=6.0, noise=0.3, separation=1.5)


@pytest.fixture(scope="session")
def quick() -> Callable[..., RunConfig]:
    """`quick(split="mask", shaper={...})`: a configuration with quick settings, changed as given."""

    def build(**given: Any) -> RunConfig:
        sections = {name: {**values, **given.pop(name, {})} for name, values in QUICK.items()}
        return RunConfig.build("small", given={**sections, **given})

    return build


@pytest.fixture(scope="session")
def quick_settings() -> list[str]:
    """The quick settings as words of the command line."""
    pairs = [f"{part}.{key}={value}" for part, values in QUICK.items() for key, value in values.items()]
    return [word for pair in pairs for word in ("--set", pair)]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, small_graph: Graph, quick: Any) -> RunDirectory:
    """Two seeds of the small graph, run once; tests only read it."""
    return run(quick(), small_graph, [0, 1], tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture
def graph_file(tmp_path: Path, small_graph: Graph) -> Path:
    path = tmp_path / "small.npz"
    write_npz(small_graph, path)
    return path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """`command("run", path, "--seeds", "0")`, in this process."""

    def call(*words: object) -> Called:
        monkeypatch.setattr(sys, "argv", ["bes", *map(str, words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        out, err = capsys.readouterr()
        return Called(code, " ".join(out.split()), err)

    return call


@pytest.fixture
def refused() -> Callable[..., None]:
    """`refused(called, "x.npz", "damaged")`: exit code 2 and one sentence on stderr that holds these words."""

    def check(called: Called, *words: str) -> None:
        assert called.code == 2, called
        assert called.out == ""
        assert called.err.startswith("bes: ")
        assert called.err.count("\n") == 1
        assert called.err.rstrip()[-1] in ".?"
        assert "Traceback" not in called.err
        for word in words:
            assert word in called.err

    return check
