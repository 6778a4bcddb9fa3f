"""WikiCS (Mernyei and Cangea 2020): one `data.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bes.errors import InputError
from bes.graph.arrays import to_tensor
from bes.graph.graph import Graph

_KEYS = ("features", "labels", "links", "train_masks", "val_masks", "stopping_masks", "test_mask")


def read_wikics(path: str | Path, name: str = "wikics") -> Graph:
    """The graph in the published `data.json`.

    It holds `features` `[N][F]`, `labels` `[N]`, `links` (the nodes each node links to), the masks
    of twenty training splits `[20][N]`, which become `[N, 20]`, and one `test_mask` `[N]`.
    """
    path = Path(path)
    raw = _read_json(path)
    try:
        x = np.array(raw["features"], dtype=np.float32)
        y = np.array(raw["labels"])
        pairs = [(node, other) for node, others in enumerate(raw["links"]) for other in others]
        edges = np.array(pairs, dtype=None if pairs else np.int64).reshape(-1, 2).T
        masks = {f"{part}_mask": np.array(raw[f"{part}_masks"], dtype=bool).T for part in ("train", "val", "stopping")}
        masks["test_mask"] = np.array(raw["test_mask"], dtype=bool)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"The file {path} holds lists of unequal length or wrong type: use the published data.json."
        ) from error
    tensors = {key: torch.from_numpy(mask.copy()) for key, mask in masks.items()}
    labels = to_tensor(y, f"labels in {path}")
    return Graph(to_tensor(x, f"features in {path}"), to_tensor(edges, f"edges in {path}"), labels, name, tensors)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"The file {path} is missing or not JSON: use the published data.json.") from error
    missing = [key for key in _KEYS if not isinstance(raw, dict) or key not in raw]
    if missing:
        raise InputError(f"The file {path} has no '{missing[0]}': use the published data.json.")
    return dict(raw)
