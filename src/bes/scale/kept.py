"""What a rank leaves of its own nodes: a file a tensor, written when it is there and read as a map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bes.core.rows import write_npy
from bes.files import whole_file


class Kept:
    """Tensors of own nodes `[n, ...]` by name.

    Args:
        folder: `FOLDER/NAME-RANK.npy`.
        rank: Whose nodes they are.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self.folder, self.rank = folder, rank

    def keep(self, name: str, tensor: Tensor) -> Tensor:
        """Write a matrix `[n, d]`, whole or not at all; on a CPU a map of the file comes back in its place."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with whole_file(self._path(name)) as temporary:
            write_npy(temporary, tensor)
        return self.load(name) if tensor.device.type == "cpu" else tensor

    def load(self, name: str) -> Tensor:
        """A map of what was kept: what is never touched takes no memory."""
        return torch.from_numpy(np.load(self._path(name), mmap_mode="c"))

    def names(self) -> list[str]:
        """Of all that was kept."""
        return sorted(path.name.rpartition("-")[0] for path in self.folder.glob(f"*-{self.rank}.npy"))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}-{self.rank}.npy"
