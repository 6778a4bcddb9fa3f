"""Pickles of Planetoid's age, read without running anything: arrays, CSR matrices and adjacency dicts."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from bes.errors import InputError

Kind = TypeVar("Kind")


class _Csr:
    """Stands in for scipy's class: keeps the pickled attributes and runs none of scipy's code."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state

    def matrix(self) -> sp.csr_matrix:
        parts = tuple(np.asarray(self.state[key]) for key in ("data", "indices", "indptr"))
        return sp.csr_matrix(parts, shape=self.state["_shape"])


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("collections", "defaultdict"): defaultdict,
}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _ALLOWED[_module, "_reconstruct"] = np.empty(0).__reduce__()[0]  # what a pickled array starts from
for _module in ("scipy.sparse.csr", "scipy.sparse._csr"):
    _ALLOWED[_module, "csr_matrix"] = _Csr
for _module in ("builtins", "__builtin__"):
    _ALLOWED |= {(_module, kind.__name__): kind for kind in (list, dict, int)}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def unpickle(path: Path, kind: type[Kind]) -> Kind:
    """The array, CSR matrix or dict in `path`; a pickle that asks for, or is, anything else is refused."""
    try:
        with path.open("rb") as file:
            value = _Unpickler(file, encoding="latin1").load()
        value = value.matrix() if isinstance(value, _Csr) else value
        if isinstance(value, kind):
            return value
        raise pickle.UnpicklingError(f"it holds a {type(value).__name__}, not a {kind.__name__}")
    except FileNotFoundError:
        raise InputError(f"The file {path} does not exist: put the published files of the data set there.") from None
    except Exception as error:  # a damaged pickle can fail in any way
        reason = str(error) or type(error).__name__
        raise InputError(f"The file {path} is refused: {reason}; use the published file of the data set.") from error
