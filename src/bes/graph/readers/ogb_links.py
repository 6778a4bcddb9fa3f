"""OGB's link splits (ogbl-collab), `split/*/{train,valid,test}.pt`, read without running anything.

The published files were written by an old torch and hold numpy arrays under the name numpy had then.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, serialization

from bes.errors import InputError
from bes.graph.arrays import to_tensor
from bes.graph.edges import undirected, whole

_FILES = ("train.pt", "valid.pt", "test.pt")


class _Dtype:
    """Stands in for numpy's class, whose own unpickling believes flags that can make numbers pointers."""

    def __init__(self, code: str, *_: object) -> None:
        if not re.fullmatch("b1|[iu][1248]|f[248]", code):
            raise pickle.UnpicklingError("it is not of plain numbers")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """Stands in for numpy's class: shape, type and bytes, put together when all are there."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, data = state
        self.array = np.frombuffer(data, kind.dtype).reshape(shape, order="F" if fortran else "C")


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _no_bytes(*_: object) -> bytes:
    """What an array without entries is pickled with."""
    return b""


#: With torch's own list, for tensors, all that a file may ask for.
_ALLOWED: list[Any] = [(_Array, "numpy.ndarray"), (_Dtype, "numpy.dtype")]
_ALLOWED += [(_reconstruct, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
_ALLOWED += [(_no_bytes, f"{module}.bytes") for module in ("builtins", "__builtin__")]


def read_link_split(folder: Path, edge_index: Tensor, n: int) -> dict[str, Tensor]:
    """The pairs in the `.pt` files below `folder`, none without such files.

    Args:
        edge_index: The graph's edges, which must be the split's training links. A held-out link may be
            among them: two authors who published together before.
    """
    found = sorted({path.parent for path in folder.glob("split/*/*.pt") if path.name in _FILES})
    if not found:
        return {}
    if len(found) > 1:
        names = " and ".join(path.name for path in found[:2])
        raise InputError(f"The folder {folder / 'split'} holds several link splits ({names}): keep one.")
    train, valid, test = (found[0] / name for name in _FILES)
    links = _pairs(train, _load(train), "edge", n)
    if not torch.equal(undirected(links, n), undirected(edge_index, n)):
        raise InputError(
            f"The file {train} has other links than raw/edge.csv.gz: use the published files of one version."
        )
    pairs = {}
    for part, path in (("val", valid), ("test", test)):
        content = _load(path)
        pairs[f"{part}_edges"] = _pairs(path, content, "edge", n)
        pairs[f"{part}_negatives"] = _pairs(path, content, "edge_neg", n)
    return pairs


def _load(path: Path) -> dict[Any, Any]:
    """The dict in a file of `torch.save`; one that asks for anything but arrays and tensors is refused."""
    try:
        with _only_allowed():
            content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError(f"The file {path} does not exist: put the published files of the data set there.") from None
    except Exception as error:  # a damaged file can fail in any way
        asked = re.search(r"GLOBAL ([\w.]+)", str(error))
        reason = f"asks for {asked[1]}, which is refused" if asked else "is damaged or not torch's file of plain arrays"
        raise InputError(f"The file {path} {reason}: use the published file of the data set.") from error
    if not isinstance(content, dict):
        raise InputError(f"The file {path} holds a {type(content).__name__}, not a dict: use the published file.")
    return content


@contextmanager
def _only_allowed() -> Iterator[None]:
    """Torch's list is the process's: what others put on it is neither used here nor lost."""
    before = serialization.get_safe_globals()
    serialization.clear_safe_globals()
    serialization.add_safe_globals(_ALLOWED)
    try:
        yield
    finally:
        serialization.clear_safe_globals()
        serialization.add_safe_globals(before)


def _pairs(path: Path, content: dict[Any, Any], key: str, n: int) -> Tensor:
    """The node pairs `[2, n]` under `key`, which the file stores as an array or tensor `[n, 2]`."""
    value = getattr(content.get(key), "array", content.get(key))
    if not isinstance(value, np.ndarray | Tensor):
        raise InputError(f"The file {path} has no array '{key}': use the published file of the data set.")
    pairs = value if isinstance(value, Tensor) else to_tensor(value, f"pairs '{key}' in {path}")
    if not whole(pairs) or pairs.layout != torch.strided or pairs.dim() != 2 or pairs.shape[1] != 2:
        raise InputError(
            f"The array '{key}' in {path} has shape {tuple(pairs.shape)} and dtype {value.dtype}: "
            "integers of shape (n, 2) are expected, as in the published file."
        )
    if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < n:
        raise InputError(f"The array '{key}' in {path} names nodes outside 0..{n - 1}: use the published file.")
    return pairs.long().T.contiguous()
