"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

#: How the name of a file begins that is still being written.
PART = ".part-"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, moved onto it when the block ends well."""
    handle, name = tempfile.mkstemp(prefix=PART, suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def save_npz(file: Path | IO[bytes], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Plain arrays as a compressed `.npz`."""
    if any(array.dtype == object for array in arrays.values()):
        raise ValueError("Object arrays cannot be saved: they would be pickled.")
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # older numpy has no keyword allow_pickle
