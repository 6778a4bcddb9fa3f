"""What a graph is: features, undirected edges and labels, checked once on the way in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.edges import PAIRS, check_edge_labels, check_edges, check_pairs, undirected, undirected_labels, whole
from bes.graph.names import Names
from bes.graph.sparse import Features, Operators, Sparse

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with node features and labels.

    Args:
        x: Features `[N, F]`, dense float32 or `Sparse`. A graph without features (`F = 0`)
            gets one-hot node ids, as sparse as they are.
        edge_index: Edges `[2, E]` as the source stores them; directed, once-stored, doubled and
            looped edges are brought to one form: both directions, no loops, no duplicates, sorted.
        y: Class of each node `[N]`, -1 where unknown.
        name: What the graph is called in records and reports.
        masks: The file's own split masks, `[N]` or `[N, K]` each.
        edge_label: Class of each edge `[E]`, -1 where unknown, in the order of the `edge_index` given;
            kept in the order of the one form, where both directions have the same class.
        pairs: The source's own link split, node pairs `[2, n]` under `val_edges`, `test_edges`,
            `val_negatives` and `test_negatives`. They are no part of `edge_index`.
        names: Ids and class names of the owner's own; without them nodes and classes are called by their numbers.
    """

    x: Features
    edge_index: Tensor
    y: Tensor
    name: str = "graph"
    masks: dict[str, Tensor] = field(default_factory=dict)
    edge_label: Tensor | None = None
    pairs: dict[str, Tensor] = field(default_factory=dict)
    names: Names | None = None

    def __post_init__(self) -> None:
        x = _check_features(self.x, self.name)
        n = x.shape[0]
        object.__setattr__(self, "x", x)
        edges = check_edges(self.edge_index, n, self.name)
        if self.edge_label is not None:
            label = check_edge_labels(self.edge_label, edges.shape[1], self.name)
            object.__setattr__(self, "edge_label", undirected_labels(edges, label, n, self.name))
        object.__setattr__(self, "edge_index", undirected(edges, n))
        object.__setattr__(self, "y", _check_labels(self.y, n, self.name))
        _check_masks(self.masks, n, self.name)
        object.__setattr__(self, "pairs", check_pairs(self.pairs, n, self.name))
        if self.names is not None:
            self.names.check(n, self.n_classes, self.n_edge_classes, self.name)

    def __getstate__(self) -> dict[str, Any]:
        """What another process is sent: not the copies with scaled features, which it makes faster itself."""
        return {name: value for name, value in self.__dict__.items() if name != "scaled"}

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
    def n_edge_classes(self) -> int:
        """One more than the largest edge label; 0 where no edge has one."""
        label = self.edge_label
        return 0 if label is None or label.numel() == 0 else int(label.max()) + 1

    @property
    def ids(self) -> Sequence[str]:
        """What each node is called."""
        return self.names.ids if self.names else [str(i) for i in range(self.n_nodes)]

    @property
    def class_names(self) -> tuple[str, ...]:
        """What each class is called."""
        own = self.names.classes[: self.n_classes] if self.names else ()
        return own or tuple(str(c) for c in range(self.n_classes))

    @property
    def device(self) -> torch.device:
        return self.edge_index.device

    @cached_property
    def operators(self) -> Operators:
        """The propagation matrices, each built on first use."""
        return Operators(self.edge_index, self.n_nodes)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of features, edges, labels and pairs, on any device: what a run id stands on."""
        digest = hashlib.sha256(str(tuple(self.x.shape)).encode())
        parts = [("", part) for part in (self.edge_index, self.y)]
        parts += [("", part) for part in (self.x.coo() if isinstance(self.x, Sparse) else [self.x])]
        # These go last and under their names, so that a graph without them keeps the hash it always had.
        parts += [] if self.edge_label is None else [("edge_label", self.edge_label)]
        parts += self.pairs.items()
        for name, part in parts:
            digest.update(f"{name}{tuple(part.shape)}{part.dtype}".encode())
            digest.update(part.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def without_labels(self) -> Graph:
        """The same graph with every label unknown, and no held-out pairs: what encoders and decoders are handed."""
        blind = replace(self, y=torch.full_like(self.y, -1), masks={}, edge_label=None, pairs={})
        blind.__dict__["operators"] = self.operators  # built once for both
        return blind

    def weighted(self, weight: Tensor) -> Graph:
        """The same graph, propagating by a weight of each edge, in the order of `edge_index` `[E]`."""
        found = replace(self)
        found.__dict__["operators"] = Operators(self.edge_index, self.n_nodes, weight=weight)
        return found

    def to(self, device: torch.device | str) -> Graph:
        if torch.device(device) == self.device:
            return self
        moved = replace(
            self,
            x=self.x.to(device),
            edge_index=self.edge_index.to(device),
            y=self.y.to(device),
            masks={key: mask.to(device) for key, mask in self.masks.items()},
            edge_label=None if self.edge_label is None else self.edge_label.to(device),
            pairs={key: pair.to(device) for key, pair in self.pairs.items()},
        )
        weight = self.operators.weight
        return moved if weight is None else moved.weighted(weight.to(device))

    @classmethod
    def from_pyg(cls, data: Data, name: str = "graph") -> Graph:
        """From a PyG `Data` with `x` (dense or `torch.sparse`), `edge_index` and, if known, `y` and `*_mask`.

        An `edge_label` counts where it has one entry an edge; pairs under the names of `Graph.pairs` are taken over.
        """
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
        pairs = {key: data[key] for key in PAIRS if key in data}
        return cls(x, data.edge_index, y.reshape(-1), name, masks, _pyg_edge_label(data), pairs)

    def to_pyg(self) -> Data:
        """To a PyG `Data`; sparse features become a `torch.sparse_csr` tensor."""
        from torch_geometric.data import Data

        x = self.x.csr if isinstance(self.x, Sparse) else self.x
        label = {} if self.edge_label is None else {"edge_label": self.edge_label}
        return Data(x=x, edge_index=self.edge_index, y=self.y, **label, **self.pairs, **self.masks)


def _pyg_edge_label(data: Data) -> Tensor | None:
    """PyG's link splits use the same name for pairs of their own, in `edge_label_index`: those are not meant."""
    if "edge_label" not in data or "edge_label_index" in data:
        return None
    label: Tensor = data.edge_label.reshape(-1)
    return label if label.shape[0] == data.edge_index.shape[1] else None


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


def _check_labels(y: Tensor, n: int, name: str) -> Tensor:
    if y.dim() != 1 or y.shape[0] != n:
        raise InputError(
            f"The labels of graph '{name}' have shape {tuple(y.shape)}, but it has {n} nodes: "
            "give one class a node, -1 where unknown."
        )
    if not whole(y) or int(y.long().min()) < -1:
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
