"""Small charts as plain numbers: the template draws them as SVG, without a library and without a script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

#: Size of a chart and the room for its axes, in units that are pixels at its natural size.
WIDTH, HEIGHT = 360.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 10.0, 12.0, 36.0


@dataclass(frozen=True)
class Axis:
    """A range of values along a line from `start` to `end`, with round values to mark."""

    title: str
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and their texts."""
        step = nice_step(self.high - self.low)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(self.at(k * step), f"{k * step:.6g}") for k in range(first, last + 1)]


@dataclass
class Chart:
    """Axes, and what is drawn between them, each by the class of style it has."""

    title: str
    x: Axis
    y: Axis
    about: str = ""
    lines: list[dict[str, str]] = field(default_factory=list)
    paths: list[dict[str, str]] = field(default_factory=list)
    dots: list[dict[str, float | str]] = field(default_factory=list)
    width: float = WIDTH
    height: float = HEIGHT

    def line(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """Through the points, in order."""
        self.lines.append({"style": style, "points": " ".join(f"{self.x.at(x)},{self.y.at(y)}" for x, y in points)})

    def marks(self, points: Iterable[tuple[float, float]], shape: str, style: str) -> None:
        """The same small shape, an SVG path from its middle, at every point."""
        drawn = "".join(f"M{self.x.at(x)},{self.y.at(y)}{shape}" for x, y in points)
        if drawn:
            self.paths.append({"style": style, "d": drawn})


def chart(title: str, x: tuple[str, float, float], y: tuple[str, float, float], height: float = HEIGHT) -> Chart:
    """An empty chart; an axis is its title and its range."""
    return Chart(
        title,
        Axis(*_range(*x), LEFT, WIDTH - RIGHT),
        Axis(*_range(*y), height - BOTTOM, TOP),
        height=height,
    )


def _range(title: str, low: float, high: float) -> tuple[str, float, float]:
    """A range that is not empty."""
    return (title, low, high) if high > low else (title, low, low + 1)


def nice_step(span: float, about: int = 4) -> float:
    """1, 2, 2.5 or 5 times a power of ten: some `about` of them make the span."""
    rough = span / about
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))


def padded(values: Sequence[float], *, zero: bool = False) -> tuple[float, float]:
    """The range of the values with a little air; from zero where asked."""
    low, high = min(values), max(values)
    air = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return (0.0 if zero else low - air), high + air
