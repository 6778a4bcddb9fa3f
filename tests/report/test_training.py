from typing import Any

import pytest

from bes.report.training import EPOCHS, FEW, POINTS, curves, times, told
from bes.stored import StoredRun


def row(layer: int, iteration: int, accepted: bool, moved: float) -> dict[str, Any]:
    return {"layer": layer, "iteration": iteration, "loss": 2.0 - iteration / 1e4, "displacement": moved} | {
        "accepted": accepted
    }


def test_steps_are_told_apart_by_layer() -> None:
    history = [row(1, 0, True, 1.0), row(1, 1, False, 1.0), row(2, 0, False, 0.0), row(2, 1, True, 2.0)]
    found = curves(history)
    assert found is not None
    assert [one["count"] for one in found["layers"]] == [
        {"kept": 1, "refused": 1, "none": 0},
        {"kept": 1, "refused": 0, "none": 1},
    ]
    assert list(found["seen"]) == ["kept", "refused", "none"]
    for one, styles in zip(found["layers"], (["kept", "refused"], ["kept", "none"]), strict=True):
        assert len(one["charts"]) == 2, "loss and displacement"
        for drawn in one["charts"]:
            assert [path["style"] for path in drawn.paths] == styles
            assert [path["d"].count("M") for path in drawn.paths] == [1, 1]
            assert drawn.lines[0]["points"].count(",") == 2


def test_long_histories_are_thinned_but_rare_steps_are_all_drawn() -> None:
    n = 10 * POINTS
    rare = set(range(5, n, n // 20))
    found = curves([row(1, i, i not in rare, 1.0) for i in range(n)])
    assert found is not None
    one = found["layers"][0]
    assert one["every"] == 10
    assert one["count"]["refused"] == len(rare) <= FEW
    for drawn in one["charts"]:
        marks = {path["style"]: path["d"].count("M") for path in drawn.paths}
        assert marks["refused"] == len(rare)
        assert marks["kept"] <= POINTS
        assert drawn.lines[0]["points"].count(",") == POINTS


def test_shaping_of_encoders_has_its_own_charts() -> None:
    history = [
        {
            "layer": 1,
            "iteration": i,
            "loss": 1.0 / (i + 1),
            "score": i / 4,
            "displacement": 0.1,
            "share": 0.3,
            "joined": i,
        }
        for i in range(4)
    ]
    found = curves(history)
    assert found is not None
    charts = found["layers"][0]["charts"]
    assert [drawn.title for drawn in charts] == list(EPOCHS.values())
    assert all(drawn.lines[0]["points"].count(",") == 4 and not drawn.paths for drawn in charts)


def test_without_iterations_there_are_no_curves() -> None:
    assert curves([]) is None


def test_a_run_has_the_steps_of_its_records(stored: StoredRun) -> None:
    for seed in stored.seeds:
        found = curves(stored.history(seed))
        assert found is not None
        steps = next(r["steps"] for r in stored.records if r["seed"] == seed and r["arm"] == "bes")
        assert sum(one["count"]["kept"] for one in found["layers"]) == steps["accepted"]
        assert sum(sum(one["count"].values()) for one in found["layers"]) == steps["tried"]


def test_times_are_means_over_seeds_and_shares_of_the_slowest() -> None:
    records = [
        {"arm": arm, "peak_mib": peak, "seconds": {"encoders": enc, "shaping": shaping, "decoder": 2.0}}
        for arm, enc, shaping, peak in (
            ("cn", 0.0, 0.0, None),
            ("control", 1.0, 0.0, 50.0),
            ("control", 3.0, 0.0, 70.0),
            ("bes", 2.0, 4.0, 60.0),
        )
    ]
    found = times(records)
    assert [one["arm"] for one in found["arms"]] == ["control", "bes", "cn"]
    control, bes, _ = found["arms"]
    assert control["seconds"] == {"encoders": 2.0, "shaping": 0.0, "decoder": 2.0, "evaluate": 0.0}
    assert sum(bes["shares"].values()) == pytest.approx(100)
    assert sum(control["shares"].values()) == pytest.approx(50)
    assert found["peak"] == 70.0


def test_what_was_decided_is_told() -> None:
    guard = {"better": 0.25, "asked": 0.2, "gain": 0.01, "error": 0.01, "best_epoch": 3}
    record: dict[str, Any] = {
        "teacher": "alike",
        "both_views": True,
        "trust": {"explained": 0.0, "weighted": False},
        "guard": guard,
        "selected_epoch": {"shaping": 3},
    }
    read_so = "Predictions are read from the graph and from nodes that look alike. "
    assert told(record) == (
        f"Teacher: alike. {read_so}On validation 25% of the epochs were better than the encoders as they came, where "
        "20% were asked for. Epoch 3 was kept."
    )
    assert told({**record, "both_views": False}) == told(record).replace(read_so, "")
    del record["both_views"]  # records of before
    assert read_so not in told(record)
