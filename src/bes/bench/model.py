"""What a suite is made of: sheets of cells, each with what the paper prints and what is run for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bes.config import RunConfig

#: Every run of the paper's method has both, paired on one split.
PAIRED = ("control", "bes")


@dataclass(frozen=True)
class Printed:
    """One printed value of the paper, and where it stands: the paper contradicts itself.

    Attributes:
        text: As printed, such as `89.46`, `86.38±0.40`, `~160`, `OOM` or `-`.
        value: The number in it, None where there is none.
        spread: What follows the ±, None where nothing does.
        table: Such as `Table 1`.
    """

    text: str
    value: float | None
    spread: float | None
    table: str
    row: str
    column: str


@dataclass(frozen=True)
class Metric:
    """What a cell shows of a record.

    Attributes:
        path: Where the number is in a record, such as `metrics.test.acc`; paths may also lead to seconds.
        scale: What the number is multiplied by to be shown: 100 makes percent.
        sure: Where a record says whether the number is what it is called, such as `convergence.converged`; cells count
            those that are not.
    """

    name: str
    path: str
    scale: float = 100.0
    better: Literal["higher", "lower"] = "higher"
    sure: str = ""


ACCURACY = Metric("accuracy", "metrics.test.acc")
F1 = Metric("F1", "metrics.test.f1")
AUC = Metric("AUC", "metrics.test.auroc")
CONVERGENCE = Metric("convergence, s", "convergence.seconds", 1.0, "lower", "convergence.converged")


@dataclass(frozen=True)
class Protocol:
    """How the numbers of a sheet came about.

    Attributes:
        honest: Whether validation selects and nothing of the test part leaks; if not, every sheet is marked.
    """

    name: str
    honest: bool
    about: str


@dataclass(frozen=True)
class Ask:
    """What fills a cell: one arm of one configuration over some seeds."""

    config: RunConfig
    arm: str
    metric: Metric
    seeds: tuple[int, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms of the run that this arm belongs to."""
        return PAIRED if self.arm in PAIRED else (self.arm,)


@dataclass(frozen=True)
class Cell:
    """One cell: `why` says in a few words why there is nothing to run, where `ask` is None."""

    row: str
    column: str
    ask: Ask | None
    printed: Printed | None = None
    why: str = ""


@dataclass(frozen=True)
class Sheet:
    """One table under one protocol; rows and columns stand in the order of the cells.

    Attributes:
        reference: The row that statistics hold the others against; empty where nothing is compared.
    """

    name: str
    title: str
    protocol: Protocol
    cells: tuple[Cell, ...]
    note: str = ""
    reference: str = ""

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(cell.column for cell in self.cells))


@dataclass(frozen=True)
class Picture:
    """A run that a figure is drawn from: its folder is kept whole, with curves by the second."""

    name: str
    config: RunConfig
    seed: int = 0


@dataclass(frozen=True)
class Suite:
    """A table or a figure of the paper: one command.

    Attributes:
        figure: The name of the figure that is drawn from the pictures, or of the sheets where there are none.
    """

    name: str
    title: str
    sheets: tuple[Sheet, ...] = ()
    pictures: tuple[Picture, ...] = ()
    figure: str = ""

    def asks(self) -> Iterator[Ask]:
        for sheet in self.sheets:
            for cell in sheet.cells:
                if cell.ask is not None:
                    yield cell.ask
