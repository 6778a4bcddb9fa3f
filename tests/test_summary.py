import math
from typing import Any

import pytest

from bes.summary import Summary, difference, headline, values, verdict


def records(control: list[float | None], shaped: list[float | None], *, steps: int = 3) -> list[dict[str, Any]]:
    """Records of both arms with these test accuracies, one a seed."""
    made = []
    for arm, accuracies in (("control", control), ("bes", shaped)):
        for seed, acc in enumerate(accuracies):
            taken = {"tried": 5, "accepted": steps, "halvings": 0} if arm == "bes" else {}
            made.append({"task": "node", "seed": seed, "arm": arm, "metrics": {"test": {"acc": acc}}, "steps": taken})
    return made


def test_mean_deviation_and_error_by_hand() -> None:
    """0.1, 0.2, 0.6: mean 0.3, squares 0.04 + 0.01 + 0.09 = 0.14, variance 0.07."""
    found = Summary.of([0.1, 0.2, 0.6])
    assert found.n == 3
    assert found.mean == pytest.approx(0.3)
    assert found.std == pytest.approx(math.sqrt(0.07))
    assert found.error == pytest.approx(math.sqrt(0.07 / 3))
    assert found.text() == "30.00 ± 15.28"
    assert Summary.of([0.25]).text(signed=True) == "+25.00"
    assert Summary.of([]).text() == "none"


def test_differences_are_paired_by_seed_and_by_hand() -> None:
    """+0.02, -0.01, +0.05: mean 0.02, variance (0 + 0.0009 + 0.0009) / 2, error 0.03 / sqrt 3."""
    found = difference(records([0.7, 0.8, 0.6], [0.72, 0.79, 0.65]), "acc")
    assert found.mean == pytest.approx(0.02)
    assert found.std == pytest.approx(0.03)
    assert found.error == pytest.approx(0.03 / math.sqrt(3))
    assert found.text(signed=True) == "+2.00 ± 1.73"


def test_the_headline_is_what_validation_counted() -> None:
    made = records([0.7], [0.8])
    assert headline(made) == headline([]) == ("acc", "accuracy")
    for record in made:
        record["config"] = {"scoring": "balanced_accuracy"}
    assert headline(made) == ("balanced_acc", "balanced accuracy")
    assert values(made, "bes", "balanced_acc") == {}, "of records from before there was such a metric"


def test_the_order_of_the_records_does_not_matter() -> None:
    made = records([0.7, 0.8, 0.6], [0.72, 0.79, 0.65])
    assert difference(made[::-1], "acc") == difference(made, "acc")


def test_seeds_without_a_pair_or_a_value_are_left_out() -> None:
    made = records([0.5, 0.6, None, 0.7], [0.6, 0.8, 0.9])
    assert values(made, "control", "acc") == {0: 0.5, 1: 0.6, 3: 0.7}
    found = difference(made, "acc")
    assert found.n == 2
    assert found.mean == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (
            records([0.7] * 5, [0.72, 0.73, 0.71, 0.72, 0.72]),
            "Shaping changed test accuracy by +2.00 ± 0.32 points over 5 splits (standard error): a gain.",
        ),
        (
            records([0.72, 0.73, 0.71, 0.72, 0.72], [0.7] * 5),
            "Shaping changed test accuracy by -2.00 ± 0.32 points over 5 splits (standard error): a loss.",
        ),
        (
            records([0.7, 0.7, 0.7], [0.72, 0.73, 0.71]),
            "Shaping changed test accuracy by +2.00 ± 0.58 points over 3 splits (standard error): "
            "3 splits are too few to call it an effect.",
        ),
        (
            records([0.7, 0.8, 0.6], [0.72, 0.79, 0.65]),
            "Shaping changed test accuracy by +2.00 ± 1.73 points over 3 splits (standard error): no clear effect.",
        ),
        (
            records([0.7], [0.8]),
            "Shaping changed test accuracy by +10.00 points over 1 split: one split tells nothing about its noise.",
        ),
        (
            records([0.7, 0.8], [0.7, 0.8], steps=0),
            "Shaping changed test accuracy by +0.00 ± 0.00 points over 2 splits: "
            "no shaping step was taken, so the arms are the same.",
        ),
        (
            [{**one, "both_views": True} for one in records([0.7, 0.8], [0.71, 0.8], steps=0)],  # read otherwise
            "Shaping changed test accuracy by +0.50 ± 0.50 points over 2 splits (standard error): no clear effect.",
        ),
        (records([0.7], []), "No seed has both arms yet."),
        (records([None], [None]), "The test part has nothing to score: nothing can be said."),
        ([], "No seed has both arms yet."),
    ],
)
def test_verdicts(made: list[dict[str, Any]], sentence: str) -> None:
    assert verdict(made) == sentence


@pytest.mark.parametrize(("select", "metric", "name"), [("auc", "auroc", "AUC"), ("hits@50", "hits@50", "Hits@50")])
def test_links_are_judged_by_what_validation_selected(select: str, metric: str, name: str) -> None:
    made = [
        {
            "task": "link",
            "config": {"links": {"select": select}},
            "seed": seed,
            "arm": arm,
            "metrics": {"test": {"acc": 0.1, metric: value + seed / 100}},
            "steps": {"accepted": 1},
        }
        for arm, value in (("control", 0.5), ("bes", 0.6), ("cn", 0.4))
        for seed in range(5)
    ]
    assert (
        verdict(made) == f"Shaping changed test {name} by +10.00 ± 0.00 points over 5 splits (standard error): a gain."
    )
    assert difference(made, metric, arm="cn").mean == pytest.approx(-0.1)
