"""The examples are six, short, and run as they are, without a network."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py"))
NOTEBOOK = EXAMPLES / "first_steps.ipynb"

#: What makes each quick, what it has to print and which files it has to leave.
CASES: dict[str, tuple[list[str], list[str], list[str]]] = {
    "compare_presets": (
        ["--seeds", "2"],
        ["paper (encoders gcn, cheb)", "comparison:"],
        ["runs/presets/comparison.html"],
    ),
    "link_prediction": (["--epochs", "20"], ["control: validation AUC", "opened once"], []),
    "own_graph_pandas": (["--seeds", "1"], ["lacks", "ann"], ["runs/people/predictions.csv"]),
    "pyg_gcn": (["--epochs", "20"], [], []),
    "sklearn_pipeline": ([], ["chosen:", "looked at once"], []),
    "watch_training": (["--epochs", "20"], ["'encoder 2': 20", "'decoder': 20"], ["runs/watched/log.csv"]),
}

RUN_NOTEBOOK = """
import sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def call(words: list[str], where: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, in `where`, with nothing to reach on the network."""
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **closed, "no_proxy": "", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, *words]
    return subprocess.run(words, cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=600)


def test_there_are_six_programs_and_each_has_a_case() -> None:
    assert sorted(CASES) == PROGRAMS
    assert len(PROGRAMS) == 6


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_short_and_says_what_it_is(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 60
    said = ast.get_docstring(ast.parse(text)) or ""
    assert len(said.split()) > 10


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs(name: str, tmp_path: Path) -> None:
    options, printed, left = CASES[name]
    done = call([str(EXAMPLES / f"{name}.py"), *options], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for words in printed:
        assert words in done.stdout
    for path in left:
        assert (tmp_path / path).stat().st_size > 0


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 6
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    done = call(["-c", RUN_NOTEBOOK, str(NOTEBOOK), str(tmp_path / "done.ipynb")], tmp_path)
    assert done.returncode == 0, done.stderr
    code = [cell for cell in nbformat.read(tmp_path / "done.ipynb", as_version=4).cells if cell.cell_type == "code"]
    pictures = [out for cell in code for out in cell.outputs if "image/png" in out.get("data", {})]
    assert len(pictures) == 2
    assert all(out.get("name") != "stderr" for cell in code for out in cell.outputs), "a cell warns"
