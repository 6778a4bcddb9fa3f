"""Tables and numbers of the page of speed."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def one(value: float | None) -> str:
    """With one decimal; nothing for None."""
    return "" if value is None else f"{value:.1f}"


def two(value: float | None) -> str:
    """With two."""
    return "" if value is None else f"{value:.2f}"
