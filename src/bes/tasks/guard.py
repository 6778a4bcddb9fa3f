"""The test part opens once for an arm."""

from __future__ import annotations


class Guard:
    """Remembers for which arms the test part was opened."""

    def __init__(self) -> None:
        self._opened: set[str] = set()

    def open(self, arm: str) -> None:
        if arm in self._opened:
            raise RuntimeError(f"The test part was already opened for arm '{arm}'.")
        self._opened.add(arm)
