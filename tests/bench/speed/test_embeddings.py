"""Embeddings for measurements: written in blocks, with classes that overlap so far that shaping goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bes.bench.speed import embeddings
from bes.bench.speed.embeddings import make_embeddings
from bes.core.shaper import BoundaryShaper


def test_they_are_written_in_blocks_and_half_have_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "BLOCK", 64)
    make_embeddings(tmp_path / "z.npy", tmp_path / "y.npy", 1001)
    z, y = np.load(tmp_path / "z.npy"), np.load(tmp_path / "y.npy")
    assert (z.shape, z.dtype, y.shape) == ((1001, 64), np.float32, (1001,))
    assert (y == -1).sum() == 500
    assert set(y.tolist()) == set(range(-1, 10))
    centres = torch.stack([torch.from_numpy(z[y == c]).mean(0) for c in range(10)])
    nearest = torch.cdist(torch.from_numpy(z), centres).argmin(1).numpy()
    assert 0.5 < (nearest == y)[y >= 0].mean() < 0.95  # they overlap, and can be told


def test_shaping_does_not_end_at_its_first_step(tmp_path: Path) -> None:
    make_embeddings(tmp_path / "z.npy", tmp_path / "y.npy", 2000)
    z, y = np.load(tmp_path / "z.npy"), np.load(tmp_path / "y.npy")
    shaper = BoundaryShaper(n_layers=1, n_iter=30, displacement_sample=500).fit(z, y)
    assert len(shaper.history_) == 30
    assert sum(row["accepted"] for row in shaper.history_) >= 25
