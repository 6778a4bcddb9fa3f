"""The guide's page on when shaping helps, and its picture, from recorded runs of preset `strong`."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

from recorded import ROOT
from results_claims import Family, Sheets, beyond, family, line, values

from bes.bench import stats
from bes.bench.fill import FilledSheet
from bes.bench.suites.parts import ALONE
from bes.bench.suites.settings import CONTROL

PAGE = ROOT / "docs" / "guide" / "when-it-helps.md"
PICTURE = PAGE.parent / "when-it-helps.png"

#: What a user knows before they start, and the sheet that says what came of it.
SITUATIONS = {
    "5 labels a class": "few-labels-5",
    "20 labels a class": "few-labels-20",
    "60% of the nodes labelled": "full-labels",
    "60% labelled, as many random edges between classes again": "noisy-edges",
    "60% labelled, features left out": "features-left-out",
}

#: The same on graphs that no setting was chosen on.
ELSEWHERE = {
    "5 labels a class": "unseen-5",
    "20 labels a class": "unseen-20",
    "60% of the nodes labelled": "unseen-full",
}

#: What balanced accuracy, where it chooses, leaves of the gain, and what it is worth to the control and to BES.
BALANCING = {
    "balanced": ("BES, balanced", f"{CONTROL}, balanced"),
    "the balanced control over the control": (f"{CONTROL}, balanced", CONTROL),
    "balanced BES over BES": ("BES, balanced", "BES"),
}

BALANCED_TEXT = (
    "With `--set scoring=balanced_accuracy` validation counts classes alike in all that it chooses, in both arms: the "
    "lines called balanced are that. It was chosen on splits 0 to 7 of Twitch ES and Minesweeper, and its guard was "
    "mended after a look at rows of these splits. "
)

#: What it is held against beside the control, by row and column.
RIVALS = {
    "pseudo-labels": "over pseudo-labels",
    "GCN, pseudo-labels": "over a GCN with them",
    "look-alikes alone": "over look-alikes alone",
}


def page(sheets: Sheets) -> str:
    found = {title: family(sheets[name], "BES", CONTROL) for title, name in SITUATIONS.items()}
    blocks = [*(_situation(title, sheets, gains) for title, gains in found.items()), _elsewhere(sheets)]
    picture = f"![Gain by situation]({PICTURE.name})\n\n" if any(found.values()) else ""
    reading = READING if all(found.values()) else ""
    return TEXT.format(picture=picture, situations="\n\n".join(blocks), reading=reading)


def _situation(title: str, sheets: Sheets, gains: Family) -> str:
    """A heading, what to expect, and a line a graph."""
    if not gains:
        return f"### {title}\n\nNot measured yet."
    sheet = sheets[SITUATIONS[title]]
    before, after = values(sheet, CONTROL), values(sheet, "BES")
    best = ceiling(sheet)
    rivals = {column: found for row, column in RIVALS.items() if (found := family(sheet, "BES", row))}
    heads = ("data", "splits", "control", "gain", "95% interval", *rivals, "ceiling")
    rows = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    for name, (paired, _) in gains.items():
        interval = "none" if paired.t is None else f"{paired.t.low:+.2f} to {paired.t.high:+.2f}"
        others = [_beside(found[name][0], paired.n) if name in found else "none" for found in rivals.values()]
        control = fmean(before[name].values())
        most = f"{best[name]:+.2f}" if name in best else "none"
        cells = (name, str(paired.n), f"{control:.2f}", line(paired), interval, *others, most)
        rows.append(f"| {' | '.join(cells)} |")
    same = sum(before[name].get(seed) == value for name, found in after.items() for seed, value in found.items())
    every = sum(map(len, after.values()))
    kept = f" On {same} of {every} splits both are the same: there the guard mostly kept the encoders as they were."
    whole = f" The ceiling's mean is {fmean(best.values()):+.2f}." if best.keys() >= gains.keys() else ""
    splits = {name: paired.n for name, (paired, _) in gains.items()}
    complete = {
        column: one for column, one in rivals.items() if splits == {name: pair.n for name, (pair, _) in one.items()}
    }
    beside = "".join(f" Gain {column}: {gained(one)}" for column, one in complete.items())
    return f"### {title}\n\n{gained(gains)}{kept if same else ''}{whole}{beside}\n\n" + "\n".join(rows)


def _elsewhere(sheets: Sheets) -> str:
    """Whether it holds where nothing was chosen: accuracy and AUC by situation, with the gain on each graph."""
    return (
        "### Graphs that no setting was chosen on\n\n"
        "Gains over the same encoders without shaping; controls are on [their page](../results/unseen-graphs.md). On "
        "Twitch ES and Minesweeper one class has most of the nodes: there accuracy rises when predictions drift to "
        "that class, with few labels a constant guess beats both arms, and AUC is what counts. Where AUC falls, "
        "shaping does harm, whatever accuracy says; the guard, which asks validation for accuracy, does not see it. "
        f"{BALANCED_TEXT if _balanced(sheets) else ''}"
        "Chameleon's filtered form is one of the graphs that the guard was chosen on.\n\n"
        + "\n".join(
            f"- {title}, {metric}: {_each(family(sheets[name + suffix], 'BES', CONTROL))}"
            for title, name in ELSEWHERE.items()
            for metric, suffix in (("accuracy", ""), ("AUC", "-auc"))
        )
        + "".join(f"\n- {title}, AUC, {what}: {_each(gains)}" for title, what, gains in _balanced(sheets))
    )


def _balanced(sheets: Sheets) -> list[tuple[str, str, Family]]:
    """What came of counting classes alike, by situation."""
    return [
        (title, what, gains)
        for title, name in ELSEWHERE.items()
        for what, pair in BALANCING.items()
        if (gains := family(sheets[f"{name}-auc"], *pair))
    ]


def _each(gains: Family) -> str:
    """The mean gain and each graph's, as sentences."""
    each = "; ".join(f"{graph} {line(paired)}" for graph, (paired, _) in gains.items())
    return f"{gained(gains)} {each}." if gains else "not measured yet."


def _beside(paired: stats.Paired, usual: int) -> str:
    """A difference, with its splits where they are not those of the line."""
    return line(paired) + ("" if paired.n == usual else f" ({paired.n} splits)")


def ceiling(sheet: FilledSheet) -> dict[str, float]:
    """What choosing among the rows that start alike could gain, by graph: the best of each split on the test part.

    Only where every row has every split of the control: the best of fewer would be no ceiling.
    """
    rows = dict.fromkeys(cell.cell.row for cell in sheet.cells if cell.cell.row not in ALONE)
    found = [values(sheet, row) for row in rows]
    before = values(sheet, CONTROL)
    return {
        name: fmean(max(one[name][seed] for one in found) - own for seed, own in control.items())
        for name, control in before.items()
        if all(control.keys() <= one.get(name, {}).keys() for one in found)
    }


def gained(gains: Family) -> str:
    """The mean gain over the graphs with its standard error over splits, and on how many it lies beyond zero."""
    up, down = beyond(gains)
    mean = fmean(paired.mean or 0.0 for paired, _ in gains.values())
    error = math.hypot(*(paired.error or 0.0 for paired, _ in gains.values())) / len(gains)
    return (
        f"{mean:+.2f} ± {error:.2f} points in the mean of {len(gains)} {'graphs' if len(gains) > 1 else 'graph'}, each "
        f"by all of its splits; the interval lies above zero on {len(up)}, below on {len(down)}."
    )


def draw(sheets: Sheets, path: Path = PICTURE) -> None:
    """A point a graph with its interval, situation by situation."""
    from bes.bench.figures.drawing import INK, SOFT, WIDE, new_figure
    from bes.report.figures import COLORS

    found: list[tuple[str, str, stats.Paired]] = [
        (title, name, paired)
        for title, sheet in SITUATIONS.items()
        for name, (paired, _) in family(sheets[sheet], "BES", CONTROL).items()
    ]
    if not found:
        return
    titles = list(dict.fromkeys(title for title, _, _ in found))
    figure = new_figure(WIDE, 0.22 * (len(found) + len(titles)) + 0.6)
    axes = figure.subplots()
    y, ticks = 0.0, []
    for i, title in enumerate(titles):
        y -= 1.0
        axes.text(
            0.0, y, title, transform=axes.get_yaxis_transform(), fontsize=8, color=INK, va="center", weight="bold"
        )
        for _, name, paired in (one for one in found if one[0] == title):
            y -= 1.0
            ticks.append((y, name))
            if paired.t is not None:
                axes.plot([paired.t.low, paired.t.high], [y, y], color=COLORS[i], linewidth=1.5)
            axes.plot([paired.mean], [y], "o", color=COLORS[i], markersize=4)
    axes.axvline(0.0, color=SOFT, linewidth=0.8)
    axes.set_yticks([place for place, _ in ticks], [name for _, name in ticks], fontsize=7)
    axes.set_ylim(y - 0.7, -0.3)
    axes.set_xlabel("points of test accuracy that shaping adds, with its 95% interval", fontsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


TEXT = """# When does shaping help?

`bes run DATA --preset strong`: what to expect, by what you know before you start. Written by `make results` from
recorded runs; the pages behind it are [few labels](../results/few-labels.md),
[noisy graphs](../results/noisy-graphs.md) and [full labels](../results/full-labels.md), with every control. One setting
for all graphs, splits that no setting was chosen on, test accuracy in percent, gains over the same encoders without
shaping, paired by split. The ceiling is no method: on each split the best of BES and all rows of its page that start
from the same encoders, by the test part itself. Nobody can choose so well, and it says how much is left to choose from.

{picture}{situations}
{reading}"""

#: Once all of it is measured.
READING = """
## How to read it

- **Few labels** is where shaping has something to learn from: nodes without a label outnumber the others, and their
  neighbours tell what they are, those they are linked with and those they look like. Three things gain: taking such
  nodes in at all, which pseudo-labels do too; listening to look-alikes, which the row of look-alikes alone does without
  shaping; and how nodes join, a growing share by the teacher that validation chose, no class growing far beyond what
  it was at first. The pull at the boundary is worth next to nothing in the mean of the graphs: see the row without
  gravity.
- **Many labels** leave little to learn. The guard then mostly keeps the encoders as they were, for fewer than a fifth
  of the shaped epochs are better than they on validation: what is gained or lost there comes from look-alikes, and a
  difference of zero is a refusal, not a gain. The run takes up to twice as long as without shaping.
- **Noise between classes** makes neighbours poor teachers. Where likeness tells edges within a class from those across,
  shaping counts edges by it. That is most of what is gained there: see the row of trusted edges alone.
- **Poor features** are like few labels: neighbours then tell more than what a node has itself.
- **No labels**: clusters in place of classes change next to nothing ([no labels](../results/no-labels.md)).
- Shaping **frozen embeddings**, as the paper does (`--preset paper`), changes next to nothing in any of these
  ([results](../results/README.md)).
- In doubt, run both arms: `bes run` always does, and its report shows which test nodes were fixed and which broken.
"""
