"""Where the boundary is: the slab (Eq. 5), the shift score (Eq. 4), the boundary nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bes.core import rows
from bes.core.neighbors import BLOCK
from bes.core.rows import Rows
from bes.core.search import search

#: Numbers of a block of rows, and of their distances from slabs: 2 MiB each in float64, which stay near the processor.
NEAR = 1 << 18

Origin = Literal["midpoint", "literal"]


@dataclass(frozen=True)
class Slabs:
    """The slabs between all pairs of classes: |normal . z - offset| <= delta.

    Attributes:
        normal: Sigma^-1 (mu_m - mu_n) of each pair `[P, D]`.
        offset: Where the pair's hyperplane lies along it `[P]`.
    """

    normal: Tensor
    offset: Tensor

    @classmethod
    def between(cls, means: Tensor, covariance: Tensor, present: Tensor, origin: Origin = "midpoint") -> Slabs:
        """One slab for each pair of present classes.

        Args:
            means: Class centres `[C, D]`.
            covariance: `[1, D, D]`, or one a class `[C, D, D]`: then a pair has the mean of its two.
            present: Classes that have members `[C]`.
            origin: `midpoint` centres the slab between the two centres; `literal` is Eq. 5 as printed,
                whose slab lies around the origin of the embedding space.
        """
        classes = present.nonzero().flatten()
        pairs = torch.combinations(classes, 2)
        first, second = pairs.T
        gap = means[first] - means[second]
        if covariance.shape[0] == 1:
            normal = torch.linalg.solve(covariance[0], gap.T).T
        else:
            normal = torch.empty_like(gap)
            step = max(1, BLOCK // covariance[0].numel())  # D x D numbers a pair: in blocks
            for start in range(0, pairs.shape[0], step):
                part = slice(start, start + step)
                sigma = (covariance[first[part]] + covariance[second[part]]) / 2
                normal[part] = torch.linalg.solve(sigma, gap[part])
        middle = (means[first] + means[second]) / 2
        offset = (normal * middle).sum(1) if origin == "midpoint" else torch.zeros_like(normal[:, 0])
        return cls(normal, offset)

    def contains(self, z: Rows, delta: float) -> Tensor:
        """Rows of `z` `[N, D]` that lie in the slab of any pair, `[N]` bool: the region B of Eq. 5."""
        inside = torch.zeros(z.shape[0], dtype=torch.bool, device=z.device)
        if not self.offset.numel():
            return inside
        # of very many pairs some rows at a time, or their normals would be read anew for each
        pairs, width = self.offset.numel(), z.shape[1]
        step = max(1, min(max(NEAR // max(width, pairs), min(64, BLOCK // pairs)), rows.WHOLE // width))
        for start in range(0, z.shape[0], step):
            part = slice(start, start + step)
            distance = torch.addmm(self.offset, z[part].to(self.normal), self.normal.T, beta=-1)
            inside[part] = distance.abs_().amin(1) <= delta
        return inside


def shift_scores(nodes: Tensor, z: Rows, y: Tensor, k: int) -> Tensor:
    """Eq. 4 in embedding space: the share of the k nearest labelled nodes that have another class.

    Args:
        nodes: Rows to score, indices into `z` `[B]`.
        z: Embeddings of the labelled nodes `[n, D]`.
        y: Their classes `[n]`.

    Returns:
        S(v) `[B]`; zero when there is no other node.
    """
    neighbor = search(nodes, z, k)
    if neighbor.shape[1] == 0:
        return torch.zeros(nodes.numel(), dtype=z.dtype, device=z.device)
    return (y[neighbor] != y[nodes][:, None]).to(z.dtype).mean(1)


def graph_shift_scores(nodes: Tensor, y: Tensor, edge_index: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Eq. 4 with the graph's own neighbours: the share of labelled neighbours with another class.

    Args:
        nodes: Nodes to score `[B]`.
        y: Classes of all nodes `[N]`, -1 where unknown; unknown neighbours do not count.
        edge_index: Edges `[2, E]`, both directions of each.

    Returns:
        S(v) `[B]`; zero for a node without labelled neighbours.
    """
    row, col = edge_index
    known = (y[col] >= 0) & (row != col)
    row, col = row[known], col[known]
    n = y.shape[0]
    degree = torch.bincount(row, minlength=n)
    other = torch.bincount(row[y[row] != y[col]], minlength=n)
    return (other[nodes] / degree[nodes].clamp(min=1)).to(dtype)
