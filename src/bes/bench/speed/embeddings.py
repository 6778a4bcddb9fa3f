"""Embeddings for measurements of shaping: of any size, with a boundary on which steps are taken to the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np

#: Columns, classes, and the dimensions in which classes lie.
WIDTH, CLASSES, LATENT = 64, 10, 8

#: How far apart class centres are, in deviations of a class, and the noise in all columns.
APART, NOISE = 1.2, 0.1

#: Rows that are made at a time.
BLOCK = 1 << 18


def make_embeddings(z: Path, y: Path, nodes: int, seed: int = 0) -> None:
    """Files `[nodes, 64]` and `[nodes]`, made in blocks: overlapping classes in few dimensions, and noise.

    Every other node has a label, the rest -1. Classes that lie apart would end shaping at its first step.
    """
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((CLASSES, LATENT), dtype=np.float32) * np.float32(APART)
    spread = np.linalg.qr(rng.standard_normal((WIDTH, LATENT)))[0].T.astype(np.float32)
    classes = rng.integers(0, CLASSES, nodes)
    with z.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (nodes, WIDTH)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, nodes, BLOCK):
            part = classes[start : start + BLOCK]
            latent = centres[part] + rng.standard_normal((len(part), LATENT), dtype=np.float32)
            noise = rng.standard_normal((len(part), WIDTH), dtype=np.float32) * np.float32(NOISE)
            (latent @ spread + noise).tofile(file)
    np.save(y, np.where(np.arange(nodes) % 2 == 0, classes, -1))
