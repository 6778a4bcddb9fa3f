from collections.abc import Callable
from dataclasses import replace

import pytest

from bes.bench.fill import FilledSheet
from bes.bench.model import ACCURACY, CONVERGENCE, F1
from bes.bench.tables.grid import Group, Line, Text, lay_out

Build = Callable[..., FilledSheet]


def ours(filled: FilledSheet, column: int = 0) -> list[Text]:
    """What the rows show of ours in a column."""
    return [line.groups[column][len(line.groups[column]) // 2] for line in lay_out(filled).lines]


def marks(build: Build, *means: float, **given: object) -> list[str]:
    """The marks of a column of complete cells."""
    return [
        text.mark for text in ours(build({(f"m{i}", "Cora"): (None, [m], "") for i, m in enumerate(means)}, **given))
    ]


def test_the_example_is_laid_out_as_it_is_read(example: Build) -> None:
    grid = lay_out(example())
    assert grid.groups == (Group("Cora", ("paper", "ours", "ours - paper")), Group("Own", ("ours",)))
    assert grid.lines == (
        Line("GCN", ((Text("81.50"), Text("82.00 ± 1.00", "second"), Text("+0.50")), (Text("70.00"),))),
        Line(
            "BES",
            (
                (Text("89.46"), Text("88.25 ± 0.25", "best"), Text("-1.21")),
                (Text("data set absent", "missing"),),
            ),
        ),
        Line(
            "R&D_1",
            (
                (Text("OOM"), Text("91.00 ± 0.58", "partial", "3 of 5 splits"), Text("none", "missing")),
                (Text("method not built yet", "missing"),),
            ),
        ),
    )


def test_every_line_has_a_text_for_every_head_and_none_is_empty(example: Build) -> None:
    grid = lay_out(example())
    for line in grid.lines:
        assert [len(group) for group in line.groups] == [len(group.heads) for group in grid.groups]
        assert all(text.text for group in line.groups for text in group)


def test_ties_share_a_mark_and_the_next_value_is_second(build: Build) -> None:
    assert marks(build, 90.0, 80.0, 90.0, 85.0, 85.0) == ["best", "", "best", "second", "second"]


def test_what_looks_equal_is_a_tie(build: Build) -> None:
    assert marks(build, 90.001, 90.004, 89.99) == ["best", "best", "second"]


def test_lower_is_better_for_seconds(build: Build) -> None:
    assert marks(build, 3.0, 1.0, 2.0, metric=CONVERGENCE) == ["", "best", "second"]


def test_one_complete_cell_is_no_best(build: Build) -> None:
    assert marks(build, 90.0) == [""]
    alone = build({("a", "Cora"): (None, [90.0], ""), ("b", "Cora"): (None, [80.0], "1 of 5 splits")})
    assert [text.mark for text in ours(alone)] == ["", "partial"]


def test_different_metrics_and_broken_numbers_are_not_ordered(build: Build) -> None:
    metrics = {("m0", "Cora"): ACCURACY, ("m1", "Cora"): F1}
    assert marks(build, 90.0, 80.0, metric=metrics) == ["", ""]
    assert marks(build, float("nan"), 90.0, 80.0) == ["", "best", "second"]


def test_each_column_has_its_own_best(build: Build) -> None:
    filled = build(
        {(row, col): (None, [v], "") for row, col, v in (("a", "x", 1), ("b", "x", 2), ("a", "y", 4), ("b", "y", 3))}
    )
    assert [[text.mark for text in ours(filled, column)] for column in (0, 1)] == [
        ["second", "best"],
        ["best", "second"],
    ]


def test_a_partial_cell_keeps_its_difference_and_says_so(build: Build) -> None:
    filled = build({("BES", "Cora"): ("90.00", [91.0, 92.0], "2 of 5 splits")})
    texts = (Text("90.00"), Text("91.50 ± 0.50", "partial", "2 of 5 splits"), Text("+1.50", "partial"))
    assert lay_out(filled).lines == (Line("BES", (texts,)),)
    assert [text.full for text in texts] == ["90.00", "91.50 ± 0.50 (2 of 5 splits)", "+1.50"]


def test_a_tiny_loss_is_not_a_negative_zero(build: Build) -> None:
    filled = build({("BES", "Cora"): ("90.00", [89.999], "")})
    assert lay_out(filled).lines[0].groups[0][2] == Text("+0.00")


@pytest.mark.parametrize(
    ("problem", "why", "text"),
    [("", "", "not measured yet"), (" ", "", "not measured yet"), ("", "no code", "no code"), ("x", "y", "x")],
)
def test_missing_is_said_in_words(build: Build, problem: str, why: str, text: str) -> None:
    assert ours(build({("BES", "Cora"): (None, [], problem)}, why=why)) == [Text(text, "missing")]


def test_a_hole_of_the_sheet_and_an_unprinted_cell_have_words(build: Build) -> None:
    filled = build({("a", "x"): ("1.00", [2.0], ""), ("b", "x"): (None, [3.0], ""), ("b", "y"): (None, [4.0], "")})
    first, second = lay_out(filled).lines
    assert first.groups[1] == (Text("not asked for", "missing"),)
    assert second.groups[0][0] == Text("not printed", "missing")
    assert second.groups[0][2] == Text("none", "missing")


def test_what_the_paper_prints_without_a_number_is_kept(build: Build) -> None:
    filled = build({("a", "x"): ("OOM", [2.0], "")})
    assert lay_out(filled).lines[0].groups[0] == (Text("OOM"), Text("2.00"), Text("none", "missing"))


def test_a_protocol_that_is_not_honest_is_named_by_every_head_of_ours(example: Build) -> None:
    grid = lay_out(example(honest=False))
    assert grid.warning == "NOT HONEST: test-peek"
    assert grid.groups[0].heads == ("paper", "ours (test-peek)", "ours (test-peek) - paper")
    assert grid.groups[1].heads == ("ours (test-peek)",)
    assert lay_out(example()).warning == ""


def test_the_legend_names_only_the_marks_that_are_there(build: Build, example: Build) -> None:
    best = "Bold: the best of ours in its column, among cells with every split"
    assert lay_out(example()).legend("Bold", "Italic") == f"{best}; Italic: the second."
    tie = build({("a", "x"): (None, [1.0], ""), ("b", "x"): (None, [1.0], "")})
    assert lay_out(tie).legend("Bold", "Italic") == f"{best}."
    assert lay_out(build({("a", "x"): (None, [1.0], "")})).legend("Bold", "Italic") == ""


def test_a_sheet_without_cells_is_an_empty_grid(example: Build) -> None:
    filled = example()
    grid = lay_out(FilledSheet(replace(filled.sheet, cells=()), ()))
    assert (grid.groups, grid.lines) == ((), ())
