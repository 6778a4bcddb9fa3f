from typing import Any

from bes.report.tables import SHORT, arms, pair, paired


def record(task: str, arm: str, seed: int, **metrics: float) -> dict[str, Any]:
    parts = ("val", "test", "test_boundary") + (("test_hard", "test_degree") if task == "link" else ())
    return {
        "task": task,
        "arm": arm,
        "seed": seed,
        "config": {"links": {"select": "auc"}},
        "metrics": {part: {"n": 9, **metrics} for part in parts},
    }


def test_nodes_have_two_arms_and_three_metrics() -> None:
    records = [
        record("node", arm, seed, acc=0.5 + seed / 10, f1=0.4, auroc=0.6)
        for arm in ("control", "bes")
        for seed in (0, 1)
    ]
    rows = paired(records)
    assert [row["part"] for row in rows[::3]] == ["validation", "test", "test, at the boundary"]
    assert [row["metric"] for row in rows[:3]] == ["accuracy", "macro F1", "AUROC"]
    assert rows[0] == {
        "part": "validation",
        "metric": "accuracy",
        "control": "55.00 ± 5.00",
        "bes": "55.00 ± 5.00",
        "difference": "+0.00 ± 0.00",
    }
    assert [row["arm"] for row in arms(records)] == ["control", "bes"]


def test_all_figures_are_of_the_seeds_that_have_both_arms() -> None:
    records = [record("node", "control", seed, acc=0.1 * seed, f1=0.4, auroc=0.6) for seed in (1, 2, 9)]
    records += [record("node", "bes", seed, acc=0.1 * seed + 0.2, f1=0.4, auroc=0.6) for seed in (1, 2, 5)]
    assert pair(records, "acc") == {"control": "15.00 ± 5.00", "bes": "35.00 ± 5.00", "difference": "+20.00 ± 0.00"}
    assert paired(records)[3]["control"] == "15.00 ± 5.00"
    assert pair(records[:3], "acc") == {"control": "none", "bes": "none", "difference": "none"}


def test_links_have_their_own_metrics_names_and_arms() -> None:
    values = {"acc": 0.5, "f1": 0.4, "ap": 0.3, "hits@20": 0.2, "hits@50": 0.1, "hits@100": 0.0}
    records = [
        record("link", arm, seed, auroc=auc, **values)
        for arm, auc in (("cn", 0.5), ("control", 0.7), ("bes", 0.8))
        for seed in (0, 1)
    ]
    names = ["accuracy", "F1", "AUC", "AP", "Hits@20", "Hits@50", "Hits@100"]
    assert [row["metric"] for row in paired(records)[:7]] == names
    assert len(paired(records)) == 4 * 7
    assert len(paired(records, SHORT)) == 4 * 5
    rows = arms(records)
    assert [row["arm"] for row in rows] == ["control", "bes", "cn"]
    assert [row["AUC - control"] for row in rows] == ["", "+10.00 ± 0.00", "-20.00 ± 0.00"]
    assert list(rows[0]) == ["arm", *names, "AUC - control"]
    assert "Hits@20" not in arms(records, SHORT)[0]


def test_without_records_there_are_no_rows() -> None:
    assert paired([]) == []
    assert arms([]) == []
