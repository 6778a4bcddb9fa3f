"""What the benchmark of speed leaves: JSON, a page and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bes.bench.figures import save
from bes.bench.speed.figure import draw
from bes.bench.speed.growth import exponents
from bes.bench.speed.kept import Line
from bes.bench.speed.page import page
from bes.errors import InputError
from bes.files import whole_file


def as_json(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Every timing, and after them the exponents of growth."""
    fitted = exponents([line for line in lines if line["kind"] == "growth"])
    none = {"kind": "growth", "graph": "sbm", "ours_ms": None, "rival_ms": None, "ratio": None}
    return [*lines, *({**none, **row, "name": f"{row['name']}: exponents"} for row in fitted)]


def write(lines: Sequence[Line], folder: Path) -> tuple[list[Path], list[str]]:
    """The page and its picture; returns the files, and notes on what could not be drawn."""
    if not lines:
        return [], ["Nothing was measured."]
    files, notes = [folder / "speed.md"], []
    try:
        files += save(draw(lines), folder / "speed")
    except InputError as error:  # matplotlib is an extra
        notes.append(str(error))
    with whole_file(files[0]) as temporary:
        temporary.write_text(page(lines, "speed.png"))
    return files, notes
