"""Files that appear whole or not at all, and folders that one process writes into at a time."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from bes.errors import InputError

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


@contextmanager
def alone_in(folder: Path, who: str) -> Iterator[None]:
    """Nobody else who asks so writes into the folder meanwhile; a process gives it back when it ends, however it does.

    Args:
        who: What the other one is called, such as `bes run`.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Windows; or a folder that cannot be read: whoever writes the first file says so
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(f"Another `{who}` writes into {folder}: wait for it, or choose another --out.") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(handle)


def free_name(path: Path) -> Path:
    """`records.1.jsonl` for `records.jsonl`, or the first number after it that is not taken."""
    number = 1
    while (free := path.with_suffix(f".{number}{path.suffix}")).exists():
        number += 1
    return free


def save_npz(file: Path | IO[bytes], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Plain arrays as a compressed `.npz`."""
    if any(array.dtype == object for array in arrays.values()):
        raise ValueError("Object arrays cannot be saved: they would be pickled.")
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # older numpy has no keyword allow_pickle
