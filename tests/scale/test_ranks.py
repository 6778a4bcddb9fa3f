"""Ranks over gloo: shaping gives the boundary nodes and the embeddings of one process."""

from __future__ import annotations

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
