"""What the page of speed says of growth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bes.bench.speed.growth import GROWING, SHAPING, WHOLE, exponents
from bes.bench.speed.kept import Line
from bes.bench.speed.tables import table, two
from bes.bench.speed.text import CELLS, GROWTH, PARTED, SAMPLED, STEEP, STEEPEST, STEPS
from bes.scale import cost

#: What an exponent is of, by its field.
OF = {"time_exponent": "processor time", "wall_exponent": "wall clock", "memory_exponent": "memory"}


#: Exponents by stage and field.
Slopes = dict[str, dict[str, Any]]


def growth(lines: Sequence[Line]) -> str:
    """The section, from lines of growth: the stages of a run, then their parts."""
    shaped = sorted((line for line in lines if line["name"] == SHAPING), key=lambda line: line["nodes"])
    slopes = {row["name"]: row for row in exponents(lines)}
    names = dict.fromkeys(line["name"] for line in lines)
    parts = [name for name in names if name not in WHOLE]
    text = GROWTH.format(
        sample=_sample(shaped),
        table=_table(lines, [name for name in WHOLE if name in names], slopes),
        said=" ".join([*_said(slopes, [name for name in slopes if name in WHOLE]), *_steps(shaped)]),
    )
    said = " ".join(_said(slopes, [name for name in slopes if name in parts]))
    return text + (PARTED.format(table=_table(lines, parts, slopes), said=said) if parts else "")


def _table(lines: Sequence[Line], names: Sequence[str], slopes: Slopes) -> str:
    sizes = sorted({line["nodes"] for line in lines if line["name"] in names})
    by = {(line["name"], line["nodes"]): line for line in lines}
    rows = [
        [
            name,
            *(_grown(by.get((name, size))) for size in sizes),
            *(two(slopes.get(name, {}).get(kind)) for kind in GROWING),
        ]
        for name in names
    ]
    header = ["stage", *(f"{size:,} nodes" for size in sizes), *(f"exponent, {OF[kind]}" for kind in GROWING)]
    return table(header, rows)


def _said(slopes: Slopes, names: Sequence[str]) -> list[str]:
    """Which of their exponents are steep; nothing where none could be fitted."""
    found = [(slopes[name][kind], name, kind) for name in names for kind in GROWING]
    fitted = [(value, name, kind) for value, name, kind in found if value is not None]
    steep = [one for one in sorted(fitted, reverse=True) if one[0] > STEEPEST]
    if not steep:
        return [f"No exponent is above {STEEPEST}."] if fitted else []
    said = [STEEP.format(steepest=STEEPEST, names=", ".join(f"{n} {v:.2f} ({OF[kind]})" for v, n, kind in steep))]
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
