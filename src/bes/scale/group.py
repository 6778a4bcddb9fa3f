"""The seam of exact shaping (`bes.core.group`) on the parts of a graph."""

from __future__ import annotations

import torch
from torch import Tensor

from bes.scale.exchange import Halo
from bes.scale.halo import GraphPart
from bes.scale.ranks import Ranks


class RankGroup:
    """A `bes.core.group.Group` whose rows are the nodes of parts.

    Args:
        part: What this rank holds.
        halo: For what looks at neighbours in the graph: rows of z are then own rows, and after them those of the halo.
        ranks: All of them.
    """

    def __init__(self, part: GraphPart, halo: Halo | None, ranks: Ranks) -> None:
        self.rank, self.size = ranks.rank, ranks.size
        self.own: int | None = part.n_own
        self.sum, self.minimum, self.gather = ranks.sum, ranks.minimum, ranks.gather
        self._numbers, self._halo = part.own, halo

    def numbers(self, rows: Tensor) -> Tensor:
        """The numbers of own rows `[n]` in the whole graph."""
        return self._numbers[rows]

    def extended(self, own: Tensor) -> Tensor:
        """Own rows, followed by those of the halo where there is one."""
        return own if self._halo is None else self._halo.extend(own)

    def refresh(self, z: Tensor) -> Tensor:
        """`z` with the halo's rows as their owners have them."""
        return z if self._halo is None else torch.cat([z[: self.own], self._halo.fetch(z[: self.own])])
