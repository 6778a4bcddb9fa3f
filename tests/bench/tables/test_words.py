from collections.abc import Callable

import pytest

from bes.bench.fill import FilledSheet
from bes.bench.model import ACCURACY, CONVERGENCE, Protocol
from bes.bench.tables import words

Build = Callable[..., FilledSheet]


def test_the_caption_names_metric_splits_and_tables(example: Build) -> None:
    assert words.about(example()) == (
        "Shown: accuracy in percent.",
        "Ours: mean ± standard error of 1 to 2 recorded splits; without ±, of one split.",
        "Paper: as printed in Table 1.",
    )


def test_several_metrics_are_listed_once_and_say_when_lower_is_better(build: Build) -> None:
    cells = {(row, column): (None, [1.0, 2.0], "") for row in "ab" for column in ("acc", "s")}
    metric = {cell: ACCURACY if cell[1] == "acc" else CONVERGENCE for cell in cells}
    assert words.about(build(cells, metric=metric)) == (
        "Shown: accuracy in percent and convergence, s (lower is better).",
        "Ours: mean ± standard error of 2 recorded splits.",
        "The paper prints no value for this table.",
    )


def test_a_sheet_with_nothing_to_run_has_no_metric_to_show(build: Build) -> None:
    filled = build({("a", "x"): ("1.00", [], "")}, why="no code", table="Table 7")
    assert words.about(filled) == (
        "Ours: mean ± standard error of the recorded splits.",
        "Paper: as printed in Table 7.",
    )


@pytest.mark.parametrize(
    ("about", "text"),
    [("Validation selects.", "Protocol p: Validation selects."), ("a\n b", "Protocol p: a b."), (" ", "Protocol p.")],
)
def test_the_protocol_is_one_sentence_on_one_line(about: str, text: str) -> None:
    assert words.protocol(Protocol("p", True, about)) == text


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c")]
)
def test_names_are_listed(names: list[str], text: str) -> None:
    assert words.listed(names) == text
