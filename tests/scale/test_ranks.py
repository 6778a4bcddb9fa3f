"""Ranks over gloo: shaping gives the boundary nodes and the embeddings of one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bes.core.shaper import BoundaryShaper
from bes.scale.ranks import asked_for
from scale.on_gloo import CASES, OF_SIZE, ON_GLOO, problem, start_ranks


@pytest.mark.parametrize("size", [2, 4])
def test_ranks_shape_as_one_process_does(size: int, tmp_path: Path) -> None:
    start_ranks(size, tmp_path)
    pieces = [load_file(tmp_path / f"{rank}.safetensors") for rank in range(size)]
    own = torch.cat([piece["own"] for piece in pieces])
    assert len({len(piece["own"]) for piece in pieces}) == size  # uneven
    graph, labels, owner = problem(size)
    assert (labels[owner == size - 1] == -1).all()
    for case in OF_SIZE[size]:
        alone = BoundaryShaper(**ON_GLOO, **CASES[case]).fit(graph.x, labels, graph.edge_index)
        assert sum(row["accepted"] for row in alone.history_) > 5  # something was shaped
        expected = alone.transform(graph.x, graph.edge_index)
        found = torch.empty_like(expected)
        found[own] = torch.cat([piece[f"{case}.z"] for piece in pieces])
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
        assert (expected - graph.x).abs().max() > 0.01
        for layer, nodes in enumerate(alone.boundary_):
            assert len(nodes) > ON_GLOO["batch_size"]
            told = torch.cat([piece[f"{case}.boundary.{layer}"] for piece in pieces])
            assert told.sort().values.tolist() == nodes.tolist()


def test_ranks_are_asked_for_by_torchrun_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert asked_for() == 1
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert asked_for() == 4


def test_a_rank_that_leaves_has_said_all_and_does_not_end_the_interpreter() -> None:
    lines = [
        "import atexit, sys",
        "from bes.scale.ranks import leave",
        "class AtTheEnd:",
        "    def __del__(self): print('interpreter', flush=True)",
        "sys.kept = AtTheEnd()",
        "atexit.register(print, 'exit function')",
        "print('said')",
        "leave()",
        "print('after')",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["said", "exit function"]
