"""What goes into the shaper: embeddings, labels and edges as numpy or torch, or embeddings as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils.validation import validate_data
from torch import Tensor

from bes import seeding
from bes.core.attention import Neighborhoods
from bes.core.group import ALONE, Group
from bes.core.rows import Mapped, Rows, check_finite, is_large_map
from bes.errors import InputError

if TYPE_CHECKING:
    from bes.core.shaper import BoundaryShaper

#: numpy arrays or torch tensors; what comes out is of the kind that went in.
Array = Any


def read(shaper: BoundaryShaper, X: Array, edge_index: Array | None, *, reset: bool) -> tuple[Rows, Tensor | None]:
    """Embeddings `[N, D]` where they are worked on, a large map left in its file, and the edges if they are used.

    Args:
        reset: The shaper learns the width from X, and its names of columns; without it X must have them.
    """
    z: Rows
    if isinstance(X, Tensor):
        z = as_tensor(X, X.device if shaper.device == "auto" else seeding.pick_device(shaper.device))
        _check_width(shaper, z, reset=reset)
    elif is_large_map(X) and shaper.scope in ("views", "self") and shaper.labels == "given":
        z = Mapped(X, seeding.pick_device(shaper.device))
        _check_width(shaper, z, reset=reset)
        check_finite(z)
    else:
        try:
            X = validate_data(shaper, X, dtype=[np.float64, np.float32], reset=reset)
        except ValueError as error:
            raise InputError(str(error).replace("\n", " ")) from None
        z = as_tensor(X, seeding.pick_device(shaper.device))
    if edge_index is None:
        return z, None
    edges = as_edges(edge_index, z.shape[0], z.device)
    used = shaper.scope == "neighbors" or shaper.neighborhood == "graph" or shaper.labels == "soft"
    return z, both_directions(edges, z.shape[0]) if used else None


def _check_width(shaper: BoundaryShaper, z: Rows, *, reset: bool) -> None:
    if reset:
        shaper.n_features_in_ = z.shape[1]
        if hasattr(shaper, "feature_names_in_"):  # of an earlier fit on a data frame
            del shaper.feature_names_in_
    elif z.shape[1] != shaper.n_features_in_:
        raise InputError(f"z has {z.shape[1]} columns, but fit saw {shaper.n_features_in_}: give the same width.")


def neighborhoods(shaper: BoundaryShaper, edges: Tensor | None, n: int) -> Neighborhoods | None:
    """Who attends to whom, where the scope needs it."""
    if shaper.scope != "neighbors":
        return None
    if edges is None:
        raise InputError("scope='neighbors' needs the graph: give edge_index.")
    return Neighborhoods.of(edges, n)


def as_tensor(z: Array, device: torch.device) -> Tensor:
    """Embeddings `[N, D]` as a float tensor on `device`, checked; float64 stays float64."""
    given: Tensor = z.detach() if isinstance(z, Tensor) else torch.from_numpy(np.require(z, requirements=["C", "W"]))
    if given.dim() != 2 or 0 in given.shape:
        raise InputError(f"z has shape {tuple(given.shape)}: give a matrix with a row a node.")
    if given.dtype.is_complex:
        raise InputError("z holds complex numbers: give real ones.")
    bad = int((~torch.isfinite(given)).sum())
    if bad:
        raise InputError(f"z holds {bad} values that are NaN or infinite: replace them by numbers first.")
    return given.to(device, given.dtype if given.dtype == torch.float64 else torch.float32)


def like(out: Tensor, z: Array) -> Array:
    """`out` as the kind of array that `z` is, on its device."""
    return out.to(z.device) if isinstance(z, Tensor) else out.cpu().numpy()


def encode_labels(y: Array, n: int, group: Group = ALONE) -> tuple[np.ndarray, Tensor]:
    """The classes of all ranks and, for each node, its class's position among them or -1 where `y` is -1."""
    if y is None:
        raise InputError("BoundaryShaper requires y to be passed, but the target y is None: give a label a row of z.")
    values = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if values.ndim != 1 or values.shape[0] != n:
        raise InputError(f"y has shape {values.shape}, but z has {n} rows: give one label a row, -1 where unknown.")
    if values.dtype.kind == "O":
        values = np.array(["-1" if _no_value(value) else str(value) for value in values.tolist()])
    if values.dtype.kind == "S":
        values = values.astype(str)
    if values.dtype.kind == "f" and not np.equal(values, np.round(values)).all():
        raise InputError("y holds NaN or fractions: give a class a row, and -1 where it is unknown.")
    if values.dtype.kind not in "biufU":
        raise InputError(f"y holds {values.dtype}: give classes as whole numbers or as text, -1 where unknown.")
    known = values != ("-1" if values.dtype.kind == "U" else -1)
    classes, codes = np.unique(values[known], return_inverse=True)
    if group.size > 1:
        if values.dtype.kind == "U":
            raise InputError("y holds text, and ranks exchange numbers only: give classes as whole numbers.")
        classes = np.unique(group.gather(torch.from_numpy(classes.astype(np.int64))).cpu().numpy())
        codes = np.searchsorted(classes, values[known])
    if len(classes) < 2:
        state = "no label" if len(classes) == 0 else "one class only"
        raise InputError(f"y holds {state}: shaping needs labelled nodes of at least two classes.")
    encoded = np.full(n, -1, dtype=np.int64)
    encoded[known] = codes
    return classes, torch.from_numpy(encoded)


def _no_value(value: Any) -> bool:
    """None, NaN, or what data frames have for it, which will not even say whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def as_edges(edge_index: Array, n: int, device: torch.device) -> Tensor:
    """Edges `[2, E]` on `device`, checked."""
    given = edge_index if isinstance(edge_index, Tensor) else np.asarray(edge_index)
    kind, shape = given.dtype, tuple(given.shape)
    if isinstance(kind, torch.dtype):
        whole = not (kind.is_floating_point or kind.is_complex or kind == torch.bool)
    else:
        whole = kind.kind in "iu"
    if not whole or len(shape) != 2 or shape[0] != 2:
        raise InputError(
            f"edge_index has shape {shape} and dtype {str(kind).removeprefix('torch.')}: give integers of shape (2, E)."
        )
    edges = given.long() if isinstance(given, Tensor) else torch.from_numpy(given.astype(np.int64))
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= n):
        raise InputError(
            f"edge_index names nodes from {int(edges.min())} to {int(edges.max())}, but z has {n} rows: "
            f"indices must lie in 0..{n - 1}."
        )
    return edges.to(device)


def both_directions(edges: Tensor, n: int) -> Tensor:
    """Every edge of `[2, E]` in both directions, once."""
    keys = torch.unique(torch.cat([edges[0] * n + edges[1], edges[1] * n + edges[0]]))
    return torch.stack([keys // n, keys % n])
