"""Records as rows of text: what the report and the command line show."""

from __future__ import annotations

from collections.abc import Collection

from bes.summary import Record, Summary, difference, headline, values

#: Metrics in the order of the tables; F1 is macro but for links.
METRICS = {
    "acc": "accuracy",
    "balanced_acc": "balanced accuracy",
    "f1": "macro F1",
    "auroc": "AUROC",
    "ap": "AP",
    "hits@20": "Hits@20",
    "hits@50": "Hits@50",
    "hits@100": "Hits@100",
}

#: What fits a terminal.
SHORT = ("acc", "f1", "auroc", "ap", "hits@50")

#: Parts in the order of the tables.
PARTS = {
    "val": "validation",
    "test": "test",
    "test_boundary": "test, at the boundary",
    "test_hard": "test, hard negatives",
}


def paired(records: list[Record], shown: Collection[str] = METRICS) -> list[dict[str, str]]:
    """Each metric of the seeds that have both arms: mean and standard error of control, bes and their difference."""
    return [
        {"part": part_name, "metric": metric_name(records, metric), **pair(records, metric, part)}
        for part, part_name in PARTS.items()
        for metric in _metrics(records, part, shown)
    ]


def pair(records: list[Record], metric: str, part: str = "test") -> dict[str, str]:
    """Control, bes and their difference in percent, all of the same seeds: those in which both have a value."""
    by_arm = {arm: values(records, arm, metric, part) for arm in ("control", "bes")}
    seeds = sorted(by_arm["control"].keys() & by_arm["bes"].keys())
    means = {arm: Summary.of([found[seed] for seed in seeds]).text() for arm, found in by_arm.items()}
    return {**means, "difference": difference(records, metric, part).text(signed=True)}


def arms(records: list[Record], shown: Collection[str] = METRICS) -> list[dict[str, str]]:
    """Every arm's test metrics, and its paired difference to control in the headline metric."""
    names = list(dict.fromkeys(record["arm"] for record in records))
    metric, title = headline(records)
    rows = []
    for arm in sorted(names, key=["control", "bes", *names].index):
        row = {"arm": arm}
        row |= {metric_name(records, m): _mean(records, arm, m, "test") for m in _metrics(records, "test", shown)}
        change = "" if arm == "control" else difference(records, metric, arm=arm).text(signed=True)
        rows.append({**row, f"{title} - control": change})
    return rows


def metric_name(records: list[Record], metric: str) -> str:
    """What a metric is called for the task of these records."""
    link = bool(records) and records[0]["task"] == "link"
    return {"f1": "F1", "auroc": "AUC"}.get(metric, METRICS[metric]) if link else METRICS[metric]


def _metrics(records: list[Record], part: str, shown: Collection[str]) -> list[str]:
    """The metrics that the records have for a part; none where they do not have the part."""
    found = records[0]["metrics"].get(part, {}) if records else {}
    return [metric for metric in METRICS if metric in found and (metric in shown or metric == headline(records)[0])]


def _mean(records: list[Record], arm: str, metric: str, part: str) -> str:
    return Summary.of(list(values(records, arm, metric, part).values())).text()
