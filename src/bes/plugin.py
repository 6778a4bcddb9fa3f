"""`bes shape`: embeddings and labels from files, shaped embeddings to a file."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from bes import seeding
from bes.config import ShaperConfig
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.files import whole_file
from bes.settings import parse_settings, validate


class PluginConfig(ShaperConfig):
    """The shaper's options, and those that a run derives from its encoders and seeds."""

    n_views: int = 1
    random_state: int = 0


def shape_files(
    embeddings: Path,
    labels: Path,
    out: Path,
    edges: Path | None,
    save: Path | None,
    settings: list[str],
    device: str,
    *,
    show: bool,
) -> tuple[BoundaryShaper, list[str]]:
    """Fit and transform; the output appears whole or not at all. Returns the shaper and its warnings."""
    options = validate(PluginConfig, parse_settings(settings, PluginConfig))
    seeding.pick_device(device)
    z, y = read_npy(embeddings, mapped=True), read_npy(labels)
    edge_index = read_npy(edges) if edges else None
    if z.ndim != 2 or z.size == 0 or z.dtype.kind not in "fiu":
        raise InputError(f"{embeddings} holds {z.dtype} of shape {z.shape}: give numbers of shape (N, D).")
    if not isinstance(z, np.memmap) and not np.isfinite(z).all():  # those of a map are checked as they are read
        raise InputError(f"{embeddings} holds NaN or infinite values: replace them by numbers first.")
    if y.shape != z.shape[:1]:
        raise InputError(
            f"{labels} has shape {y.shape}, but {embeddings} has {len(z)} rows: give one label a row, -1 where unknown."
        )
    if out.is_dir():
        raise InputError(f"{out} is a folder: name a file for the shaped embeddings.")
    shaper = BoundaryShaper(**options.model_dump(), device=device, verbose=show and sys.stdout.isatty())
    try:
        with whole_file(out) as temporary:  # before the work, so that a place that cannot be written shows at once
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                shaper.fit(z, y, edge_index=edge_index).transform(z, edge_index=edge_index, out=temporary)
            if save:
                shaper.save(save)
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}): choose another --out.") from None
    return shaper, [str(warning.message) for warning in caught]


#: Size of a file from which embeddings are not read whole.
MAPPED = 1 << 30


def read_npy(path: Path, *, mapped: bool = False) -> np.ndarray:
    """A plain array from `.npy`, where it is large a map of it if `mapped`; pickled objects are refused."""
    try:
        large = mapped and path.stat().st_size >= MAPPED
        array = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: give an .npy file.") from None
    except (OSError, ValueError, EOFError):
        raise InputError(
            f"{path} is damaged, or holds something else than a plain array: save it with np.save."
        ) from None
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is an archive of several arrays: give an .npy file with one.")
    return array
