"""What was measured, a JSON line each, written as it comes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bes.bench.speed.model import Timing
from bes.bench.units import stamp
from bes.records import versions

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
        with self.path.open("a") as file:
            file.write(json.dumps(line, sort_keys=True) + "\n")

    def lines(self) -> list[Line]:
        """In the order in which they were first measured."""
        if not self.path.exists():
            return []
        found = [json.loads(line) for line in self.path.read_text().splitlines()]
        return list({(line["kind"], line["graph"], line["name"]): line for line in found}.values())

    def known(self, kind: str) -> set[tuple[str, str]]:
        """Graph and name of what this version of the library has measured already."""
        version = versions()["bes"]
        mine = [line for line in self.lines() if line["kind"] == kind and line["versions"]["bes"] == version]
        return {(line["graph"], line["name"]) for line in mine}

    def set_aside(self) -> None:
        """Begin anew; what was there stays beside it."""
        if self.path.exists():
            self.path.replace(self.path.with_suffix(".old.jsonl"))
