"""Sheets built from a few words."""

import re
from collections.abc import Callable, Mapping

import pytest

from bes.bench.fill import FilledCell, FilledSheet
from bes.bench.model import ACCURACY, Ask, Cell, Metric, Printed, Protocol, Sheet
from bes.config import RunConfig

HONEST = Protocol("validation", True, "Validation selects.")
PEEK = Protocol("test-peek", False, "The test part selects.")

#: Printed text, values of ours, and what is wrong with them.
Given = tuple[str | None, list[float], str]

Build = Callable[..., FilledSheet]


def printed(text: str | None, table: str, row: str, column: str) -> Printed | None:
    number = float(text) if text and re.fullmatch(r"[0-9]+\.[0-9]+", text) else None
    return None if text is None else Printed(text, number, None, table, row, column)


@pytest.fixture(scope="session")
def build() -> Build:
    """`build({("GCN", "Cora"): ("81.5", [82.0, 83.0], "")})`: a filled sheet; a cell may have its own metric."""
    config = RunConfig.build("small")

    def build(
        given: Mapping[tuple[str, str], Given],
        *,
        metric: Metric | Mapping[tuple[str, str], Metric] = ACCURACY,
        honest: bool = True,
        title: str = "Nodes",
        note: str = "",
        table: str = "Table 1",
        why: str = "",
    ) -> FilledSheet:
        cells = []
        for (row, column), (text, values, problem) in given.items():
            own = metric if isinstance(metric, Metric) else metric[row, column]
            ask = None if why else Ask(config, "bes", own, tuple(range(5)))
            cell = Cell(row, column, ask, printed(text, table, row, column), why)
            runs = {seed: f"run-{seed}" for seed in range(len(values))}
            cells.append(FilledCell(cell, dict(enumerate(values)), runs, problem))
        sheet = Sheet("table1/nodes", title, HONEST if honest else PEEK, tuple(cell.cell for cell in cells), note)
        return FilledSheet(sheet, tuple(cells))

    return build


@pytest.fixture(scope="session")
def example(build: Build) -> Callable[..., FilledSheet]:
    """Three methods on two data sets: best, second, partial, missing and not printed; `Own` has nothing printed."""

    def example(*, honest: bool = True) -> FilledSheet:
        return build(
            {
                ("GCN", "Cora"): ("81.50", [81.0, 83.0], ""),
                ("GCN", "Own"): (None, [70.0], ""),
                ("BES", "Cora"): ("89.46", [88.0, 88.5], ""),
                ("BES", "Own"): (None, [], "data set absent"),
                ("R&D_1", "Cora"): ("OOM", [90.0, 91.0, 92.0], "3 of 5 splits"),
                ("R&D_1", "Own"): (None, [], "method not built yet"),
            },
            honest=honest,
            note="Own is ours.",
        )

    return example
