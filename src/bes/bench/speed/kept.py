"""What was measured, a JSON line each, written as it comes."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bes.bench.speed.model import Timing
from bes.bench.units import stamp
from bes.files import free_name
from bes.records import append_lines, read_lines, versions

#: The file's name in the folder of the benchmark.
FILE = "timings.jsonl"

#: A line: a `Timing` as `--json` prints it, with day, machine, load and versions.
Line = dict[str, Any]


class Kept:
    """The lines of a folder; the last counts where something was measured again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def add(self, one: Timing) -> None:
        """Append a timing; `load` is how many processes wanted a core in the minute before."""
        load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
        line = {**one.as_dict(), **stamp(), "load": load, "versions": versions()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_lines(self.path, [dict(sorted(line.items()))])

    def lines(self) -> list[Line]:
        """In the order in which they were first measured."""
        found = read_lines(self.path)
        return list({(line["kind"], line["graph"], line["name"]): line for line in found}.values())

    def known(self, kind: str, **same: Any) -> set[tuple[str, str]]:
        """Graph and name of what this version of the library has measured already.

        Args:
            same: Fields that a line must have, with their values.
        """
        version = versions()["bes"]
        mine = [line for line in self.lines() if line["kind"] == kind and line["versions"]["bes"] == version]
        return {(line["graph"], line["name"]) for line in mine if all(line.get(k) == v for k, v in same.items())}

    def forget(self, kinds: Collection[str]) -> None:
        """Begin anew with these kinds of timings; all that was there stays beside it."""
        left = [line for line in self.lines() if line["kind"] not in kinds]
        self.set_aside()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_lines(self.path, left)

    def set_aside(self) -> None:
        """Begin anew; what was there stays beside it."""
        if self.path.exists():
            self.path.rename(free_name(self.path))
