"""`--json` on every command that prints a table, and completion in the shell."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bes.cli.app import data_sets, words
from bes.graph.datasets import CATALOG
from bes.models.convs import CONVS
from bes.presets import ENCODERS

Call = Callable[..., Any]


def test_the_catalogue(command: Call) -> None:
    rows = json.loads(command("data", "list", "--json").out)
    assert [row["name"] for row in rows] == list(CATALOG)
    citeseer = next(row for row in rows if row["name"] == "citeseer")
    assert citeseer["nodes"] == CATALOG["citeseer"].nodes
    assert citeseer["here"]


def test_a_verified_data_set(command: Call) -> None:
    (row,) = json.loads(command("data", "verify", "citeseer", "--json").out)
    assert row["name"] == "citeseer"
    assert len(row["sha256"]) == 64


def test_the_installation(command: Call) -> None:
    found = json.loads(command("doctor", "--json").out)
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["cores"] == os.cpu_count()


def test_shaping(tmp_path: Path, command: Call) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    np.save(tmp_path / "z.npy", rng.normal(size=(80, 4)) + y[:, None])
    np.save(tmp_path / "y.npy", y)
    words = ["shape", tmp_path / "z.npy", "--labels", tmp_path / "y.npy", "-o", tmp_path / "out.npy", "--json"]
    said = json.loads(command(*words, "--set", "n_iter=3").out)
    assert said["out"] == str(tmp_path / "out.npy")
    assert said["layers"][0]["layer"] == 1
    assert 0 <= said["layers"][0]["kept"] <= said["layers"][0]["steps"] <= 3


def test_words_and_names_are_completed() -> None:
    assert words("cheb", "gcn", "gat")("g") == ["gcn", "gat"]
    assert words("cheb", "gcn")("cheb,g") == ["cheb,gcn"]
    assert data_sets("cite") == ["citeseer"]
    assert list(ENCODERS) == list(CONVS), "what is offered is what there is"


@pytest.mark.parametrize(("typed", "offered"), [("bes run cite", "citeseer"), ("bes ex", "explore")])
def test_the_shell_is_offered_completions(typed: str, offered: str) -> None:
    asked = {"_BES_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    program = "import sys; sys.argv[0] = 'bes'; from bes.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == [offered], done.stderr


def test_completion_does_not_wait_for_torch() -> None:
    program = "import sys; from bes.cli.app import data_sets; data_sets(''); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
