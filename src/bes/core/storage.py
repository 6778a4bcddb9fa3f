"""A fitted shaper on disk: a directory with weights (safetensors) and the rest (JSON), no pickle."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from bes.core.algorithm import new_layer
from bes.errors import InputError

if TYPE_CHECKING:
    from bes.core.shaper import BoundaryShaper

Shaper = TypeVar("Shaper", bound="BoundaryShaper")

FORMAT = "bes-shaper"
VERSION = 1


def plain_options(shaper: BoundaryShaper) -> dict[str, Any]:
    """The shaper's options as JSON knows them."""
    given = shaper.get_params().items()
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in given}


def pack(shaper: BoundaryShaper) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A fitted shaper as what JSON knows, and tensors."""
    state = {
        "options": plain_options(shaper),
        "classes": shaper.classes_.tolist(),
        "n_features_in": shaper.n_features_in_,
        "boundary": [nodes.tolist() for nodes in shaper.boundary_],
        "region_sizes": shaper.region_sizes_,
        "history": shaper.history_,
        "n_layers": len(shaper.layers_),
    }
    tensors = {f"scores.{i}": torch.from_numpy(scores) for i, scores in enumerate(shaper.shift_scores_)}
    for i, layer in enumerate(shaper.layers_):
        tensors |= {f"layer.{i}.{name}": weight for name, weight in layer.state_dict().items()}
    return state, tensors


def unpack(kind: type[Shaper], state: dict[str, Any], tensors: dict[str, Tensor]) -> Shaper:
    """The shaper that was packed; raises KeyError, TypeError or RuntimeError on anything else."""
    shaper = kind(**state["options"])
    shaper.classes_ = np.asarray(state["classes"])
    shaper.n_features_in_ = state["n_features_in"]
    shaper.boundary_ = [np.asarray(nodes, dtype=np.int64) for nodes in state["boundary"]]
    shaper.region_sizes_ = state["region_sizes"]
    shaper.history_ = state["history"]
    shaper.shift_scores_ = [tensors[f"scores.{i}"].numpy() for i in range(len(shaper.boundary_))]
    shaper.layers_ = []
    for i in range(state["n_layers"]):
        prefix = f"layer.{i}."
        weights = {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}
        start = torch.Generator()  # its draws are overwritten; torch's own stream stays untouched
        layer = new_layer(shaper, shaper.n_features_in_, weights["out"].dtype, start)
        layer.load_state_dict(weights)
        shaper.layers_.append(layer.requires_grad_(False))
    return shaper


def write(path: str | Path, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write the directory `path` whole or not at all; an older shaper there is replaced."""
    path = Path(path)
    if path.exists() and not (path / "shaper.json").is_file():
        raise InputError(f"{path} exists and holds no shaper: choose another place to save to.")
    text = json.dumps({"format": FORMAT, "version": VERSION, **state}, indent=1)
    fresh = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        fresh.chmod(0o755)
        save_file({key: tensor.contiguous().cpu() for key, tensor in tensors.items()}, fresh / "weights.safetensors")
        (fresh / "shaper.json").write_text(text, encoding="utf-8")
    except (OSError, SafetensorError) as error:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be written ({reason}): choose a writable place.") from None
    if path.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent)) / "shaper"
        os.replace(path, old)
        os.replace(fresh, path)
        shutil.rmtree(old.parent)
    else:
        os.replace(fresh, path)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `write` wrote."""
    path = Path(path)
    try:
        state = json.loads((path / "shaper.json").read_text(encoding="utf-8"))
        tensors = load_file(path / "weights.safetensors")
    except OSError:
        raise InputError(f"{path} is no saved shaper: give a directory that BoundaryShaper.save wrote.") from None
    except (json.JSONDecodeError, UnicodeDecodeError, SafetensorError):
        raise InputError(f"{path} is damaged: save the shaper again.") from None
    if not isinstance(state, dict):
        raise InputError(f"{path} is damaged: save the shaper again.")
    if state.get("format") != FORMAT or state.get("version") != VERSION:
        raise InputError(
            f"{path} has format {state.get('format')!r} version {state.get('version')!r}, and this library reads "
            f"{FORMAT!r} version {VERSION}: load it with the version of bes-graph that saved it."
        )
    return state, tensors
