"""The paper's claims beside what the recorded runs say: each sentence is made from the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

from bes.bench import paper, stats
from bes.bench.compare import ranked
from bes.bench.fill import FilledSheet
from bes.bench.model import ACCURACY, Metric
from bes.bench.suites.arena import STRONG
from bes.bench.suites.settings import CONTROL, METHODS

Sheets = Mapping[str, FilledSheet]

#: Differences by data set.
Family = dict[str, tuple[stats.Paired, float | None]]

#: Names of a group that are said, at most.
NAMED = 5

RIVALS = [row for row, arm in METHODS.items() if arm not in ("control", "bes")]


def values(sheet: FilledSheet, row: str) -> dict[str, dict[int, float]]:
    """The values of a row by data set, as far as there are any; times of what did not converge say nothing."""
    cells = [c for c in sheet.cells if c.cell.row == row and c.values and "not converged" not in c.problem]
    return {cell.cell.column.removesuffix(" NC").removesuffix(" LP"): cell.values for cell in cells}


def family(sheet: FilledSheet, row: str, against: str) -> Family:
    """`row` minus `against` on each data set, with Holm over the data sets."""
    a, b = values(sheet, against), values(sheet, row)
    both = [name for name in a if name in b]
    return stats.by_dataset({name: a[name] for name in both}, {name: b[name] for name in both})


def merged(*families: Family) -> Family:
    """Families over different data sets as one, corrected together."""
    pairs = {name: paired for found in families for name, (paired, _) in found.items()}
    adjusted = stats.holm([paired.p for paired in pairs.values()])
    return {name: (paired, p) for (name, paired), p in zip(pairs.items(), adjusted, strict=True)}


def line(paired: stats.Paired) -> str:
    if paired.mean is None:
        return "nothing"
    error = "" if paired.error is None else f" ± {paired.error:.2f}"
    return f"{paired.mean:+.2f}{error}"


def table(found: Family) -> str:
    """The differences as a Markdown table."""
    rows = ["| data | splits | difference | 95% interval (t) | p | p (Holm) |", "|---|---:|---:|---:|---:|---:|"]
    for name, (paired, p) in found.items():
        interval = "none" if paired.t is None else f"{paired.t.low:+.2f} to {paired.t.high:+.2f}"
        raw, fair = ("none" if x is None else f"{x:.3f}" for x in (paired.p, p))
        rows.append(f"| {name} | {paired.n} | {line(paired)} | {interval} | {raw} | {fair} |")
    return "\n".join(rows)


def beyond(found: Family) -> tuple[list[str], list[str]]:
    """The data sets whose t interval lies above zero, and those where it lies below."""
    up = [name for name, (paired, _) in found.items() if paired.t is not None and paired.t.low > 0]
    down = [name for name, (paired, _) in found.items() if paired.t is not None and paired.t.high < 0]
    return up, down


def said(found: Family, what: str, unit: str = "points") -> str:
    """Where a difference lies beyond zero, whether it outlasts the correction, and how large the largest is."""
    if not found:
        return "Nothing recorded."
    up, down = beyond(found)
    n = len(found)
    outlast = [name for name, (_, p) in found.items() if p is not None and p < 0.05]
    fewest = min(paired.n for paired, _ in found.values())
    name, largest = max(
        ((name, paired) for name, (paired, _) in found.items()), key=lambda each: abs(each[1].mean or 0)
    )
    text = f"{what}: above zero on {_some(up, n)}, below on {_some(down, n)}"
    if outlast:
        text += f"; after Holm's correction {_names(outlast)} below 0.05"
    elif stats.smallest_p(fewest) < 0.05:
        text += "; none is left after Holm's correction"
    else:
        text += f"; {fewest} splits are too few for a test to speak"
    return f"{text}. The largest is {line(largest)} {unit} ({name})."


def verdict(*families: Family) -> str:
    """What the intervals say of a claim that differences are above zero."""
    n = sum(len(found) for found in families)
    up, down = (sum(len(beyond(found)[side]) for found in families) for side in (0, 1))
    if not n:
        return "not measured"
    of = f"of {n} comparison{'s' * (n != 1)}"
    if not up and not down:
        return f"not seen in any {of}"
    if not down:
        return f"seen in {up} {of}"
    return f"contradicted in {down} {of}" if not up else f"seen in {up} and contradicted in {down} {of}"


def alike(found: Family) -> str:
    """What the intervals say of a claim that there is no difference."""
    up, down = beyond(found)
    if not found:
        return "not measured"
    return f"no difference seen in {len(found) - len(up) - len(down)} of {len(found)} comparisons"


def _some(names: list[str], n: int) -> str:
    return f"{len(names)} of {n} data sets" + (f" ({', '.join(names)})" if names else "")


def _names(names: list[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def chance(*families: Family) -> str:
    """How many of so many intervals would leave zero out by chance."""
    n = sum(len(found) for found in families)
    return f"{0.05 * n:.1f} of {n}"


def gap_text(sheet: FilledSheet, rows: Iterable[str], what: str) -> str:
    """How far ours is from the printed values: the mean of its size, and with its sign."""
    chosen = set(rows)
    gaps = [c.difference for c in sheet.cells if c.cell.row in chosen and c.difference is not None]
    if not gaps:
        return f"no cell of {what} is recorded"
    cells = "the cell" if len(gaps) == 1 else f"the {len(gaps)} cells"
    size = f"{fmean(map(abs, gaps)):.2f} points on average (ours minus paper {fmean(gaps):+.2f})"
    return f"{cells} of {what}: off the printed values by {size}"


def optimism(honest: FilledSheet, other: FilledSheet, rows: Iterable[str]) -> str:
    """Mean gain of a protocol over the honest one, on the same splits, methods and data sets."""
    gains = []
    for row in rows:
        fair, loose = values(honest, row), values(other, row)
        for name in fair.keys() & loose.keys():
            gains += [loose[name][seed] - fair[name][seed] for seed in fair[name].keys() & loose[name].keys()]
    return f"{fmean(gains):+.2f} points ({len(gains)} runs)" if gains else "nothing that is recorded"


def first(sheet: FilledSheet) -> tuple[list[str], list[str]]:
    """Where BES has the best mean of all that was run, and where something else has."""
    won, lost = [], []
    for name in values(sheet, "BES"):
        means = {
            row: fmean(values(sheet, row)[name].values()) for row in ("BES", *RIVALS) if name in values(sheet, row)
        }
        best = max(means, key=means.__getitem__)
        (won if best == "BES" else lost).append(name if best == "BES" else f"{name} ({best})")
    return won, lost


def ranks_text(sheet: FilledSheet, metric: Metric = ACCURACY) -> str:
    found = ranked(sheet, metric)
    if found is None:
        return ""
    order = ", ".join(f"{name} {place:.2f}" for name, place in found.average.items())
    groups = ""
    for own in ("BES", STRONG):
        joined = [group for group in found.groups if own in group]
        if joined:
            groups += f"; {own} is in one group with {_others([m for m in max(joined, key=len) if m != own])}"
    return (
        f"Average ranks over {found.n_datasets} data sets (1 is best): {order}. "
        f"Two methods differ where their ranks are {found.critical:.2f} apart{groups}."
    )


def _others(names: list[str]) -> str:
    """The names, best first; of many their number, and the first few."""
    if len(names) <= NAMED:
        return "; ".join(names)
    return f"{len(names)} others, among them {'; '.join(names[:NAMED])}"


def contradictions() -> str:
    pairs = [f"{a.table} {a.text} and {b.table} {b.text} ({a.row}, {a.column})" for a, b in paper.contradictions()]
    return "; ".join(pairs)


def nodes_effect(sheets: Sheets) -> Family:
    """BES minus its control on every data set that was run, ten splits each."""
    return merged(family(sheets["table1-nc"], "BES", CONTROL), family(sheets["challenging-nc"], "BES", "w/o BES"))


def links_effect(sheets: Sheets) -> Family:
    return family(sheets["table1-lp"], "BES", CONTROL)
