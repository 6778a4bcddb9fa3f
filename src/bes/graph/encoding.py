"""Feature columns of a table to numbers, in a way that can be repeated for rows that come later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """How one column becomes features.

    Attributes:
        name: What the column is called.
        kind: `number` (centred and scaled), `flag` (0 or 1, as it is), `category` (one feature a category)
            or `dropped`.
        center, scale: A number x becomes (x - center) / scale.
        categories: Of a `category`, in order; any other value has none of them.
        missing: One more feature is 1 where the value is missing.
    """

    name: str
    kind: Literal["number", "flag", "category", "dropped"]
    center: float = 0.0
    scale: float = 1.0
    categories: tuple[str, ...] = ()
    missing: bool = False
