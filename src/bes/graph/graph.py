"""What a graph is: features, undirected edges and labels, checked once on the way in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.sparse import Features, Operators, Sparse

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with node features and labels.

    Args:
        x: Features `[N, F]`, dense float32 or :class:`Sparse`. A graph without features (`F = 0`)
            gets one-hot node ids, as sparse as they are.
        edge_index: Edges `[2, E]` as the source stores them; directed, once-stored, doubled and
            looped edges are brought to one form: both directions, no loops, no duplicates, sorted.
        y: Class of each node `[N]`, -1 where unknown.
        name: What the graph is called in records and reports.
        masks: The file's own split masks, `[N]` or `[N, K]` each.
    """

    x: Features
    edge_index: Tensor
    y: Tensor
    name: str = "graph"
    masks: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        x = _check_features(self.x, self.name)
        n = x.shape[0]
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "edge_index", undirected(_check_edges(self.edge_index, n, self.name), n))
        object.__setattr__(self, "y", _check_labels(self.y, n, self.name))
        _check_masks(self.masks, n, self.name)

    @property
    def n_nodes(self) -> int:
        return self.x.shape[0]

    @property
    def n_features(self) -> int:
        return self.x.shape[1]

    @property
    def n_edges(self) -> int:
        """Undirected edges."""
        return self.edge_index.shape[1] // 2

    @property
    def n_classes(self) -> int:
        """One more than the largest label; 0 where no node has one."""
        return int(self.y.max()) + 1

    @property
    def device(self) -> torch.device:
        return self.edge_index.device

    @cached_property
    def operators(self) -> Operators:
        """The propagation matrices, each built on first use."""
        return Operators(self.edge_index, self.n_nodes)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of features, edges and labels, on any device: what a run id stands on."""
        digest = hashlib.sha256(str(tuple(self.x.shape)).encode())
        parts = [self.edge_index, self.y]
        parts += list(self.x.coo()) if isinstance(self.x, Sparse) else [self.x]
        for part in parts:
            digest.update(f"{tuple(part.shape)}{part.dtype}".encode())
            digest.update(part.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def without_labels(self) -> Graph:
        """The same graph with every label unknown: what encoders and decoders are handed."""
        blind = replace(self, y=torch.full_like(self.y, -1), masks={})
        blind.__dict__["operators"] = self.operators  # built once for both
        return blind

    def to(self, device: torch.device | str) -> Graph:
        if torch.device(device) == self.device:
            return self
        masks = {key: mask.to(device) for key, mask in self.masks.items()}
        return replace(
            self, x=self.x.to(device), edge_index=self.edge_index.to(device), y=self.y.to(device), masks=masks
        )

    @classmethod
    def from_pyg(cls, data: Data, name: str = "graph") -> Graph:
        """From a PyG `Data` with `x` (dense or `torch.sparse`), `edge_index` and, if known, `y` and `*_mask`."""
        if data.edge_index is None:
            raise InputError(f"The PyG data of graph '{name}' has no edge_index: give its edges as a (2, E) tensor.")
        n = data.num_nodes
        x = data.x if data.x is not None else torch.zeros(n, 0)
        if x.layout != torch.strided:
            x = x.to_sparse_coo().coalesce()
            row, col = x.indices()
            x = Sparse.from_coo(row, col, x.values(), tuple(x.shape))
        y = data.y if data.y is not None else torch.full((n,), -1)
        masks = {key: data[key] for key in data.keys() if key.endswith("_mask")}  # noqa: SIM118 (not a dict)
        return cls(x, data.edge_index, y.reshape(-1), name, masks)

    def to_pyg(self) -> Data:
        """To a PyG `Data`; sparse features become a `torch.sparse_csr` tensor."""
        from torch_geometric.data import Data

        x = self.x.csr if isinstance(self.x, Sparse) else self.x
        return Data(x=x, edge_index=self.edge_index, y=self.y, **self.masks)


def undirected(edge_index: Tensor, n_nodes: int) -> Tensor:
    """Both directions of every edge once, without loops, sorted by row and column."""
    row, col = edge_index
    keep = row != col
    row, col = row[keep], col[keep]
    keys = torch.unique(torch.cat([row * n_nodes + col, col * n_nodes + row]))
    return torch.stack([keys // n_nodes, keys % n_nodes])


def _check_features(x: Features, name: str) -> Features:
    if len(x.shape) != 2 or x.shape[0] == 0:
        raise InputError(
            f"The features of graph '{name}' have shape {tuple(x.shape)}: give a matrix with a row a node."
        )
    if x.dtype.is_complex:
        raise InputError(f"The features of graph '{name}' are complex numbers: give real ones.")
    if isinstance(x, Sparse):
        x = x if x.dtype == torch.float32 else Sparse(x.csr.to(torch.float32))
    else:
        x = x.to(torch.float32)
    values = x.csr.values() if isinstance(x, Sparse) else x
    bad = int((~torch.isfinite(values)).sum())
    if bad:
        raise InputError(
            f"The features of graph '{name}' hold {bad} values that are NaN or infinite: replace them by numbers first."
        )
    if x.shape[1] == 0:
        node = torch.arange(x.shape[0], device=x.device)
        ones = torch.ones(x.shape[0], device=x.device)
        return Sparse.from_coo(node, node, ones, (x.shape[0], x.shape[0]), symmetric=True)
    return x


def _check_edges(edge_index: Tensor, n: int, name: str) -> Tensor:
    if not _whole(edge_index):
        raise InputError(
            f"The edges of graph '{name}' have dtype {str(edge_index.dtype).removeprefix('torch.')}: "
            "node indices must be integers."
        )
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(
            f"The edges of graph '{name}' have shape {tuple(edge_index.shape)}: give an array of shape (2, E)."
        )
    edge_index = edge_index.long()
    if edge_index.numel() and (int(edge_index.min()) < 0 or int(edge_index.max()) >= n):
        raise InputError(
            f"The edges of graph '{name}' name nodes from {int(edge_index.min())} to {int(edge_index.max())}, "
            f"but it has {n} nodes: indices must lie in 0..{n - 1}."
        )
    return edge_index


def _whole(values: Tensor) -> bool:
    return not (values.dtype.is_floating_point or values.dtype.is_complex or values.dtype == torch.bool)


def _check_labels(y: Tensor, n: int, name: str) -> Tensor:
    if y.dim() != 1 or y.shape[0] != n:
        raise InputError(
            f"The labels of graph '{name}' have shape {tuple(y.shape)}, but it has {n} nodes: "
            "give one class a node, -1 where unknown."
        )
    if not _whole(y) or int(y.long().min()) < -1:
        raise InputError(
            f"The labels of graph '{name}' must be integers from 0, or -1 where unknown: "
            "number the classes 0, 1, 2, ..."
        )
    return y.long()


def _check_masks(masks: dict[str, Tensor], n: int, name: str) -> None:
    for key, mask in masks.items():
        if mask.dtype != torch.bool or mask.dim() not in (1, 2) or mask.shape[0] != n or mask.numel() == 0:
            raise InputError(
                f"The mask '{key}' of graph '{name}' has shape {tuple(mask.shape)} and dtype "
                f"{str(mask.dtype).removeprefix('torch.')}: give booleans of shape ({n},) or ({n}, K)."
            )
