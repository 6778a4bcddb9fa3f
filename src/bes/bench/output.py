"""What a suite leaves for people: tables in three formats, figures, and the same as plain data."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bes.bench.compare import Comparison, compare
from bes.bench.data import Data
from bes.bench.draw import draw
from bes.bench.figures import save
from bes.bench.fill import FilledCell, FilledSheet, fill
from bes.bench.model import Suite
from bes.bench.runner import picture_folder
from bes.bench.store import Store
from bes.bench.tables import comparison_grid, to_html, to_latex, to_markdown
from bes.bench.units import of_picture
from bes.errors import InputError
from bes.files import whole_file
from bes.records import writing

#: An SVG of more bytes goes into a page as PNG: thousands of points make a browser slow.
LIGHT = 400_000


@dataclass
class Filled:
    """A suite with what the store holds for it.

    Attributes:
        kept: Folders of the runs that figures are drawn from, by the picture's name.
        missing: Pictures that have no run, with the reason.
    """

    suite: Suite
    sheets: list[FilledSheet]
    comparisons: dict[str, list[Comparison]]
    kept: dict[str, Path] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, suite: Suite, store: Store, data: Mapping[str, Data]) -> Filled:
        sheets = [fill(sheet, store, data) for sheet in suite.sheets]
        found = cls(suite, sheets, {one.sheet.name: compare(one) for one in sheets})
        for picture in suite.pictures:
            known = data[picture.config.dataset].hash
            if known is None:
                found.missing[picture.name] = "data set absent"
                continue
            unit = of_picture(picture)
            place = picture_folder(store, unit, known)
            if (place / "curves.json").exists():
                found.kept[picture.name] = place
            else:
                failed = store.of(unit, known).get("bes", {}).get("error")
                found.missing[picture.name] = f"failed: {failed}" if failed else "not run yet"
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "suite": self.suite.name,
            "title": self.suite.title,
            "sheets": [
                {
                    "name": one.sheet.name,
                    "protocol": one.sheet.protocol.name,
                    "honest": one.sheet.protocol.honest,
                    "cells": [_cell(cell) for cell in one.cells],
                }
                for one in self.sheets
            ],
            "pictures": {**dict.fromkeys(self.kept, "kept"), **self.missing},
        }


def _cell(cell: FilledCell) -> dict[str, Any]:
    printed, summary = cell.cell.printed, cell.summary
    return {
        "row": cell.cell.row,
        "column": cell.cell.column,
        "paper": printed and {"table": printed.table, "text": printed.text, "value": printed.value},
        "mean": summary.mean,
        "standard_error": summary.error,
        "splits": summary.n,
        "difference": cell.difference,
        "problem": cell.problem,
        "run_ids": {str(seed): run for seed, run in cell.runs.items()},
    }


def write(filled: Filled, folder: Path) -> tuple[list[Path], list[str]]:
    """Write `tables.md`, `tables.tex`, `index.html` and the figures; gives the files, and what could not be drawn."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        files, notes = figure_files(filled, folder)
        texts = {"index.html": page(filled, files)}
        if filled.sheets:
            texts |= {"tables.md": markdown(filled), "tables.tex": latex(filled)}
        for name, text in texts.items():
            with whole_file(folder / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
    return [*(folder / name for name in texts), *files], notes


def figure_files(filled: Filled, folder: Path) -> tuple[list[Path], list[str]]:
    """Draw the figures into a folder, PNG and SVG each."""
    try:
        drawn = draw(filled.suite, filled.sheets, filled.kept)
    except InputError as error:  # a package that is not installed: the tables do not need it
        return [], [str(error)]
    return [path for name, figure in drawn.items() for path in save(figure, folder / name)], []


def markdown(filled: Filled, level: int = 2) -> str:
    """Every sheet, each followed by its comparisons."""
    parts = []
    for one in filled.sheets:
        parts.append(to_markdown(one, level))
        found = filled.comparisons[one.sheet.name]
        if found:
            parts.append(to_markdown(comparison_grid(one, found), level + 1))
    return "\n".join(parts)


def latex(filled: Filled) -> str:
    return "\n".join(to_latex(one) for one in filled.sheets)


def page(filled: Filled, files: list[Path]) -> str:
    grids: list[Any] = []
    for one in filled.sheets:
        found = filled.comparisons[one.sheet.name]
        grids += [one, comparison_grid(one, found)] if found else [one]
    pictures = [(path.stem, _embedded(path)) for path in files if path.suffix == ".svg"]
    intro = "\n\n".join(f"{name}: {why}." for name, why in filled.missing.items())
    return to_html(grids, title=filled.suite.title, figures=pictures, intro=intro)


def _embedded(path: Path) -> str:
    if path.stat().st_size <= LIGHT:
        return path.read_text(encoding="utf-8")
    return f"data:image/png;base64,{base64.b64encode(path.with_suffix('.png').read_bytes()).decode()}"
