"""A graph of NetworkX: its node attributes are the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bes.errors import InputError
from bes.graph.arrays import Array
from bes.graph.from_columns import assemble
from bes.graph.graph import Graph
from bes.graph.tables import Cells, Table, as_name, is_nested, text_of

#: What a node or an edge carries under one name.
Values = list[Any]


def from_networkx(
    graph: Any,
    *,
    label: str | None = None,
    features: Iterable[str] | None = None,
    split: str | None = None,
    edge_label: str | None = None,
    name: str | None = None,
) -> Graph:
    """The graph of a NetworkX `Graph`, `DiGraph` or multigraph; directed edges become undirected.

    Args:
        graph: Nodes are called by their keys, as text.
        label: The node attribute with the class.
        features: The node attributes that are features, all but `label` and `split` unless given. They are encoded
            as the columns of `from_csv`; a list of numbers, of the same length for every node, is taken as it is.
        split: The node attribute with the words train, val and test.
        edge_label: The edge attribute with the class of the edge.
        name: What the graph is called; as in NetworkX unless given.
    """
    if not (hasattr(graph, "nodes") and hasattr(graph, "is_directed")):
        raise InputError(f"A {type(graph).__name__} was given as the graph: give one of NetworkX.")
    name = name or str(graph.name) or "graph"
    ids = _ids(graph, name)
    found = _gather([data for _, data in graph.nodes(data=True)])
    label, split, edge_label = map(as_name, (label, split, edge_label))
    chosen = [key for key in found if key not in (label, split)] if features is None else [str(key) for key in features]
    flat, vectors, notes = _separate(found, chosen, ids, name, strict=features is not None)
    what = f"graph '{name}'"
    for role in (label, split):
        if role is not None and role in found and role not in flat:
            node = next(key for key, value in zip(ids, found[role], strict=True) if is_nested(value))
            raise _nested(role, f"node {node!r}", what, "a node")
    nodes = Table(what, flat, [repr(key) for key in ids], "node", "attribute", numeric=_numeric(found, flat, label))
    nodes.distinct(label, split, *(key for key in chosen if key in flat or key not in found))
    ends, edges = _edges(graph, edge_label, what)
    if graph.is_directed():
        notes.append(f"Graph '{name}' is directed: its edges are taken in both directions.")
    return assemble(
        nodes,
        edges,
        ids,
        ends,
        features=[key for key in chosen if key in flat],
        label=label,
        split=split,
        edge_label=edge_label,
        id_column="node",
        name=name,
        vectors=vectors,
        notes=notes,
    )


def _ids(graph: Any, name: str) -> tuple[str, ...]:
    if not len(graph):
        raise InputError(f"Graph '{name}' has no nodes: give some.")
    known: dict[str, object] = {}
    for key in graph:
        text = str(key) if is_nested(key) else text_of(key) or ""
        if text in known:
            raise InputError(
                f"The nodes {known[text]!r} and {key!r} of graph '{name}' are both called {text!r}: rename one."
            )
        if not text.strip():
            raise InputError(f"The node {key!r} of graph '{name}' has a blank name: rename it.")
        known[text] = key
    return tuple(known)


def _edges(graph: Any, edge_label: str | None, what: str) -> tuple[Array, Table]:
    """The rows `[2, E]` of the nodes that are joined, and the classes of the edges as a table."""
    row = {key: i for i, key in enumerate(graph)}
    pairs = list(graph.edges(data=True))
    ends = np.array([[row[u] for u, *_ in pairs], [row[v] for _, v, _ in pairs]], dtype=np.int64).reshape(2, -1)
    places = [(u, v) for u, v, _ in pairs]
    if edge_label is None:
        return ends, Table(what, {}, places, "edge", "attribute")
    found = _gather([data for *_, data in pairs]).get(edge_label, [])
    if all(value is None for value in found):
        raise InputError(f"No edge of {what} has a class under the attribute {edge_label!r}: name one that some have.")
    nested = next((place for place, value in zip(places, found, strict=True) if is_nested(value)), None)
    if nested is not None:
        raise _nested(edge_label, f"edge {nested}", what, "an edge")
    flat = {edge_label: [text_of(value) for value in found]}
    return ends, Table(what, flat, places, "edge", "attribute", numeric=_numeric({edge_label: found}, flat, edge_label))


def _nested(attribute: str, place: str, what: str, each: str) -> InputError:
    return InputError(
        f"The attribute {attribute!r} of {place} of {what} is a list or the like: name one with one value {each}."
    )


def _numeric(found: Mapping[str, Values], flat: Mapping[str, Cells], label: str | None) -> frozenset[str]:
    """The attribute with the classes, if a -1 in it is a number and not text."""
    if label is None or label not in flat:
        return frozenset()
    pairs = zip(found[label], flat[label], strict=True)
    return frozenset([label] if any(cell == "-1" and not isinstance(value, str) for value, cell in pairs) else [])


def _gather(rows: Sequence[Mapping[Any, Any]]) -> dict[str, Values]:
    """The attributes by name, in the order in which they appear; None where a row has none."""
    names = {name: str(name) for row in rows for name in row}
    return {text: [row.get(name) for row in rows] for name, text in names.items()}


def _separate(
    found: dict[str, Values], chosen: Sequence[str], ids: Sequence[str], name: str, *, strict: bool
) -> tuple[dict[str, Cells], Tensor | None, list[str]]:
    """Attributes of one value a node as cells, the chosen vectors as features; others are left out, or refused."""
    flat: dict[str, Cells] = {}
    parts, notes = [], []
    for key, values in found.items():
        nested = [i for i, value in enumerate(values) if is_nested(value)]
        if not nested:
            flat[key] = [text_of(value) for value in values]
        elif key in chosen and (strict or _is_numbers(values[nested[0]])):
            parts.append(_vectors(key, values, ids, name))
        elif key in chosen:
            notes.append(f"Attribute {key!r} of graph '{name}' is left out: it is no number, text or list of numbers.")
    return flat, torch.cat(parts, dim=1) if parts else None, notes


def _vectors(key: str, values: Values, ids: Sequence[str], name: str) -> Tensor:
    """An attribute that is a list of numbers, of one length."""
    width = next(len(value) for value in values if is_nested(value))
    for node, value in zip(ids, values, strict=True):
        if not _is_numbers(value) or len(value) != width or not np.isfinite(_floats(value)).all():
            raise InputError(
                f"The attribute {key!r} of node {node!r} of graph '{name}' is not a list of {width} finite numbers: "
                "give every node one, or name other features."
            )
    return torch.from_numpy(np.stack([_floats(value) for value in values]))


def _is_numbers(value: object) -> bool:
    """Whether this is a list of numbers."""
    if not is_nested(value) or isinstance(value, (set, dict)):
        return False
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        return False
    return array.ndim == 1 and array.dtype.kind in "iufb"


def _floats(value: Any) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(np.float32)
