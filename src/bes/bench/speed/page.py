"""The page of speed, from what was measured and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from bes.bench.speed.grown import growth
from bes.bench.speed.kept import Line
from bes.bench.speed.limits import limits
from bes.bench.speed.rivals import CONVOLUTIONS, GRAPHS
from bes.bench.speed.tables import one, table
from bes.bench.speed.text import BARS, BUSY, BY_ONEDNN, BY_TORCH, CONV, HEAD, HUGE, PRODUCTS, STAGES


def page(lines: Sequence[Line], figure: str) -> str:
    """Markdown; `figure` is where the picture lies, seen from the page."""
    kinds = ("conv-step", "stage", "product", "roofline", "growth")
    parts = {kind: [line for line in lines if line["kind"] == kind] for kind in kinds}
    text = [HEAD.format(stamp=stamp_of(lines), busy=_busy(lines), figure=figure)]
    text += [_conv(parts["conv-step"])] if parts["conv-step"] else []
    text += [STAGES.format(table=_stages(parts["stage"]))] if parts["stage"] else []
    text += [_products(parts["product"])] if parts["product"] else []
    text += [limits(parts["roofline"])] if parts["roofline"] else []
    text += [growth(parts["growth"])] if parts["growth"] else []
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


def _conv(lines: Sequence[Line]) -> str:
    graphs = list(dict.fromkeys(line["graph"] for line in lines))
    by = {(line["graph"], line["name"]): line for line in lines}
    header, names = ["convolution", *graphs], dict.fromkeys(line["name"] for line in lines)
    rows = [[name, *(_pair(by.get((graph, name))) for graph in graphs)] for name in names]
    worst = min(lines, key=lambda line: float(line["ratio"]))
    asked = [(BARS[key], by[key]["ratio"]) for key in BARS if key in by]
    held = sum(ratio >= bar for bar, ratio in asked)
    huge = [_with_huge_pages(line) for line in lines if "huge_ratio" in line]
    return CONV.format(
        table=table(header, rows),
        least=f"{worst['ratio']:.1f} ({worst['name']} on {worst['graph']})",
        held=held,
        asked=len(asked),
        slower=_slower(lines),
        absent=_absent(by),
        bars=", ".join(f"{name} on {graph} {bar:g}" for (graph, name), bar in BARS.items()),
    ) + (_huge(header, huge) if huge else "")


def _with_huge_pages(line: Line) -> Line:
    """The line as it is with them."""
    found = {key: line[f"huge_{key}"] for key in ("ours_ms", "rival_ms", "ratio")}
    return {**line, **found, "plain_ratio": line["ratio"]}


def _huge(header: list[str], lines: Sequence[Line]) -> str:
    """The second table, and which ratios hold there."""
    by = {(line["graph"], line["name"]): line for line in lines}
    names = dict.fromkeys(line["name"] for line in lines)
    missed = [f"{name} on {graph}" for (graph, name), bar in BARS.items() if _ratio(by, graph, name) < bar]
    asked = sum(key in by for key in BARS)
    return HUGE.format(
        table=table(header, [[name, *(_pair(by.get((graph, name))) for graph in header[1:])] for name in names]),
        all=len(lines),
        fell=sum(line["ratio"] < line["plain_ratio"] for line in lines),
        asked=asked,
        held=asked - len(missed),
        missed=f" (not {', '.join(missed)})" if missed else "",
        slower=_slower(lines),
    )


def _ratio(by: dict[tuple[str, str], Line], graph: str, name: str) -> float:
    return float(by[graph, name]["ratio"]) if (graph, name) in by else float("inf")


def _slower(lines: Sequence[Line]) -> str:
    """Whether any is slower than PyTorch Geometric's."""
    names = [f"{line['name']} on {line['graph']}" for line in lines if line["ratio"] < 1]
    said = f"{len(names)} of {len(lines)} are slower than PyTorch Geometric's ({', '.join(names)})"
    return said if names else f"none of {len(lines)} is slower than PyTorch Geometric's"


def _absent(by: dict[tuple[str, str], Line]) -> str:
    """What was not measured."""
    found = [f"{name} on {graph}" for graph in GRAPHS for name in CONVOLUTIONS if (graph, name) not in by]
    return f" Not measured: {', '.join(found)}." if found else ""


def _products(lines: Sequence[Line]) -> str:
    rows = [[line["name"], one(line["ours_ms"]), one(line["rival_ms"]), one(line["ratio"])] for line in lines]
    return PRODUCTS.format(
        table=table(["linear map", "ms", "torch's, ms", "ratio"], rows),
        by=BY_ONEDNN if all(line["onednn"] for line in lines) else BY_TORCH,
    )


def _pair(line: Line | None) -> str:
    return f"{line['ours_ms']:.1f} / {line['rival_ms']:.1f} = **{line['ratio']:.1f}**" if line else ""


def _stages(lines: Sequence[Line]) -> str:
    return table(
        ["stage", "graph", "ms", "against, ms", "ratio"],
        [
            [line["name"], line["graph"], one(line["ours_ms"]), one(line["rival_ms"]), one(line["ratio"])]
            for line in lines
        ],
    )
