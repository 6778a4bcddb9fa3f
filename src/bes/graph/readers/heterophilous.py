"""The heterophilous family (Platonov et al. 2023): roman_empire, minesweeper, the filtered Wikipedia graphs."""

from __future__ import annotations

from pathlib import Path

from bes.errors import InputError
from bes.graph.arrays import Array, load_arrays, to_tensor
from bes.graph.graph import Graph


def read_heterophilous(path: str | Path, name: str | None = None) -> Graph:
    """The graph in the published file `NAME.npz`.

    It holds `node_features` `[N, F]`, `node_labels` `[N]`, `edges` `[E, 2]` and `train_masks`,
    `val_masks`, `test_masks` `[K, N]`, which become the masks `[N, K]`.
    """
    path = Path(path)
    return from_heterophilous(load_arrays(path), path, name or path.stem)


def from_heterophilous(arrays: dict[str, Array], path: Path, name: str) -> Graph:
    """The same from arrays already read from `path`."""
    for key in ("node_features", "node_labels", "edges"):
        if key not in arrays:
            raise InputError(f"The file {path} has no array '{key}': use the published file of the data set.")
    masks = {}
    for part in ("train", "val", "test"):
        if f"{part}_masks" in arrays:
            masks[f"{part}_mask"] = to_tensor(arrays[f"{part}_masks"], f"masks in {path}").bool().T.contiguous()
    x = to_tensor(arrays["node_features"], f"features in {path}")
    y = to_tensor(arrays["node_labels"], f"labels in {path}")
    return Graph(x, to_tensor(arrays["edges"].T, f"edges in {path}"), y, name, masks)
