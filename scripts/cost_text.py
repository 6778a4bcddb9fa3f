"""What docs/scale.md says of the cost model: predicted beside measured, and 10^9 nodes. All of it from records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from cost_scale import CLASSES, DEGREE, RANKS, WIDTH, Seen, scale
from recorded import table

from bes.bench.speed.page import stamp_of
from bes.bench.speed.roofline import FRESH, RANDOM
from bes.scale import cost, traffic
from bes.scale.cost import KINDS, Sizes
from bes.scale.work import Machine, Work

Line = dict[str, Any]

#: The share of nodes that training has labels of in `bes bench speed`.
TRAIN = 0.6

#: A prediction further off than this is named.
OFF = 2.0

HEAD = """Written by `python scripts/cost_model.py` from `results/speed.jsonl.gz` and `results/ranks.jsonl.gz`.
The machine ({stamp}): {flops:.1f} GFLOP/s in a large product, {stream:.1f} GB/s along arrays, {random:.1f} GB/s for
rows in {order}{fresh}. A stage's time is the sum over its operations of the longer of computing and moving."""

TIMES = """### Time, predicted and measured

{table}

{said}"""

MESSAGES = """### Messages, predicted and counted

Two ranks, a block graph of {nodes:,} nodes, {epochs} epochs and {iterations} iterations; {own} own and {halo} halo
nodes. Bytes of all ranks; messages of each.

{table}

{said}"""


def machine(speed: Sequence[Line]) -> Machine:
    """The rates that the roofline measured; that of rows by the products' own order where it was measured."""
    lines = {line["name"]: line for line in speed if line["kind"] == "roofline"}
    stream = 1e9 * lines["triad, GB/s"]["limit"]
    read = [2 * line["flops"] / line["reading_ms"] * 1000 for line in lines.values() if "reading_ms" in line]
    random = median(read) if read else stream * lines[RANDOM]["ratio"]
    fresh = stream * lines[FRESH]["ratio"] if FRESH in lines else stream
    return Machine(1e9 * lines["gemm, GFLOP/s"]["limit"], stream, random, fresh)


def _sizes(nodes: int, labelled: float = TRAIN) -> Sizes:
    return Sizes(nodes, nodes * DEGREE / 2, labelled=labelled * nodes)


#: From nodes to the operations of a stage of growth.
STAGES: dict[str, Callable[[int], list[Work]]] = {
    "encoder step, gcn": lambda n: cost.encoder_step("gcn", _sizes(n)),
    "encoder step, cheb": lambda n: cost.encoder_step("cheb", _sizes(n)),
    "inference": lambda n: cost.inference("gcn", _sizes(n)),
    "decoder step": lambda n: cost.decoder_step("cheb", _sizes(n)),
    "region": lambda n: cost.region(_sizes(n)),
    "displacement": lambda n: cost.displacement(n, WIDTH),
    "shaping iteration": lambda n: cost.iteration(256, min(n, 10_000), WIDTH, CLASSES),
    "shaping": lambda n: cost.shaping(_sizes(n, 0.5), sample=min(n, 10_000)),
}


def page(speed: Sequence[Line], ranks: Sequence[Line]) -> str:
    """The section."""
    here = machine(speed)
    limits = [line for line in speed if line["kind"] == "roofline"]
    fresh = any(line["name"] == FRESH for line in limits)
    head = HEAD.format(
        stamp=stamp_of(limits),
        flops=here.flops / 1e9,
        stream=here.stream / 1e9,
        random=here.random / 1e9,
        order="the order of edges" if any("reading_ms" in line for line in limits) else "random order",
        fresh=f", {here.fresh / 1e9:.1f} GB/s into fresh memory" if fresh else "",
    )
    run = next(line for line in ranks if line["kind"] == "ranks")
    shares = {line["graph"]: line["halo_share"] for line in ranks if line["kind"] == "cut" and line["parts"] == RANKS}
    grown = [line for line in speed if line["kind"] == "growth" and line["name"] in STAGES and "wall_ms" in line]
    grown.sort(key=lambda line: line["nodes"])
    return "\n\n".join([head, _times(grown, here), _messages(run), scale(here, shares, _seen(grown, here))])


def _seen(grown: Sequence[Line], here: Machine) -> dict[str, Seen]:
    """Of each stage, from lines by nodes."""
    found = {}
    for name in {line["name"] for line in grown}:
        lines = [line for line in grown if line["name"] == name]
        least, most = lines[0], lines[-1]
        predicted = here.takes(STAGES[name](most["nodes"]))
        found[name] = Seen(most["wall_ms"] / 1000 / predicted, least["wall_ms"] / 1000)
    return found


def _times(grown: Sequence[Line], here: Machine) -> str:
    """Every stage and size that growth has measured."""
    rows, off = [], []
    for line in grown:
        works = STAGES[line["name"]](line["nodes"])
        predicted, measured = 1000 * here.takes(works), line["wall_ms"]
        ratio = measured / predicted
        numbers = [f"{cost.flops(works) / 1e9:,.2f}", f"{cost.moved(works) / 1e9:,.2f}"]
        rows.append(
            [line["name"], f"{line['nodes']:,}", *numbers, f"{predicted:,.1f}", f"{measured:,.1f}", f"{ratio:.2f}"]
        )
        if not 1 / OFF <= ratio <= OFF:
            off.append(f"{line['name']} at {line['nodes']:,} nodes ({ratio:.1f} times)")
    if not rows:
        return TIMES.format(table="Growth was not measured yet.", said="").rstrip()
    header = ["stage", "nodes", "GFLOP", "GB moved", "predicted, ms", "measured, ms", "measured / predicted"]
    return TIMES.format(table=table(header, rows), said=_off(off, len(rows)))


def _off(off: Sequence[str], count: int) -> str:
    if not off:
        return f"All {count} predictions are within {OFF:g} times of what was measured."
    return (
        f"Off by more than {OFF:g} times: {len(off)} of {count}: {', '.join(off)}. Where measured is less, arrays of "
        "that size may stay in caches; where it is more, calls may cost more than what they do, or memory may be "
        "slower than its rates."
    )


def _messages(run: Line) -> str:
    """The traffic of a run on ranks, stage by stage."""
    made, options, told = run["made"], run["set"], run["traffic"]
    halo, count = sum(part["halo"] for part in run["rank_nodes"]), made["ranks"]
    names, channels = options["encoders.names"].split(","), options["encoders.channels"]
    columns, labelled = channels * len(names), made["labels"] * made["classes"]
    shape: dict[str, Any] = {"features": made["features"], "classes": made["classes"], "columns": columns}
    sizes = Sizes(made["nodes"], made["edges"], **shape, hidden=channels, labelled=labelled)
    wide = Sizes(made["nodes"], made["edges"], **shape, hidden=options["decoder.hidden"])
    epochs = options["encoders.epochs"]
    predicted = {
        f"encoder-{place}-{name}": traffic.encoder(KINDS[name], sizes, count, halo, epochs)
        for place, name in enumerate(names, start=1)
    }
    kind, again = KINDS[options["decoder.kind"]], options["decoder.epochs"]
    for arm in ("control", "bes"):
        predicted[f"decoder-{arm}"] = traffic.decoder(kind, wide, count, halo, again)
    found, steps = 4 * (columns // len(names)) ** 2, options["n_iter"]
    predicted["shaping"] = traffic.shaper(sizes, count, _boundary(run), steps, found, options["batch_size"])
    rows, off = [], []
    for stage, guess in predicted.items():
        for kind_of, pair in _kinds(guess).items():
            if kind_of not in told[stage]:
                continue
            seen = told[stage][kind_of]
            ratio = seen["bytes"] / pair[1]
            messages = "" if pair[0] is None else f"{pair[0]:,.0f}"
            rows.append(
                [
                    stage,
                    kind_of,
                    messages,
                    f"{seen['messages']:,}",
                    f"{pair[1]:,.0f}",
                    f"{seen['bytes']:,}",
                    f"{ratio:.3f}",
                ]
            )
            if not 1 / OFF <= ratio <= OFF:
                off.append(f"{stage}, {kind_of} ({ratio:.1f} times)")
    header = ["stage", "kind", "messages, predicted", "counted", "bytes, predicted", "counted", "counted / predicted"]
    own = " and ".join(f"{part['own']:,}" for part in run["rank_nodes"])
    beyond = " and ".join(f"{part['halo']:,}" for part in run["rank_nodes"])
    facts = {"nodes": made["nodes"], "epochs": epochs, "iterations": steps, "own": own, "halo": beyond}
    return MESSAGES.format(**facts, table=table(header, rows), said=_off(off, len(rows)))


def _boundary(run: Line) -> list[int]:
    """Boundary nodes of each layer."""
    return [int(layer["set"]) for layer in run["boundary"]]


def _kinds(guess: traffic.Traffic) -> dict[str, tuple[float | None, float]]:
    """Messages, where they are predicted, and bytes by kind."""
    found: dict[str, tuple[float | None, float]] = {
        "exchange": (guess.exchanges, guess.exchanged),
        "sum": (guess.sums, guess.summed),
        "gather": (None, guess.gathered),
    }
    return {kind: pair for kind, pair in found.items() if pair[1]}
