"""What the page of speed says of products and of this machine's limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bes.bench.speed.kept import Line
from bes.bench.speed.roofline import PLACED, PRODUCT, RANDOM, SMALLER
from bes.bench.speed.tables import one, table
from bes.bench.speed.text import CACHED, DENSE, LIMITS, LOW, PARTS, READ, SHARE


def limits(lines: Sequence[Line]) -> str:
    """The section, from lines of the roofline."""
    shares = [line for line in lines if line["ours_ms"] is not None]
    measured = ", ".join(
        f"{line['name'].replace(',', '')}: {line['limit']:.1f}" for line in lines if line["ours_ms"] is None
    )
    header = ["product", "graph", "ms", "at the limit, ms", "share", "measured ceiling, ms", "share of it"]
    return LIMITS.format(measured=measured, table=table(header, [_row(line) for line in shares]), low=_low(shares)) + (
        _cached(shares) + _parts(shares)
    )


def _row(line: Line) -> list[str]:
    ceiling = line.get("ceiling_share")
    shown = [one(line.get("ceiling_ms")), "" if ceiling is None else f"{ceiling:.0%}"]
    return [line["name"], line["graph"], one(line["ours_ms"]), one(line["rival_ms"]), f"{line['ratio']:.0%}", *shown]


def _low(shares: Sequence[Line]) -> str:
    """Which sparse products stay below their share, and what random rows reach."""
    sparse = [line for line in shares if line["name"].startswith("sparse")]
    names = [line["name"] for line in sparse if line["ratio"] < SHARE]
    if not names:
        return f"All sparse products reach {SHARE:.0%} or more."
    random = next(line["ratio"] for line in shares if line["name"] == RANDOM)
    best = max(line["ratio"] for line in sparse) / random
    return LOW.format(share=SHARE, names="; ".join(names), random=random, best=best)


def _cached(shares: Sequence[Line]) -> str:
    """How a product grows between two graphs of which a cache may hold the smaller; nothing where one is missing."""
    by = {line["name"]: line for line in shares}
    if SMALLER not in by or PRODUCT not in by:
        return ""
    small, large = by[SMALLER], by[PRODUCT]
    power = math.log(large["ours_ms"] / small["ours_ms"]) / math.log(large["bytes"] / small["bytes"])
    return CACHED.format(
        small=small["graph"], at_small=small["ratio"], large=large["graph"], at_large=large["ratio"], power=power
    )


def _parts(shares: Sequence[Line]) -> str:
    """What the parts of products explain; nothing where they were not measured."""
    sparse = [line for line in shares if "reading_ms" in line]
    said = []
    if sparse:
        reading = [line["reading_ms"] / line["ours_ms"] for line in sparse]
        reached = [line["ceiling_share"] for line in sparse]
        said.append(READ.format(low=min(reading), high=max(reading), least=min(reached), most=max(reached)))
    said += [_dense(line, shares) for line in shares if line["name"] == "dense product" and "cached_ms" in line]
    return PARTS.format(said=" ".join(said)) if said else ""


def _dense(line: Line, shares: Sequence[Line]) -> str:
    placed = next(other["ratio"] for other in shares if other["name"] == PLACED)
    return DENSE.format(
        intensity=line["intensity"],
        balance=line["gemm_gflops"] / line["triad_gbs"],
        bound="flops" if line["bound"] == "flops" else "the memory",
        roof=line["attainable_gflops"],
        share=line["ratio"],
        cached=line["rival_ms"] / line["cached_ms"],
        placed=placed,
        fresh=line["fresh_ms"] / line["ours_ms"],
    )
