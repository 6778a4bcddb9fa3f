"""`bes shape`: embeddings and labels from files, shaped embeddings to a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bes.config import ShaperConfig, parse_settings, validate
from bes.core.shaper import BoundaryShaper
from bes.errors import InputError
from bes.records import whole_file


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
) -> BoundaryShaper:
    """Fit and transform; the output appears whole or not at all."""
    options = validate(PluginConfig, parse_settings(settings, PluginConfig))
    z, y = read_npy(embeddings), read_npy(labels)
    edge_index = read_npy(edges) if edges else None
    if z.ndim != 2 or z.dtype.kind not in "fiu":
        raise InputError(f"{embeddings} holds {z.dtype} of shape {z.shape}: give numbers of shape (N, D).")
    if not np.isfinite(z).all():
        raise InputError(f"{embeddings} holds NaN or infinite values: replace them by numbers first.")
    shaper = BoundaryShaper(**options.model_dump(), device=device, verbose=show)
    z_hat = shaper.fit_transform(z, y, edge_index=edge_index)
    try:
        with whole_file(out) as temporary, temporary.open("wb") as file:
            np.save(file, z_hat)
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}): choose another --out.") from None
    if save:
        shaper.save(save)
    return shaper


def read_npy(path: Path) -> np.ndarray:
    """A plain array from `.npy`; pickled objects are refused."""
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: give an .npy file.") from None
    except (OSError, ValueError, EOFError):
        raise InputError(
            f"{path} is damaged, or holds something else than a plain array: save it with np.save."
        ) from None
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is an archive of several arrays: give an .npy file with one.")
    return array
