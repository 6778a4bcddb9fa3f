"""Embeddings that are read by rows, in blocks: a tensor, some rows of one, or a file that is never read whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np
import torch
from torch import Tensor

from bes.core.attention import BoundaryAttention
from bes.errors import InputError

#: Numbers of z up to which it is worked on whole, and a layer's input laid out once for all passes: 4 M floats, 16 MiB.
#: Larger ones are passed over in blocks.
WHOLE = 1 << 22

#: Numbers of z in a block: 1 M floats, 4 MiB, so that a block and what is made of it stay near the processor.
STEP = 1 << 20

#: Rows of a file that are read though nobody wants them, rather than ask the file again.
GAP = 8


class Rows(Protocol):
    """What a tensor `[N, D]` can do that shaping needs."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def device(self) -> torch.device: ...

    def __getitem__(self, rows: Any, /) -> Tensor:
        """The rows of a slice, or those with the indices of a tensor, `[n, D]`."""
        ...


def is_small(n: int, width: int) -> bool:
    """Whether `n` rows of `width` numbers are worked on whole."""
    return n * width <= WHOLE


def blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of `n` rows of `width` numbers; one slice where they are few."""
    step = max(1, n if is_small(n, width) else STEP // width)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def own_rows(z: Rows, own: int | None) -> Rows:
    """The first `own` rows; all where it is None."""
    return z if own is None else z[:own]


class Picked:
    """The rows `index` `[n]` of `z`, read when they are asked for."""

    def __init__(self, z: Rows, index: Tensor) -> None:
        self.z, self.index = z, index
        self.shape, self.dtype, self.device = (index.numel(), z.shape[1]), z.dtype, z.device

    def __getitem__(self, rows: Any, /) -> Tensor:
        return self.z[self.index[rows]]


class Through:
    """The rows of `z` after a layer that does not mix nodes: done again whenever they are read, and kept nowhere."""

    def __init__(self, z: Rows, layer: BoundaryAttention) -> None:
        self.z, self.layer = z, layer
        self.shape, self.dtype, self.device = z.shape, z.dtype, z.device

    def __getitem__(self, rows: Any, /) -> Tensor:
        z = self.z[rows]
        with torch.no_grad():
            weights = tuple(weight.to(z) for weight in self.layer.weights)
            return z + self.layer.attend(weights, self.layer.read(z))


class Mapped:
    """The rows of a memory-mapped array `[N, D]`.

    They are read from the file into memory of their own: pages of the map itself would count as memory of this process
    once they were touched.

    Args:
        array: A contiguous map of real numbers; float64 stays float64, the rest is read as float32.
    """

    def __init__(self, array: np.memmap, device: torch.device) -> None:
        self.array, self.device = array, device
        self.shape: tuple[int, int] = array.shape
        self.dtype = torch.float64 if array.dtype == np.float64 else torch.float32
        root = array
        while isinstance(root.base, np.memmap):
            root = root.base
        self._start = root.offset + array.ctypes.data - root.ctypes.data
        self._stride = self.shape[1] * array.dtype.itemsize
        self._file = open_for_reading(str(array.filename))

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def __getitem__(self, rows: Any, /) -> Tensor:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            raw = np.empty((max(0, stop - start), self.shape[1]), self.array.dtype)
            self._read(raw.reshape(-1).view(np.uint8).data, start)
        else:
            raw = self._scattered(rows.cpu().numpy())
        return torch.from_numpy(raw).to(self.device, self.dtype)

    def _scattered(self, rows: np.ndarray) -> np.ndarray:
        """Rows in any order; those that lie near one another in the file are read together, gaps and all."""
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        found = np.empty((len(rows), self.shape[1]), self.array.dtype)
        ends = np.flatnonzero(np.diff(wanted, append=np.iinfo(np.int64).max) > GAP) + 1
        start = 0
        for end in ends.tolist():
            first = int(wanted[start])
            span = np.empty((int(wanted[end - 1]) + 1 - first, self.shape[1]), self.array.dtype)
            self._read(span.reshape(-1).view(np.uint8).data, first)
            found[order[start:end]] = span[wanted[start:end] - first]
            start = end
        return found

    def _read(self, into: memoryview, row: int) -> None:
        at = self._start + row * self._stride
        while into:
            count = os.preadv(self._file, [into], at)
            if count <= 0:
                raise InputError(f"{self.array.filename} is shorter than when it was opened: write it again.")
            into, at = into[count:], at + count


def open_for_reading(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): leave the file where it is.") from None


def is_large_map(z: Any) -> TypeGuard[np.memmap]:
    """Whether an array is a map that is better not read whole."""
    return (
        isinstance(z, np.memmap)
        and z.ndim == 2
        and not is_small(*z.shape)
        and z.flags.c_contiguous
        and z.dtype.isnative
        and z.dtype.kind in "fiu"
        and z.filename is not None
    )


def check_finite(z: Rows) -> None:
    """Refuse embeddings with values that are no numbers, in blocks."""
    bad = sum(int((~torch.isfinite(z[part])).sum()) for part in blocks(*z.shape))
    if bad:
        raise InputError(f"z holds {bad} values that are NaN or infinite: replace them by numbers first.")


def in_memory(z: Rows) -> Tensor:
    """All rows `[N, D]`, read in blocks."""
    whole = torch.empty(*z.shape, dtype=z.dtype, device=z.device)
    for part in blocks(*z.shape):
        whole[part] = z[part]
    return whole


def write_npy(path: Path, z: Rows) -> None:
    """`z` as an `.npy` file, block by block."""
    kind = np.dtype(str(z.dtype).removeprefix("torch."))
    header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": tuple(z.shape)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in blocks(*z.shape):
            z[part].cpu().contiguous().numpy().tofile(file)
