"""What the pages written from recorded runs share."""

from __future__ import annotations

import gzip
import json
import os
import platform
from datetime import date
from pathlib import Path

import torch

from bes.summary import Record

ROOT = Path(__file__).resolve().parent.parent


def stamped(cell: str, records: list[Record]) -> list[Record]:
    """Records with the cell of the page they belong to, the day and the machine."""
    gpu = "a" if torch.cuda.is_available() else "no"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {gpu} GPU"
    return [{"cell": cell, "date": date.today().isoformat(), "machine": machine, **record} for record in records]


def keep(path: Path, records: list[Record]) -> None:
    path.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(record, sort_keys=True) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def cell_of(records: list[Record], dataset: str, cell: str) -> list[Record]:
    return [r for r in records if r["dataset"] == dataset and r["cell"] == cell]


def versions(records: list[Record]) -> str:
    """Every version and commit that a record was made with."""
    names = records[0]["versions"]
    found_by = {name: sorted({str(r["versions"][name]) for r in records if r["versions"][name]}) for name in names}
    return ", ".join(f"{name} {' and '.join(found)}" for name, found in found_by.items() if found)


def between(path: Path, mark: str, text: str) -> str:
    """The document at `path` with `text` between its comments `mark:begin` and `mark:end`."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    head, found, rest = path.read_text().partition(begin)
    _, ended, tail = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"{path.name} has no place for {mark}: write {begin} and {end} into it.")
    return f"{head}{begin}\n{text}\n{end}{tail}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(documents: dict[Path, str]) -> None:
    for path, text in documents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"Wrote {path.relative_to(ROOT)}")
