"""What ranks cannot do is refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bes.config import RunConfig
from bes.errors import InputError
from bes.pipeline.ranks import check_ranks


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"task": "link"}, "--task link"),
        ({"methods": "gcn"}, "--method"),
        ({"rivals": "gcn"}, "--rivals"),
        ({"preset": "strong"}, "--preset strong"),
        ({"crossfit": 3}, "crossfit"),
        ({"encoders": {"keep": 1}}, "encoders.keep"),
        ({"encoders": {"names": "gcn,gat,gatv2"}}, "encoder gat, gatv2"),
        ({"decoder": {"norm": "batch"}}, "decoder.norm=batch"),
        ({"selection": "test-peek"}, "selection=test-peek"),
        ({"scoring": "balanced_accuracy"}, "scoring=balanced_accuracy"),
    ],
)
def test_what_one_process_alone_can_do_is_refused(
    quick: Callable[..., RunConfig], given: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=f"cannot do {named}.* yet: leave it out"):
        check_ranks(quick(**given), 1, None)


@pytest.mark.parametrize(("jobs", "log", "named"), [(2, None, "--jobs"), (1, "csv", "--log")])
def test_options_of_one_process_are_refused(
    quick: Callable[..., RunConfig], jobs: int, log: str | None, named: str
) -> None:
    with pytest.raises(InputError, match=named):
        check_ranks(quick(), jobs, log)


def test_a_usual_run_is_not_refused(quick: Callable[..., RunConfig]) -> None:
    check_ranks(quick(encoders={"names": "gcn,cheb,sage,mlp,kgnn,sgc,ssgc"}, shaper={"scope": "neighbors"}), 1, None)
