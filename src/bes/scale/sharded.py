"""Where a stage stands, saved a shard a rank: a step counts when every rank has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from bes.files import whole_file
from bes.scale.ranks import Ranks

#: Under which name the JSON text lies in a file's metadata.
_STATE = "bes"

#: Steps of a stage that a rank keeps: the last may not have reached every rank when one is killed.
KEPT = 2

#: Tensors by name, and what JSON knows beside them.
State = tuple[dict[str, Tensor], dict[str, Any]]


class Shards:
    """The saved steps of the stages of a run.

    Ranks save in step, so that the last steps of two of them are at most one apart.

    Args:
        folder: `FOLDER/STAGE/STEP-RANK.safetensors`; ranks on different machines may each have their own disk.
        ranks: Whose shards they are.
    """

    def __init__(self, folder: Path, ranks: Ranks) -> None:
        self.folder, self.ranks = folder, ranks

    def save(self, stage: str, step: int, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Keep this rank's shard of a step; it appears whole or not at all."""
        place = self.folder / stage
        place.mkdir(parents=True, exist_ok=True)
        ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        with whole_file(place / self._name(step)) as temporary:
            temporary.write_bytes(save(ready, {_STATE: json.dumps(state)}))
        for old in self._steps(stage)[:-KEPT]:
            (place / self._name(old)).unlink(missing_ok=True)

    def load(self, stage: str) -> State | None:
        """This rank's shard of the last step that every rank has, on this rank's device; None without one."""
        last = max(self._steps(stage), default=-1)
        common = int(self.ranks.minimum(torch.tensor(last, device=self.ranks.device)))
        path = self.folder / stage / self._name(common)
        there = torch.tensor(int(path.exists()), device=self.ranks.device)
        if not int(self.ranks.minimum(there)):
            return None
        with safe_open(str(path), framework="pt", device=str(self.ranks.device)) as file:
            state = json.loads((file.metadata() or {})[_STATE])
            return {name: file.get_tensor(name) for name in file.keys()}, state  # noqa: SIM118 (not a dict)

    def _name(self, step: int) -> str:
        return f"{step:08d}-{self.ranks.rank}.safetensors"

    def _steps(self, stage: str) -> list[int]:
        """The steps of this rank, ascending."""
        return sorted(
            int(path.name[:8]) for path in (self.folder / stage).glob(f"[0-9]*-{self.ranks.rank}.safetensors")
        )
