import numpy as np

from bes.outcomes import OUTCOMES, outcome_codes


def test_each_scored_node_has_the_outcome_that_its_predictions_have() -> None:
    rng = np.random.default_rng(0)
    y, control, bes = rng.integers(3, size=(3, 200))
    y[::7] = -1
    scored = np.flatnonzero((np.arange(200) % 2 == 0) & (y >= 0))
    codes = outcome_codes(y, control, bes, scored)
    for node in range(200):
        if node not in scored:
            assert codes[node] == -1
            continue
        named = {(True, True): "right in both", (False, True): "fixed by bes", (True, False): "broken by bes"}
        right = (bool(control[node] == y[node]), bool(bes[node] == y[node]))
        assert OUTCOMES[codes[node]] == named.get(right, "wrong in both")
