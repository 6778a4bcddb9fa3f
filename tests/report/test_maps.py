import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.outcomes import OUTCOMES
from bes.report import maps
from bes.report.maps import map_data, sample, seed_map
from bes.stored import StoredRun


@given(
    n=st.integers(1, 400),
    limit=st.integers(1, 300),
    classes=st.integers(1, 6),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_a_sample_holds_the_boundary_first_and_each_class_by_its_share(
    n: int, limit: int, classes: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    y, boundary = rng.integers(-1, classes, n), rng.random(n) < share
    found = sample(boundary, y, limit)
    assert len(found) == min(n, limit)
    assert (np.diff(found) > 0).all(), "in order, each once"
    if n <= limit:
        return
    drawn = np.isin(np.arange(n), found)
    assert drawn[boundary].all() or not drawn[~boundary].any()
    pool = ~boundary if boundary.sum() < limit else boundary
    rate = drawn[pool].sum() / pool.sum()
    for c in np.unique(y[pool]):
        group = pool & (y == c)
        assert abs(drawn[group].sum() - rate * group.sum()) <= 1 + 1e-9


def numbers(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_the_page_gets_back_what_was_mapped(stored: StoredRun) -> None:
    data = map_data(stored)
    assert [one["seed"] for one in data["seeds"]] == stored.seeds
    assert data["names"] == [str(i) for i in range(150)]
    assert data["classes"] == ["0", "1", "2"]
    assert data["what"] == "node"
    for one in data["seeds"]:
        full = seed_map(stored, one["seed"])
        layers = len(stored.rows(one["seed"])["between"]) + 1
        assert len(one["stages"]) == layers + 1
        for text, stage in zip(one["stages"], full["stages"], strict=True):
            found = numbers(text, "<u2").reshape(-1, 2) * one["step"] + one["low"]
            np.testing.assert_allclose(found, stage, atol=float(max(one["step"])))
        assert np.array_equal(numbers(one["label"], "<i2"), stored.graph.y.numpy())
        for arm, said in one["arms"].items():
            prob = stored.predictions(one["seed"], arm)["prob"]
            assert np.array_equal(numbers(said["guess"], "<i2"), prob.argmax(1))
            np.testing.assert_allclose(numbers(said["sure"], "<u1"), 100 * prob.max(1), atol=0.51)
        part = numbers(one["part"], "<u1")
        for place, name in enumerate(("train", "val", "test")):
            assert np.array_equal(np.flatnonzero(part == place), np.sort(stored.split(one["seed"])[name]))
        for text, layer in zip(one["rings"], stored.rows(one["seed"])["boundaries"], strict=True):
            assert np.array_equal(numbers(text, "<u4"), np.flatnonzero(layer))


def test_only_the_test_part_has_outcomes(stored: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "POINTS", 100)
    data = map_data(stored)
    assert data["outcomes"] == OUTCOMES
    y = stored.graph.y.tolist()
    for one in data["seeds"]:
        test = set(stored.split(one["seed"])["test"].tolist())
        guess = {arm: stored.predictions(one["seed"], arm)["prob"].argmax(1).tolist() for arm in ("control", "bes")}
        nodes = [int(data["names"][i]) for i in numbers(one["at"], "<u4")]
        said = {(True, True): 0, (False, True): 1, (True, False): 2, (False, False): 3}
        expected = [said[guess["control"][i] == y[i], guess["bes"][i] == y[i]] if i in test else -1 for i in nodes]
        assert numbers(one["outcome"], "<i1").tolist() == expected
        assert {-1, 0} < set(expected)


@pytest.mark.parametrize("missing", ["control", "bes"])
def test_a_seed_without_both_arms_has_no_outcomes(
    stored: StoredRun, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records: list[dict[str, Any]] = [r for r in stored.records if (r["seed"], r["arm"]) != (1, missing)]
    monkeypatch.setattr(stored, "records", records)
    first, second = map_data(stored)["seeds"]
    assert "outcome" in first
    assert "outcome" not in second
    assert set(second["arms"]) == {"control", "bes"} - {missing}


def test_a_large_graph_is_sampled_and_names_only_what_it_draws(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "POINTS", 60)
    data = map_data(stored)
    used: set[int] = set()
    for one in data["seeds"]:
        at = numbers(one["at"], "<u4")
        assert (one["drawn"], one["total"], len(at)) == (60, 150, 60)
        nodes = [int(data["names"][i]) for i in at]
        used |= set(nodes)
        ringed = set(np.flatnonzero(stored.rows(one["seed"])["boundaries"].any(0)).tolist())
        assert ringed <= set(nodes) or set(nodes) <= ringed
        assert np.array_equal(numbers(one["label"], "<i2"), stored.graph.y.numpy()[nodes])
    assert sorted(used) == [int(name) for name in data["names"]]


def test_seeds_are_left_out_where_the_page_would_grow_too_large(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(map_data(stored, seeds=1)["seeds"]) == 1
    monkeypatch.setattr(maps, "POSITIONS", 1)
    assert len(map_data(stored)["seeds"]) == 1


@pytest.mark.parametrize(
    ("name", "what", "classes"),
    [
        ("pairs", "pair", ["no link", "link"]),
        ("classes", "node", ["0", "1", "2"]),
        ("clusters", "node", [f"cluster {c}" for c in range(10)]),
        ("edge", "pair", ["different class", "same class"]),
    ],
)
def test_pair_tasks_map_what_was_shaped(
    pair_runs: dict[str, StoredRun], name: str, what: str, classes: list[str]
) -> None:
    data = map_data(pair_runs[name])
    one = data["seeds"][0]
    assert (data["what"], data["classes"]) == (what, classes)
    assert data["line"] == (len(classes) == 2)
    assert "arms" not in one
    rows = pair_runs[name].rows(0)
    label = pair_runs[name].graph.y.numpy() if name == "classes" else rows["label"]
    assert np.array_equal(numbers(one["label"], "<i2"), label)
    if what == "pair":
        at = numbers(one["at"], "<u4").reshape(-1, 2)
        assert [[int(data["names"][i]) for i in pair] for pair in at] == rows["pair"].tolist()
