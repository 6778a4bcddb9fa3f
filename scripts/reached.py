"""What each method reached, for the docstring of its file: written from the same records as the pages."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from pathlib import Path

from recorded import ROOT

from bes.bench.fill import FilledCell, FilledSheet
from bes.models.baselines import METHODS

#: What begins the last paragraph of a method's docstring.
MARK = "\nReached"

WIDTH = 120


def reached(sheets: Mapping[str, FilledSheet]) -> dict[Path, str]:
    """Every file of a method with its last paragraph as the records have it."""
    by_file: dict[Path, list[str]] = {}
    for name, entry in METHODS.items():
        source = inspect.getsourcefile(entry.kind)
        assert source is not None
        by_file.setdefault(ROOT / Path(source).resolve().relative_to(ROOT), []).append(name)
    return {path: _with(path.read_text(), _paragraph(names, sheets)) for path, names in by_file.items()}


def _with(text: str, paragraph: str) -> str:
    head, found, rest = text.partition(MARK)
    _, quotes, tail = rest.partition('"""')
    if not (found and quotes):
        raise SystemExit(f"A method's file has no paragraph that begins with {MARK.strip()}: write one.")
    return f"{head}\n{paragraph}\n{quotes}{tail}"


def _paragraph(names: list[str], sheets: Mapping[str, FilledSheet]) -> str:
    """A line a method and protocol; nothing is said of what was not run."""
    lines = []
    for name in names:
        tables = [sheet for title, sheet in sheets.items() if title in ("table1-nc", "challenging-nc")]
        own = [cell for sheet in tables for cell in sheet.cells if _is(cell, name)]
        lines += _line(f"{name}, the paper's settings", own)
        lines += _line(f"{name}, tuned", [cell for cell in sheets["arena-nodes"].cells if _is(cell, name)])
        lines += _line(f"{name}, 64 wide", [cell for cell in sheets["full-labels"].cells if _is(cell, name)])
        lines += _line(f"{name}, without labels", [c for c in sheets["no-labels-accuracy"].cells if _is(c, name)])
    if not lines:
        return "Reached: not measured yet."
    head = "Reached, test accuracy on random 60/20/20 splits (`make results` writes this from its records):"
    return "\n".join([head, *lines])


def _is(cell: FilledCell, name: str) -> bool:
    return cell.cell.ask is not None and cell.cell.ask.arm == name and bool(cell.values)


def _line(what: str, cells: list[FilledCell]) -> list[str]:
    if not cells:
        return []
    figures = [f"{cell.cell.column.removesuffix(' NC')} {_text(cell)}" for cell in cells]
    text = f"- {what}: {', '.join(dict.fromkeys(figures))}."
    return [textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)]


def _text(cell: FilledCell) -> str:
    found = cell.summary
    error = "" if found.error is None else f" ± {found.error:.2f}"
    return f"{found.mean:.2f}{error} ({found.n})"
