"""What the page of speed says of growth."""

from __future__ import annotations

from collections.abc import Sequence

from bes.bench.speed.growth import GROWING, SHAPING, exponents
from bes.bench.speed.kept import Line
from bes.bench.speed.tables import table, two
from bes.bench.speed.text import CELLS, GROWTH, SAMPLED, STEEP, STEEPEST, STEPS
from bes.scale import cost

#: What an exponent is of, by its field.
OF = {"time_exponent": "processor time", "wall_exponent": "wall clock", "memory_exponent": "memory"}


def growth(lines: Sequence[Line]) -> str:
    """The section, from lines of growth."""
    sizes = sorted({line["nodes"] for line in lines})
    by = {(line["name"], line["nodes"]): line for line in lines}
    slopes = {row["name"]: row for row in exponents(lines)}
    rows = []
    for name in dict.fromkeys(line["name"] for line in lines):
        cells = [_grown(by.get((name, size))) for size in sizes]
        rows.append([name, *cells, *(two(slopes.get(name, {}).get(kind)) for kind in GROWING)])
    header = ["stage", *(f"{size:,} nodes" for size in sizes), *(f"exponent, {OF[kind]}" for kind in GROWING)]
    shaped = [line for line in lines if line["name"] == SHAPING]
    return GROWTH.format(
        sample=_sample(shaped), table=table(header, rows), said=" ".join([*_said(slopes), *_steps(shaped)])
    )


def _said(slopes: dict[str, dict[str, float | None]]) -> list[str]:
    """Which exponents are steep; nothing where none could be fitted."""
    found = [(row[kind], name, kind) for name, row in slopes.items() for kind in GROWING]
    fitted = [(value, name, kind) for value, name, kind in found if value is not None]
    steep = [one for one in sorted(fitted, reverse=True) if one[0] > STEEPEST]
    if not steep:
        return [f"No exponent is above {STEEPEST}."] if fitted else []
    names = ", ".join(f"{name} {value:.2f} ({OF[kind]})" for value, name, kind in steep)
    said = [STEEP.format(steepest=STEEPEST, names=names)]
    slow = any(name == SHAPING and kind != "memory_exponent" for _, name, kind in steep)
    return [*said, _cells()] if slow else said


def _cells(nodes: int = 1_000_000) -> str:
    sizes = cost.Sizes(nodes, 7 * nodes, labelled=nodes / 2)
    near = 2 * cost.flops(cost.neighbours(sizes))
    return CELLS.format(share=near / cost.flops(cost.shaping(sizes, sample=10_000)), nodes=nodes)


def _sample(shaped: Sequence[Line]) -> str:
    samples = sorted({line["sample"] for line in shaped if line.get("sample")})
    return "".join(SAMPLED.format(sample=sample, plain=sample) for sample in samples[-1:])


def _steps(shaped: Sequence[Line]) -> list[str]:
    steps = [f"{line['steps']} at {line['nodes']:,} nodes" for line in shaped if "steps" in line]
    return [STEPS.format(steps=", ".join(steps))] if steps else []


def _grown(line: Line | None) -> str:
    if line is None:
        return ""
    peak = "" if line["peak_mib"] is None else f", {line['peak_mib']:,.0f} MiB"
    took = line["ours_ms"]
    return (f"{took:,.0f} ms" if took < 10_000 else f"{took / 1000:,.0f} s") + peak
