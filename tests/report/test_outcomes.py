from typing import Any

import numpy as np
import pytest

from bes.report.outcomes import ARMS, class_names, outcomes
from bes.stored import StoredRun


def check(run: StoredRun) -> None:
    """Every seed, and the accuracy that its record says."""
    found = outcomes(run)
    assert [outcome.seed for outcome in found] == run.seeds
    for outcome in found:
        for arm in ARMS:
            record = next(r for r in run.records if r["seed"] == outcome.seed and r["arm"] == arm)
            assert len(outcome.truth) == len(outcome.items) == record["metrics"]["test"]["n"]
            assert outcome.right(arm).mean() == pytest.approx(record["metrics"]["test"]["acc"])
            assert outcome.prob[arm].shape == (len(outcome.truth), len(class_names(run)))
        assert not (outcome.fixed() & outcome.broken()).any()
        assert outcome.right("bes").sum() - outcome.right("control").sum() == (
            outcome.fixed().sum() - outcome.broken().sum()
        )


def test_nodes_are_judged_as_their_records_say(stored: StoredRun) -> None:
    check(stored)
    for outcome in outcomes(stored):
        assert np.array_equal(outcome.items[:, 0], stored.split(outcome.seed)["test"])


@pytest.mark.parametrize("name", ["pairs", "classes", "clusters", "edge"])
def test_pairs_are_judged_as_their_records_say(pair_runs: dict[str, StoredRun], name: str) -> None:
    check(pair_runs[name])
    assert outcomes(pair_runs[name])[0].items.shape[1] == 2


def test_classes_are_called_by_what_is_predicted(stored: StoredRun, pair_runs: dict[str, StoredRun]) -> None:
    assert class_names(stored) == ("0", "1", "2")
    assert class_names(pair_runs["classes"]) == ("no link", "link")
    assert class_names(pair_runs["edge"]) == ("different class", "same class")


def test_a_seed_without_both_arms_is_left_out(stored: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[dict[str, Any]] = [r for r in stored.records if (r["seed"], r["arm"]) != (1, "bes")]
    monkeypatch.setattr(stored, "records", records)
    assert [outcome.seed for outcome in outcomes(stored)] == [0]
