"""Plain arrays in and out of `.npz` files: nothing is unpickled, and damage is one clear sentence."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from bes.errors import InputError
from bes.files import save_npz, whole_file
from bes.graph.sparse import Sparse

#: Any numeric numpy array.
Array = NDArray[Any]


def load_arrays(path: str | Path) -> dict[str, Array]:
    """Every array of the `.npz` file at `path`.

    A damaged file shows itself as late as while an entry is unpacked, so all entries are read here.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"The file {path} does not exist: give the path of an .npz file.")
    archive = zipfile.is_zipfile(path)
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except Exception as error:  # zip, zlib, header and array each fail in their own way
        if archive and "pickle" in str(error):
            raise InputError(f"The file {path} holds pickled objects, which are refused: save plain arrays.") from error
        reason = "an entry cannot be unpacked" if archive else "it is no whole zip archive"
        raise InputError(f"The file {path} is damaged or not an .npz: {reason}; get it again.") from error


def save_arrays(path: Path, arrays: dict[str, Array]) -> None:
    """Write `arrays` to `path` as a compressed `.npz`, whole or not at all; equal arrays give equal bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary, temporary.open("wb") as file:
            save_npz(file, arrays)
    except OSError as error:
        raise InputError(f"The file {path} cannot be written ({error.strerror}): choose another folder.") from error


def to_tensor(array: Array, what: str) -> Tensor:
    """A tensor of its own: integers as int64, floats as float32, booleans as they are."""
    if array.dtype.kind not in "iufb":
        raise InputError(f"The {what} have dtype {array.dtype}: numbers are needed.")
    dtype = {"i": np.int64, "u": np.int64, "f": np.float32, "b": np.bool_}[array.dtype.kind]
    with np.errstate(over="ignore"):  # a float64 too large becomes infinite, which Graph refuses
        return torch.from_numpy(np.array(array, dtype=dtype))


def to_sparse(matrix: sp.csr_matrix, what: str) -> Sparse:
    """A `Sparse` with sorted indices and float32 values, after a full check of a file's CSR arrays."""
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"The {what} are not a valid CSR matrix: {error}.") from error
    matrix = matrix.copy()
    matrix.sum_duplicates()
    coo = matrix.tocoo()
    row, col = (torch.from_numpy(index.astype(np.int64)) for index in (coo.row, coo.col))
    return Sparse.from_coo(row, col, to_tensor(coo.data, what).float(), (matrix.shape[0], matrix.shape[1]))
