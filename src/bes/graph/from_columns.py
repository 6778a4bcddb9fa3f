"""Classes, splits and features out of the columns of tables, put together as a graph."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.arrays import Array
from bes.graph.encoding import MISSING, encode, learn
from bes.graph.graph import Graph
from bes.graph.names import Names
from bes.graph.sparse import Features, Sparse
from bes.graph.tables import Cells, Table

_INTEGER = re.compile(r"[+-]?\d{1,300}", re.ASCII)  # longer ones Python does not read
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?", re.ASCII)
_NO_CLASS = re.compile(r"-1(\.0*)?")
_PARTS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
_MANY = 20  # more classes than this, and mostly different ones, are probably no classes
_TOO_MANY = 50  # and more than this are none

#: Words that may stand for no class.
_UNKNOWN = MISSING | {"unknown", "unlabelled", "unlabeled", "missing"}


def assemble(
    nodes: Table,
    edges: Table,
    ids: tuple[str, ...],
    ends: Array,
    *,
    features: Sequence[str],
    label: str | None,
    split: str | None,
    edge_label: str | None,
    id_column: str,
    name: str,
    vectors: Tensor | None = None,
    notes: Sequence[str] = (),
) -> Graph:
    """The graph of checked ids and ends `[2, E]`; `vectors` are features that are numbers already."""
    said = [*nodes.notes, *edges.notes, *notes]
    y, classes = _classes(nodes, label, said)
    edge_y, edge_classes = _classes(edges, edge_label, said)
    if edge_label is not None:
        _check_copies(edges, ends, edge_y, edge_classes, ids)
    own = list(ids)
    repeats = [cell for cell in features if nodes.columns[cell] == own]
    said += [
        f"{nodes.column.capitalize()} {cell!r} of {nodes.what} is left out: it repeats the ids." for cell in repeats
    ]
    columns, told = learn(nodes, [cell for cell in features if cell not in repeats])
    x, _ = encode(nodes, columns)
    said += told
    if x.shape[1] == 0 or vectors is not None:
        columns = ()  # these features cannot be made from a table again
    x = x if vectors is None else stack([x, vectors])
    said += _no_features(nodes) if x.shape[1] == 0 else []
    said += _dropped_edges(edges, ends)
    names = Names(ids, id_column, classes, edge_classes, columns, tuple(said), label)
    masks = {} if split is None else _masks(nodes, split)
    return Graph(x, torch.from_numpy(ends), y, name, masks, None if edge_label is None else edge_y, names=names)


def stack(parts: Sequence[Features]) -> Tensor:
    """Features side by side, dense."""
    return torch.cat([part.to_dense() if isinstance(part, Sparse) else part for part in parts], dim=1)


def known_classes(cells: Cells, numeric: bool) -> tuple[Cells, list[str], list[str]]:
    """The cells without what stands for no class: the one rule for every source.

    That is -1 where it is a number (`numeric`), or text among whole numbers; and among whole numbers a word such as NA.

    Returns:
        The cells, the texts of -1 that were left out, and all words such as NA, which are classes where they are left.
    """
    names = {cell: cell.strip() for cell in set(cells) if cell is not None}
    ones = {cell for cell, name in names.items() if _NO_CLASS.fullmatch(name)}
    words = {cell for cell, name in names.items() if name.lower() in _UNKNOWN}
    whole = all(_WHOLE.fullmatch(name) for cell, name in names.items() if cell not in words)
    ones = ones if numeric or whole else set()
    gone = ones | (words if whole and len(words) < len(names) else set())
    kept = [None if cell in gone else cell for cell in cells] if gone else cells
    return kept, sorted(ones), sorted(words)


def number_classes(cells: Cells) -> tuple[Tensor, tuple[str, ...]]:
    """The class of each cell, -1 where there is none, and their names: sorted, as numbers if all are integers."""
    stripped = {cell: cell.strip() for cell in set(cells) if cell is not None}
    names = sorted(set(stripped.values()))
    if all(_INTEGER.fullmatch(name) for name in names):
        names.sort(key=int)
    number = {name: i for i, name in enumerate(names)}
    code = {cell: number[name] for cell, name in stripped.items()}
    return torch.tensor([-1 if cell is None else code[cell] for cell in cells], dtype=torch.int64), tuple(names)


def _classes(table: Table, column: str | None, notes: list[str]) -> tuple[Tensor, tuple[str, ...]]:
    """The classes in a column, if there is one; what is doubtful about them is added to `notes`."""
    if column is None:
        return torch.full((len(table),), -1), ()
    cells, title = table.cells(column), f"{table.column.capitalize()} {column!r} of {table.what}"
    cells, ones, words = known_classes(cells, column in table.numeric)
    if ones:
        notes.append(f"-1 in {table.column} {column!r} stands for no class.")
    if words:
        notes.append(doubtful_word(title, words[0], words[0] in cells))
    y, names = number_classes(cells)
    known = int((y >= 0).sum())
    if len(names) < 2:
        found = f"one class alone, {names[0]!r}" if names else "no class at all"
        notes.append(f"{title} holds {found}: what a class is can be learned from two classes or more.")
    elif len(names) > _TOO_MANY and 2 * len(names) > known:
        raise InputError(
            f"{title} has {len(names)} different values in {known} rows, which looks like a number or a name and "
            f"not like a class: name another {table.column}."
        )
    notes += _odd_classes(title, y, names)
    if _MANY < len(names) <= _TOO_MANY and 2 * len(names) > known:
        notes.append(f"{title} has {len(names)} classes for {known} rows: is it meant as a class?")
    return y, names


def _odd_classes(title: str, y: Tensor, names: tuple[str, ...]) -> list[str]:
    """Notes on classes that may not be meant: of one row, or of one name but for its letters' case."""
    notes = []
    counts = torch.bincount(y[y >= 0], minlength=len(names)).tolist()
    alone = [name for name, count in zip(names, counts, strict=True) if count == 1]
    if 2 * len(alone) < len(names) and alone and sum(counts) > _MANY:  # else there is more to say than that
        notes.append(f"{title} has one row of class {_some(alone)}: it can be trained on or tested, not both.")
    alike = [name for name in names if sum(name.lower() == other.lower() for other in names) > 1]
    if alike:
        notes.append(f"{title} has classes that differ in upper and lower case only, {_some(alike)}: are they one?")
    return notes


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def doubtful_word(title: str, word: str, kept: bool) -> str:
    """What to say of a class that is called NA or the like."""
    if kept:
        return f"{title} has a class called {word!r}: leave the cell empty where it is unknown."
    return f"{title} has {word!r} among its numbers: such a class is taken as unknown."


def _masks(table: Table, column: str) -> dict[str, Tensor]:
    """The split that a column tells in words."""
    cells = table.cells(column)
    part = {cell: _PARTS.get(cell.strip().lower()) for cell in set(cells) if cell is not None}
    for row, cell in enumerate(cells if None in part.values() else []):
        if cell is not None and part[cell] is None:
            raise InputError(
                f"The part {cell!r} in {table.at(row, column)} is not known: use train, val, test or nothing."
            )
    words = np.array(["" if cell is None else part[cell] for cell in cells])
    return {f"{name}_mask": torch.from_numpy(words == name) for name in ("train", "val", "test")}


def _check_copies(edges: Table, ends: Array, label: Tensor, names: Sequence[str], ids: Sequence[str]) -> None:
    """Refuse an edge that is given twice, with two classes."""
    y = label.numpy()
    known = np.flatnonzero((y >= 0) & (ends[0] != ends[1]))
    pairs = np.sort(ends[:, known], axis=0)
    _, first, copy_of = np.unique(pairs[0] * len(ids) + pairs[1], return_index=True, return_inverse=True)
    clash = np.flatnonzero(y[known] != y[known[first[copy_of]]])
    if len(clash):
        again, before = int(known[clash[0]]), int(known[first[copy_of[clash[0]]]])
        one, other = (ids[end] for end in ends[:, again])
        raise InputError(
            f"The edge between {one!r} and {other!r} has the class {names[y[before]]!r} in {edges.row} "
            f"{edges.places[before]} of {edges.what} and {names[y[again]]!r} in {edges.row} {edges.places[again]}: "
            "give all copies and both directions of an edge one class."
        )


def _dropped_edges(edges: Table, ends: Array) -> list[str]:
    if not ends.shape[1]:
        return [f"There are no edges in {edges.what}: nothing passes between nodes."]
    low, high = np.sort(ends, axis=0)
    loops = int((low == high).sum())
    repeats = ends.shape[1] - loops - len(np.unique((low * (high.max(initial=0) + 1) + high)[low != high]))
    found = [f"{loops} from a node to itself"] if loops else []
    found += [f"{repeats} between two nodes that another joins in either direction"] if repeats else []
    return [f"Of {ends.shape[1]} rows of {edges.what} some are left out: {' and '.join(found)}."] if found else []


def _no_features(nodes: Table) -> list[str]:
    return [
        f"There are no feature {nodes.column}s in {nodes.what}: nodes are told apart by their id alone, "
        "so that new nodes cannot be predicted later."
    ]
