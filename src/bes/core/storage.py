"""A fitted shaper on disk: a directory with weights (safetensors) and the rest (JSON), no pickle."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from bes.errors import InputError

FORMAT = "bes-shaper"
VERSION = 1


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
