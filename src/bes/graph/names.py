"""What a graph's owner calls its nodes and classes, and how the features were made: it all comes back in the output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bes.errors import InputError
from bes.graph.encoding import Column


@dataclass(frozen=True)
class Names:
    """Ids and class names of one's own graph.

    Args:
        ids: The id of each node, in order.
        id_column: What the ids are called.
        classes: The name of each class, in order.
        edge_classes: The name of each class of edges, in order.
        columns: How each feature column was encoded; empty where features came as numbers.
        label_column: What the column of the classes is called, if there was one.
        notes: What happened to the input on the way, a sentence each.
    """

    ids: tuple[str, ...]
    id_column: str = "node"
    classes: tuple[str, ...] = ()
    edge_classes: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    label_column: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Names:
        """What `to_json` wrote; raises ValueError, KeyError or TypeError on anything else."""
        found: dict[str, Any] = json.loads(text)
        plain = {key: tuple(found[key]) for key in ("ids", "classes", "edge_classes", "notes")}
        columns = tuple(Column(**{**column, "categories": tuple(column["categories"])}) for column in found["columns"])
        return cls(id_column=found["id_column"], columns=columns, label_column=found.get("label_column"), **plain)

    def check(self, n_nodes: int, n_classes: int, n_edge_classes: int, graph: str) -> None:
        """Refuse names that do not fit a graph of these counts."""
        if len(self.ids) != n_nodes:
            raise InputError(f"Graph '{graph}' has {n_nodes} nodes but {len(self.ids)} ids: give one id a node.")
        if len(set(self.ids)) < len(self.ids):
            twice = Counter(self.ids).most_common(1)[0][0]
            raise InputError(f"Graph '{graph}' has the node id {twice!r} twice: use each once.")
        for names, n, what in (
            (self.classes, n_classes, "classes"),
            (self.edge_classes, n_edge_classes, "edge classes"),
        ):
            _check_classes(names, n, what, graph)


def _check_classes(names: Sequence[str], n: int, what: str, graph: str) -> None:
    if names and len(names) < n:
        raise InputError(f"Graph '{graph}' has {n} {what} but {len(names)} names for them: name each.")
    if len(set(names)) < len(names):
        raise InputError(f"The names of the {what} of graph '{graph}' are not all different: use each once.")
