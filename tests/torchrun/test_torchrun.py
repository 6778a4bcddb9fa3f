"""`torchrun -m bes run` leaves what `bes run` leaves, also when a rank is killed on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from oracles.ranks import ThreadRanks, on_threads

from bes import torchrun as module
from bes.config import RunConfig
from bes.errors import InputError
from bes.graph.graph import Graph
from bes.graph.readers import write_npz
from bes.graph.synthetic import sbm
from bes.pipeline.ranks import check_ranks
from bes.records import alone_in_run
from bes.stored import StoredRun
from bes.torchrun import apart, told
from bes.torchrun.plan import make_plan
from conftest import Called

KILLED = Path(__file__).parent / "killed.py"

#: Without dropout, whose stream is another one on ranks; 70 iterations a layer, so that a state is kept within each.
SETTINGS = {
    "encoders.epochs": 10,
    "encoders.channels": 6,
    "encoders.dropout": 0,
    "decoder.epochs": 10,
    "decoder.hidden": 12,
    "decoder.dropout": 0,
    "n_iter": 70,
    "delta": 20,
    "tau": 10,
    "alpha": 0.002,
    "tol": 0.0,
    "batch_size": 20,
}


def torchrun(*command: str, size: int, restarts: int = 0) -> Called:
    """Calls torchrun with a script or module and its words."""
    options = ["--standalone", f"--nproc-per-node={size}", f"--max-restarts={restarts}", "--monitor-interval=0.1"]
    line = [sys.executable, "-m", "torch.distributed.run", *options, *command]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return Called(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A small graph and settings for it, as words of a command."""
    path = tmp_path_factory.mktemp("graph") / "small.npz"
    write_npz(sbm(n_nodes=240, n_classes=3, n_features=8, degree=6.0, noise=0.3, separation=1.5), path)
    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    return ["run", str(path), "--seeds", "0", "--quiet", *settings]


def test_a_killed_rank_costs_nothing_but_time(words: list[str], tmp_path: Path, command: Callable[..., Called]) -> None:
    many, one = tmp_path / "many", tmp_path / "one"
    ranked = torchrun(str(KILLED), *words, "--out", str(many), size=2, restarts=1)
    assert ranked.code == 0, ranked.err
    assert "SIGKILL" in ranked.err or "-9" in ranked.err
    assert command(*words, "--out", one).code == 0
    left = {str(path.relative_to(one)) for path in one.rglob("*")}
    assert {str(path.relative_to(many)) for path in many.rglob("*")} == left  # the ranks' own files are gone
    _same_arrays(many / "embeddings/0.npz", one / "embeddings/0.npz")
    for arm in ("control", "bes"):
        _same_arrays(many / f"predictions/0-{arm}.npz", one / f"predictions/0-{arm}.npz")
    _same_records(StoredRun(many), StoredRun(one))
    assert json.loads((many / "history/0.json").read_text())[-1]["iteration"] == 69


def _same_arrays(one: Path, other: Path) -> None:
    with np.load(one) as ours, np.load(other) as theirs:
        assert set(ours) == set(theirs)
        for name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], atol=1e-4, rtol=0, err_msg=name)


def _same_records(many: StoredRun, one: StoredRun) -> None:
    for ours, theirs in zip(many.records, one.records, strict=True):
        assert ours["metrics"]["test"] == pytest.approx(theirs["metrics"]["test"], abs=1e-3)
        for key in ("arm", "seed", "run_id", "boundary", "steps", "selected_epoch", "notes"):
            assert ours[key] == theirs[key], key
        assert ours["ranks"] == 2
        assert sum(part["own"] for part in ours["rank_nodes"]) == 240
        # what was done before the kill was not done again: no gradient of an encoder was summed since
        assert ours["traffic"]["encoder-1-gcn"].keys() == {"minimum", "exchange"}
        assert ours["traffic"]["shaping"]["sum"]["messages"] > 0
        assert theirs.keys() <= ours.keys()


def test_a_mistake_is_one_sentence_of_rank_0_and_ends_all(quick: Callable[..., RunConfig]) -> None:
    """What a process of rank 0's refuses, rank 0 says, and the others end without a word."""
    links = quick(task="link")

    def work(ranks: ThreadRanks) -> BaseException | None:
        try:
            told(ranks, lambda: apart(check_ranks, links, 1, None))  # type: ignore[arg-type]
        except BaseException as error:
            return error
        return None

    first, *others = on_threads(3, work)
    assert isinstance(first, InputError)
    sentence = "Ranks of torchrun cannot do --task link yet: leave it out, or call `bes run` without torchrun."
    assert str(first) == sentence
    assert [error.code for error in others if isinstance(error, SystemExit)] == [1, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock there")
def test_a_folder_that_a_run_writes_into_is_refused_and_left(words: list[str], tmp_path: Path) -> None:
    with alone_in_run(tmp_path / "out"):
        (tmp_path / "out" / ".part-first").touch()
        ranked = torchrun("-m", "bes", *words, "--out", str(tmp_path / "out"), size=2)
        assert ranked.code != 0
        assert "Another `bes run` writes into" in ranked.err
        assert [path.name for path in (tmp_path / "out").iterdir()] == [".part-first"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock there")
def test_ranks_hold_the_folder_while_they_work(
    quick: Callable[..., RunConfig], small_graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class StopError(Exception):
        pass

    def work(*_: object) -> None:
        with pytest.raises(InputError, match="Another `bes run` writes into"), alone_in_run(tmp_path / "out"):
            pass
        seen.append(True)
        raise StopError

    monkeypatch.setattr(module, "joined", lambda _: nullcontext(ThreadRanks(0, [None], Barrier(1))))
    monkeypatch.setattr(module, "apart", lambda work, *given: work(*given))
    monkeypatch.setattr(module.GraphPart, "load", work)
    with pytest.raises(StopError):
        module.run_on_ranks(lambda: (quick(), small_graph), [0], tmp_path / "out")
    assert seen
    with alone_in_run(tmp_path / "out"):
        pass


def test_parts_that_another_run_has_cut_meanwhile_are_refused(
    quick: Callable[..., RunConfig], small_graph: Graph, tmp_path: Path
) -> None:
    plans = [make_plan(lambda: (quick(), small_graph), [0], tmp_path, size, 1, None) for size in (2, 3)]
    plans[1].check_cut(3)
    with pytest.raises(InputError, match=r"has changed .* meanwhile: call it again"):
        plans[0].check_cut(2)


def test_a_mistake_leaves_no_folder(quick: Callable[..., RunConfig], small_graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot do --task link yet"):
        make_plan(lambda: (quick(task="link"), small_graph), [0], tmp_path / "out", 2, 1, None)
    assert not (tmp_path / "out").exists()
