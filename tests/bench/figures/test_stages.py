"""Embeddings by stage, with the boundary nodes that belong to each."""

import numpy as np
import pytest

from bes.bench.figures.stages import Stages, boundary_of, told
from bes.errors import InputError
from bes.stored import StoredRun


def test_the_stages_are_those_of_the_run(stored: StoredRun) -> None:
    stages, rows = Stages.of(stored, 0), stored.rows(0)
    assert len(stages.z) == len(stages.at) == 3
    np.testing.assert_array_equal(stages.z[1], rows["between"][0])
    np.testing.assert_array_equal(stages.at[:2], rows["boundaries"])
    np.testing.assert_array_equal(stages.y, stored.graph.y)


@pytest.mark.parametrize("layer", [0, 1])
def test_what_one_more_layer_would_find_is_found_as_the_shaper_finds_it(stored: StoredRun, layer: int) -> None:
    rows = stored.rows(0)
    z = [rows["before"], *rows["between"]][layer]
    again = boundary_of(stored, 0, z, rows)
    np.testing.assert_array_equal(np.sort(again.nodes), np.flatnonzero(rows["boundaries"][layer]))


def test_the_shaper_is_told_training_classes_alone(stored: StoredRun) -> None:
    labels, split = told(stored, 0, stored.rows(0)).numpy(), stored.split(0)
    np.testing.assert_array_equal(labels[split["train"]], stored.graph.y[split["train"]])
    assert (labels[split["val"]] == -1).all()
    assert (labels[split["test"]] == -1).all()


def test_of_many_rows_those_at_a_boundary_are_drawn_first(stored: StoredRun) -> None:
    stages = Stages.of(stored, 0)
    at = np.any(stages.at, axis=0)
    limit = int(at.sum()) + 12
    drawn = stages.drawn(limit)
    assert len(drawn) == limit < len(stages.y)
    assert at[drawn].sum() == at.sum()


def test_a_seed_that_was_not_run_is_refused(stored: StoredRun) -> None:
    with pytest.raises(InputError, match=r"no seed 7: use one of 0, 1"):
        Stages.of(stored, 7)
