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
from bes.bench.fill import ABSENT, NOT_MEASURED, FilledCell, FilledSheet, fill
from bes.bench.model import Suite
from bes.bench.runner import picture_folder
from bes.bench.store import Store
from bes.bench.tables import comparison_grid, to_html, to_latex, to_markdown
from bes.bench.tables.grid import Grid
from bes.bench.units import of_picture, units_of
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
        absent: What to do about each data set that is not here.
    """

    suite: Suite
    sheets: list[FilledSheet]
    comparisons: dict[str, list[Comparison]]
    kept: dict[str, Path] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, suite: Suite, store: Store, data: Mapping[str, Data]) -> Filled:
        sheets = [fill(sheet, store, data) for sheet in suite.sheets]
        found = cls(suite, sheets, {one.sheet.name: compare(one) for one in sheets})
        asked = dict.fromkeys(unit.config.dataset for unit in units_of([suite]))
        found.absent = [data[name].absent for name in asked if data[name].absent]
        for picture in suite.pictures:
            given = data[picture.config.dataset]
            if given.hash is None:
                found.missing[picture.name] = ABSENT if given.absent else NOT_MEASURED
                continue
            unit = of_picture(picture)
            place = picture_folder(store, unit, given.hash)
            if (place / "curves.json").exists():
                found.kept[picture.name] = place
            else:
                failed = store.of(unit, given.hash).get("bes", {}).get("error")
                found.missing[picture.name] = f"failed: {failed}" if failed else NOT_MEASURED
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
            "absent": self.absent,
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
            absent = "".join(f"\n{sentence}\n" for sentence in filled.absent)
            texts |= {"tables.md": markdown(filled) + absent, "tables.tex": latex(filled)}
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
    """Every sheet, and one level below it its comparisons."""
    return "\n".join(to_markdown(one, level + isinstance(one, Grid)) for one in _grids(filled))


def latex(filled: Filled) -> str:
    return "\n".join(map(to_latex, _grids(filled)))


def _grids(filled: Filled) -> list[FilledSheet | Grid]:
    """Every sheet, each followed by its comparisons."""
    grids: list[FilledSheet | Grid] = []
    for one in filled.sheets:
        found = filled.comparisons[one.sheet.name]
        grids += [one, comparison_grid(one, found)] if found else [one]
    return grids


def page(filled: Filled, files: list[Path]) -> str:
    pictures = [(path.stem, _embedded(path)) for path in files if path.suffix == ".svg"]
    intro = "\n\n".join([*(f"{name}: {why}." for name, why in filled.missing.items()), *filled.absent])
    return to_html(_grids(filled), title=filled.suite.title, figures=pictures, intro=intro)


def _embedded(path: Path) -> str:
    if path.stat().st_size <= LIGHT:
        return path.read_text(encoding="utf-8")
    return f"data:image/png;base64,{base64.b64encode(path.with_suffix('.png').read_bytes()).decode()}"
