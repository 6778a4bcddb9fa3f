"""A graph cut for ranks: each keeps its own nodes and knows the neighbours of theirs that others keep, its halo."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bes.files import whole_file
from bes.graph.graph import Graph
from bes.graph.sparse import Features, Sparse


@dataclass(frozen=True, eq=False)
class GraphPart:
    """What one of P ranks holds of a graph: n own nodes, and of its h halo nodes their numbers alone.

    A node's local number is its place among the own nodes, or n + its place in the halo.

    Attributes:
        own: Numbers of the own nodes in the whole graph `[n]`, ascending.
        halo: Numbers of the others' nodes with an own neighbour `[h]`, by the rank that owns them, then ascending.
        x: Features of the own nodes `[n, F]`.
        pointer, column: Every edge that enters an own node: those of node i come from the nodes
            `column[pointer[i]:pointer[i + 1]]`, local numbers; int32 where they fit.
        degree: Neighbours in the whole graph of own and halo nodes `[n + h]`.
        send: Local numbers of the own nodes that other ranks have in their halos, rank by rank `[s]`.
        send_counts: How many of them each rank gets `[P]`.
        receive_counts: How many halo nodes each rank owns `[P]`.
    """

    own: Tensor
    halo: Tensor
    x: Features
    pointer: Tensor
    column: Tensor
    degree: Tensor
    send: Tensor
    send_counts: Tensor
    receive_counts: Tensor

    @property
    def n_own(self) -> int:
        return self.own.numel()

    @property
    def n_local(self) -> int:
        """Own and halo nodes."""
        return self.own.numel() + self.halo.numel()

    @property
    def edge_index(self) -> Tensor:
        """The edges as pairs of local numbers `[2, e]`, sorted by the first row; made anew, and large."""
        row = torch.repeat_interleave(self.pointer.diff().long())
        return torch.stack([row, self.column.long()])

    def to(self, device: torch.device | str) -> GraphPart:
        return GraphPart(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})

    def save(self, path: Path) -> None:
        """Write the part as one safetensors file, whole or not at all."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "x"}
        if isinstance(self.x, Sparse):
            csr = self.x.csr
            tensors |= {"x.pointer": csr.crow_indices(), "x.column": csr.col_indices(), "x.value": csr.values()}
            tensors["x.width"] = torch.tensor(self.x.shape[1])
        else:
            tensors["x"] = self.x
        with whole_file(path) as temporary:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary)

    @classmethod
    def load(cls, path: Path) -> GraphPart:
        """Read a part that `save` wrote, as a map of the file: what is never touched takes no memory."""
        tensors = load_file(path)
        if "x" not in tensors:
            pointer, column, value, width = (tensors.pop(f"x.{of}") for of in ("pointer", "column", "value", "width"))
            tensors["x"] = Sparse(csr_of(pointer, column, value, int(width)))
        return cls(**tensors)


def csr_of(pointer: Tensor, column: Tensor, value: Tensor, width: int) -> Tensor:
    """A CSR matrix of these very tensors, `[len(pointer) - 1, width]`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        shape = (pointer.numel() - 1, width)
        return torch.sparse_csr_tensor(pointer, column, value, size=shape, check_invariants=False)


def cut(graph: Graph, part: Tensor, size: int) -> Iterator[GraphPart]:
    """The parts of `size` ranks, one after another, for the rank of each node `part` `[N]`.

    Parts may differ in size; none may be empty.
    """
    row, col = graph.edge_index
    degree = torch.bincount(row, minlength=graph.n_nodes)
    place = torch.empty_like(part)
    for rank in range(size):
        own = (part == rank).nonzero().flatten()
        mine = part[row] == rank
        here, there = row[mine], col[mine]
        owner = part[there]
        halo = torch.unique(there[owner != rank])
        halo = halo[torch.argsort(part[halo], stable=True)]
        local = torch.cat([own, halo])
        place[local] = torch.arange(local.numel(), device=part.device)
        index = torch.int32 if max(here.numel(), local.numel()) < 2**31 else torch.int64
        starts = torch.cat([degree.new_zeros(1), degree[own].cumsum(0)])
        wanted = [torch.unique(here[owner == other]) if other != rank else own[:0] for other in range(size)]
        yield GraphPart(
            own=own,
            halo=halo,
            x=_rows(graph.x, own),
            pointer=starts.to(index),
            column=place[there].to(index),
            degree=degree[local],
            send=place[torch.cat(wanted)],
            send_counts=torch.tensor([nodes.numel() for nodes in wanted]),
            receive_counts=torch.bincount(part[halo], minlength=size),
        )


def _rows(x: Features, nodes: Tensor) -> Features:
    """The features of `nodes`, which are ascending."""
    if not isinstance(x, Sparse):
        return x[nodes]
    row, col, value = x.coo()
    place = torch.full((x.shape[0],), -1, device=row.device)
    place[nodes] = torch.arange(nodes.numel(), device=row.device)
    kept = place[row] >= 0
    return Sparse.from_coo(place[row[kept]], col[kept], value[kept], (nodes.numel(), x.shape[1]))
