"""The words of docs/results/README.md; every number in them is made from the records."""

from __future__ import annotations

from statistics import fmean

from results_claims import (
    RIVALS,
    Family,
    Sheets,
    alike,
    beyond,
    chance,
    contradictions,
    family,
    first,
    gap_text,
    line,
    links_effect,
    merged,
    nodes_effect,
    optimism,
    ranks_text,
    said,
    table,
    verdict,
)
from when_it_helps import SITUATIONS, gained

from bes.bench import stats
from bes.bench.compare import metrics_of
from bes.bench.suites.settings import CONTROL

SUITE_TEXT = """# {title}

Written by `make results` from `results/bench.jsonl.gz`: {stamp}.
This page alone: `bes bench {name} --jobs 2`. What it means: [results](README.md).

{figures}
{ranks}
{tables}
{absent}
"""

README_TEXT = """# Results: what holds, what does not, how sure we are

{overview}

## Every table and figure

{suites}

Earlier pages: [the first look](first-look.md) and [links without leaks](links.md).

Written by `make results` from `results/bench.jsonl.gz`: {stamp}. `make check-results` makes every page again from
the committed records and compares them letter by letter.
"""


def overview(sheets: Sheets, absent: list[str], later: list[str]) -> tuple[str, str]:
    """The short form for the README, and the page; data sets that were not here, and those not measured yet."""
    nodes, links = nodes_effect(sheets), links_effect(sheets)
    head = f"{_headline(nodes, 'node classification')} {_headline(links, 'link prediction')}"
    pays = _pays(sheets)
    parts = [
        head,
        "## Does shaping help?",
        "BES minus the same encoders and decoder without shaping, test accuracy in points, paired by split, chosen on "
        "validation.",
        f"**Nodes.** {said(nodes, 'Difference')} Over the data sets, one mean each: "
        f"{line(stats.Paired.of([paired.mean for paired, _ in nodes.values() if paired.mean is not None]))}.",
        table(nodes),
        f"**Links.** {said(links, 'Difference')}",
        table(links),
        f"By chance alone {chance(nodes, links)} such intervals would leave zero out. Splits of one graph share "
        "most of their nodes, so that intervals over them are too narrow rather than too wide.",
        "## Where it pays",
        "Not the paper's form of it: preset `strong` shapes the encoders themselves, and nodes without a label take "
        "part. Gains over the same encoders without shaping; [when it helps](../guide/when-it-helps.md) has them graph "
        "by graph, beside pseudo-labels.",
        pays,
        "## Every method, tuned alike",
        *_arena(sheets),
        "## The paper's claims, one by one",
        "A comparison counts where its 95% interval leaves zero out, without a correction but where it is named.",
        *_claims(sheets),
        "## How far the printed values can be reached",
        *_levels(sheets),
        "## How sure we are",
        *_doubts(absent, later),
    ]
    short = f"{head} Selected on validation, paired by split; every table and figure of the paper, beside its\n"
    short += "printed values, is in [docs/results](docs/results/README.md).\n\n" + table(nodes)
    short += "\n\nPreset `strong` shapes the encoders themselves, and nodes without a label take part. Gains over the "
    short += "same\nencoders without shaping ([when it helps](docs/guide/when-it-helps.md)):\n\n"
    short += pays
    return short, "\n\n".join(parts)


def _pays(sheets: Sheets) -> str:
    """Preset `strong` against the same encoders without shaping, by what is known before one starts."""
    found = {title: family(sheets[name], "BES", CONTROL) for title, name in SITUATIONS.items()}
    return "\n".join(f"- {title}: {gained(one) if one else 'not measured yet.'}" for title, one in found.items())


def _arena(sheets: Sheets) -> list[str]:
    texts = []
    for what, name in {"Nodes": "arena-nodes", "Links": "arena-links"}.items():
        sheet = sheets[name]
        best = []
        for column in sheet.sheet.columns:
            cells = {row: cell for row in sheet.sheet.rows if (cell := sheet.at(row, column)) and cell.values}
            whole = {row: fmean(cell.values.values()) for row, cell in cells.items() if not cell.problem}
            if len(whole) > len(sheet.sheet.rows) / 2:
                first = max(whole, key=whole.__getitem__)
                best.append(f"{column} {first} ({whole[first]:.2f}, of {len(whole)})")
        ranks = ranks_text(sheet, metrics_of(sheet)[0])
        texts.append(
            f"- {what}, [all of it]({name}.md): best by graph {'; '.join(best) or 'not measured yet'}. {ranks}"
        )
    return ["\n".join(text.rstrip() for text in texts)]


def _headline(found: Family, task: str) -> str:
    if not found:
        return f"Of {task} nothing is recorded."
    up, down = beyond(found)
    outlast = [name for name, (_, p) in found.items() if p is not None and p < 0.05]
    if not outlast:
        verdict = f"shaping as the paper writes it changes {task} by nothing that outlasts a correction for many tests"
    else:
        verdict = f"shaping as the paper writes it changes {task} on {', '.join(outlast)}"
    return (
        f"On {len(found)} data sets {verdict}; {len(up)} interval{'s' * (len(up) != 1)} above zero, {len(down)} below."
    )


def _claims(sheets: Sheets) -> list[str]:
    won, lost = first(sheets["table1-nc"])
    won_hard, lost_hard = first(sheets["challenging-nc"])
    ablation, links = sheets["ablation-nc"], sheets["ablation-lp"]
    layers = merged_tasks(family(ablation, "L1+2", "L1"), family(links, "L1+2", "L1"))
    topology = merged_tasks(
        family(sheets["topology-vs-embedding-nc"], "NC Embedding Space", "NC Graph Topology"),
        family(sheets["topology-vs-embedding-lp"], "LP Embedding Space", "LP Graph Topology"),
    )
    pairs = merged_tasks(
        family(sheets["pairwise-vs-centers-nc"], "NC Center-based Approximation", "NC Pairwise Objective"),
        family(sheets["pairwise-vs-centers-lp"], "LP Center-based Approximation", "LP Pairwise Objective"),
    )
    seconds = merged_tasks(
        family(sheets["pairwise-vs-centers-seconds-nc"], "NC Pairwise Objective", "NC Center-based Approximation"),
        family(sheets["pairwise-vs-centers-seconds-lp"], "LP Pairwise Objective", "LP Center-based Approximation"),
    )
    boundary = family(sheets["boundary-nodes"], "w/ boundary nodes", "w/o boundary nodes")
    encoders = family(ablation, "Enc1+2", "Enc1"), family(ablation, "Enc1+2", "Enc2")
    n_first = f"{len(won) + len(won_hard)} of {len(won + lost + won_hard + lost_hard)}"
    return [
        f"- *BES outperforms all methods* (tables 1 and 11): **best of the methods run on {n_first} data sets**"
        f"{_listed(won + won_hard)}; elsewhere {', '.join(lost + lost_hard) or 'none'}. "
        f"{ranks_text(sheets['table1-nc'])} {ranks_text(sheets['challenging-nc'])}".rstrip(),
        _claim("Two encoders are better than one", "table 14", "Both minus the first", encoders[0], encoders[1]),
        _claim("The second layer adds a little", "tables 14 and 15", "Two layers minus one", layers),
        _claim("Boundary nodes are what matters", "table 16", "Boundary minus all labelled nodes", boundary),
        _claim(
            "Neighbours in embedding space serve better than the graph's", "table 6", "Embedding minus graph", topology
        ),
        f"- *Centres are as accurate as pairs* (table 7): **{alike(pairs)}**. {said(pairs, 'Centres minus pairs')}",
        _claim("Centres converge sooner than pairs", "table 8", "Pairs minus centres", seconds, unit="seconds")
        + " Where a run of either had not converged when its iterations ended, the data set is left out.",
        f"- *Performance is robust to tau, delta, alpha and beta* (figure 3). {_sensitivity(sheets)}",
    ]


def _claim(claim: str, where: str, what: str, *families: Family, unit: str = "points") -> str:
    return f"- *{claim}* ({where}): **{verdict(*families)}**. {said(families[0], what, unit)}"


def merged_tasks(nodes: Family, links: Family) -> Family:
    """Nodes and links of the same data sets under names that tell them apart."""
    named = ({f"{name} {task}": one for name, one in part.items()} for task, part in (("NC", nodes), ("LP", links)))
    return merged(*named)


def _listed(names: list[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _sensitivity(sheets: Sheets) -> str:
    texts = []
    for name in ("tau", "delta", "alpha", "beta"):
        sheet = sheets[f"sensitivity-{name}"]
        ranges = []
        for dataset in sheet.sheet.rows:
            cells = [c for c in sheet.cells if c.cell.row == dataset and c.cell.column != "no shaping" and c.values]
            means = {c.cell.column: fmean(c.values.values()) for c in cells}
            if means:
                best = max(means, key=means.__getitem__)
                ranges.append(f"{dataset} {max(means.values()) - min(means.values()):.2f} (best at {best})")
        texts.append(f"{name}: {', '.join(ranges) or 'nothing recorded'}")
    return f"Between the best and the worst value lie, in points: {'; '.join(texts)}."


def _levels(sheets: Sheets) -> list[str]:
    nodes, links = sheets["table1-nc"], sheets["table1-lp"]
    parts = {"Table 1, nodes": nodes, "Table 11, nodes": sheets["challenging-nc"], "Table 1, links": links}
    texts = [
        f"- {what}: {gap_text(sheet, RIVALS, 'rivals')}; {gap_text(sheet, ['BES'], 'BES')}."
        for what, sheet in parts.items()
    ]
    peek = optimism(nodes, sheets["table1-nc-peek"], ["BES", CONTROL, *RIVALS])
    texts.append(f"- Choosing the epoch on the test part, as the authors' code does, adds {peek} on nodes.")
    leak = optimism(links, sheets["table1-lp-leak"], ["BES", CONTROL, "GCN"])
    texts.append(
        f"- Messages over the test edges change link accuracy by {leak}; with them, "
        f"{gap_text(sheets['table1-lp-leak'], ['BES'], 'BES')}. "
        "Whether the paper's procedure has such a leak is not known, because it is not published."
    )
    return ["\n".join(texts)]


def _doubts(absent: list[str], later: list[str]) -> list[str]:
    return [
        "\n".join(
            [
                f"- Five splits can give no p below {stats.smallest_p(5):.3f}, ten none below "
                f"{stats.smallest_p(10):.3f}. Where five stand behind a difference, its interval is all there is.",
                f"- Not here, and left empty: {'; '.join(absent) or 'nothing'}. Not measured yet: "
                f"{'; '.join(later) or 'nothing'}. This page does not speak about them.",
                "- Encoders, decoder and settings are the paper's where it states them; unclear points are settled as "
                "in the README's table. For links the encoders are ours, because the paper names none.",
                f"- The paper contradicts itself in {_count(contradictions())} places: {contradictions()}.",
            ]
        )
    ]


def _count(text: str) -> int:
    return text.count(";") + 1
