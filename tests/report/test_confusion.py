import numpy as np

from bes.report.confusion import confusion, matrices
from bes.report.outcomes import Outcome, outcomes
from bes.stored import StoredRun


def made(seed: int, n: int = 40, classes: int = 4) -> Outcome:
    """An outcome of random predictions."""
    rng = np.random.default_rng(seed)
    prob = {arm: rng.dirichlet(np.ones(classes), n) for arm in ("control", "bes")}
    guess = {arm: p.argmax(1) for arm, p in prob.items()}
    return Outcome(seed, np.arange(n)[:, None], rng.integers(0, classes, n), prob, guess)


def test_counts_are_those_of_a_loop_over_seeds_and_nodes() -> None:
    found = [made(seed) for seed in range(3)]
    for arm in ("control", "bes"):
        expected = np.zeros((4, 4), dtype=int)
        for outcome in found:
            for truth, guess in zip(outcome.truth, outcome.guess[arm], strict=True):
                expected[truth, guess] += 1
        assert np.array_equal(confusion(found, arm, 4), expected)


def test_the_diagonal_is_what_records_call_right(stored: StoredRun) -> None:
    found = outcomes(stored)
    right = sum(r["metrics"]["test"]["acc"] * r["metrics"]["test"]["n"] for r in stored.records if r["arm"] == "bes")
    assert confusion(found, "bes", 3).trace() == round(right)
    assert confusion(found, "bes", 3).sum() == sum(len(outcome.truth) for outcome in found)


def test_cells_have_counts_shares_and_a_signed_difference() -> None:
    found = [made(0)]
    table = matrices(found, ["a", "b"])
    assert table is not None
    assert table["names"] == ["a", "b", "2", "3"], "classes without a name keep their numbers"
    control, bes, change = (np.array([[cell["n"] for cell in row] for row in t["rows"]]) for t in table["tables"])
    assert np.array_equal(change, bes - control)
    shade = np.array([[cell["shade"] for cell in row] for row in table["tables"][0]["rows"]])
    np.testing.assert_allclose(shade, control / control.sum(1, keepdims=True), atol=1e-3)
    signs = np.array([[cell["shade"] for cell in row] for row in table["tables"][2]["rows"]])
    assert np.array_equal(np.sign(signs), np.sign(change))
    assert np.abs(signs).max() == 1


def test_without_a_test_part_there_is_no_matrix() -> None:
    assert matrices([], ["a"]) is None
