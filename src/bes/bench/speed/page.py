"""The page of speed, from what was measured and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from bes.bench.speed.growth import exponents
from bes.bench.speed.kept import Line
from bes.bench.speed.roofline import RANDOM
from bes.bench.speed.text import BARS, BUSY, CONV, GROWTH, HEAD, LIMITS, LOW, SHARE, STAGES, STEEP, STEEPEST


def page(lines: Sequence[Line], figure: str) -> str:
    """Markdown; `figure` is where the picture lies, seen from the page."""
    parts = {kind: [line for line in lines if line["kind"] == kind] for kind in ("conv-step", "stage", "roofline")}
    grown = [line for line in lines if line["kind"] == "growth"]
    text = [HEAD.format(stamp=stamp_of(lines), busy=_busy(lines), figure=figure)]
    text += [_conv(parts["conv-step"])] if parts["conv-step"] else []
    text += [STAGES.format(table=_stages(parts["stage"]))] if parts["stage"] else []
    text += [_limits(parts["roofline"])] if parts["roofline"] else []
    text += [_growth(grown)] if grown else []
    return "\n".join(text).rstrip() + "\n"


def stamp_of(lines: Sequence[Line]) -> str:
    """When, on what, with which versions; and how busy the machine was."""
    days = sorted({line["date"] for line in lines})
    machines = " and ".join(sorted({line["machine"] for line in lines}))
    loads = [line["load"] for line in lines if line["load"] is not None]
    busy = f"; load of the machine {min(loads):.1f} to {max(loads):.1f}" if loads else ""
    names = dict.fromkeys(name for line in lines for name, found in line["versions"].items() if found)
    used = {name: sorted({str(line["versions"][name]) for line in lines if line["versions"][name]}) for name in names}
    versions = ", ".join(f"{name} {' and '.join(found)}" for name, found in used.items())
    return f"{' to '.join(dict.fromkeys((days[0], days[-1])))}; {machines}{busy}; {versions}"


def _busy(lines: Sequence[Line]) -> str:
    """A warning where more processes than there are cores were at work."""
    over = [line for line in lines if line["load"] and line["load"] > 1.5 * int(line["machine"].split()[0])]
    return BUSY.format(over=len(over), all=len(lines)) if over else ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _conv(lines: Sequence[Line]) -> str:
    graphs = list(dict.fromkeys(line["graph"] for line in lines))
    by = {(line["graph"], line["name"]): line for line in lines}
    rows = [
        [name, *(_pair(by.get((graph, name))) for graph in graphs)]
        for name in dict.fromkeys(line["name"] for line in lines)
    ]
    worst = min(lines, key=lambda line: float(line["ratio"]))
    asked = [(BARS[key], by[key]["ratio"]) for key in BARS if key in by]
    held = sum(ratio >= bar for bar, ratio in asked)
    return CONV.format(
        table=table(["convolution", *graphs], rows),
        least=f"{worst['ratio']:.1f} ({worst['name']} on {worst['graph']})",
        held=held,
        asked=len(asked),
        bars=", ".join(f"{name} on {graph} {bar:g}" for (graph, name), bar in BARS.items()),
    )


def _pair(line: Line | None) -> str:
    return f"{line['ours_ms']:.1f} / {line['rival_ms']:.1f} = **{line['ratio']:.1f}**" if line else ""


def _stages(lines: Sequence[Line]) -> str:
    return table(
        ["stage", "graph", "ms", "against, ms", "ratio"],
        [
            [line["name"], line["graph"], _one(line["ours_ms"]), _one(line["rival_ms"]), _one(line["ratio"])]
            for line in lines
        ],
    )


def _limits(lines: Sequence[Line]) -> str:
    limits = [line for line in lines if line["ours_ms"] is None]
    shares = [line for line in lines if line["ours_ms"] is not None]
    measured = ", ".join(f"{line['name'].replace(',', '')}: {line['limit']:.1f}" for line in limits)
    rows = [
        [line["name"], line["graph"], _one(line["ours_ms"]), _one(line["rival_ms"]), f"{line['ratio']:.0%}"]
        for line in shares
    ]
    return LIMITS.format(
        measured=measured, table=table(["product", "graph", "ms", "at the limit, ms", "share"], rows), low=_low(shares)
    )


def _low(shares: Sequence[Line]) -> str:
    """Which sparse products stay below their share, and what random rows reach."""
    sparse = [line for line in shares if line["name"].startswith("sparse")]
    names = [line["name"] for line in sparse if line["ratio"] < SHARE]
    if not names:
        return f"All sparse products reach {SHARE:.0%} or more."
    random = next(line["ratio"] for line in shares if line["name"] == RANDOM)
    best = max(line["ratio"] for line in sparse) / random
    return LOW.format(share=SHARE, names="; ".join(names), random=random, best=best)


def _growth(lines: Sequence[Line]) -> str:
    sizes = sorted({line["nodes"] for line in lines})
    by = {(line["name"], line["nodes"]): line for line in lines}
    slopes = {row["name"]: row for row in exponents(lines)}
    rows = []
    for name in dict.fromkeys(line["name"] for line in lines):
        cells = [_grown(by.get((name, size))) for size in sizes]
        slope = slopes.get(name, {})
        rows.append([name, *cells, _two(slope.get("time_exponent")), _two(slope.get("memory_exponent"))])
    found = [(value, row["name"]) for row in slopes.values() for key, value in row.items() if key != "name" and value]
    steep = [f"{name} {value:.2f}" for value, name in sorted(found, reverse=True) if value > STEEPEST]
    said = STEEP.format(steepest=STEEPEST, names=", ".join(steep)) if steep else f"No exponent is above {STEEPEST}."
    header = ["stage", *(f"{size:,} nodes" for size in sizes), "exponent, time", "exponent, memory"]
    return GROWTH.format(table=table(header, rows), said=said if found else "")


def _grown(line: Line | None) -> str:
    if line is None:
        return ""
    peak = "" if line["peak_mib"] is None else f", {line['peak_mib']:,.0f} MiB"
    took = line["ours_ms"]
    return (f"{took:,.0f} ms" if took < 10_000 else f"{took / 1000:,.0f} s") + peak


def _one(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
