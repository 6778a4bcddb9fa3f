import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bes.bench.fill import FilledSheet
from bes.bench.tables import to_markdown
from bes.errors import InputError

Build = Callable[..., FilledSheet]

EXAMPLE = r"""### Nodes

Protocol validation: Validation selects.

|  | Cora: paper | Cora: ours | Cora: ours - paper | Own: ours |
| --- | ---: | ---: | ---: | ---: |
| GCN | 81.50 | *82.00 ± 1.00* | +0.50 | 70.00 |
| BES | 89.46 | **88.25 ± 0.25** | -1.21 | data set absent |
| R&amp;D\_1 | OOM | 91.00 ± 0.58 (3 of 5 splits) | none | method not built yet |

Shown: accuracy in percent. Ours: mean ± standard error of 1 to 2 recorded splits; without ±, of one split. Paper: as printed in Table 1. Bold: the best of ours in its column, among cells with every split; Italic: the second.

Note: Own is ours.
"""  # noqa: E501


def columns(row: str) -> int:
    """How many cells a row of a table has: escaped pipes are text."""
    return re.sub(r"\\.", "", row).count("|") - 1


def test_the_example_word_for_word(example: Build) -> None:
    assert to_markdown(example()) == EXAMPLE


def test_the_heading_has_the_level_asked_for(example: Build) -> None:
    assert to_markdown(example(), level=2).startswith("## Nodes\n")
    with pytest.raises(InputError, match="level 7"):
        to_markdown(example(), level=7)


def test_a_protocol_that_is_not_honest_is_marked(example: Build) -> None:
    text = to_markdown(example(honest=False))
    heading, _, _, _, head = text.splitlines()[:5]
    assert heading == "### Nodes **NOT HONEST: test-peek**"
    assert head.count("ours (test-peek)") == head.count("ours") == 3
    assert "NOT HONEST" not in to_markdown(example())


def test_a_sheet_without_a_note_ends_with_its_caption(build: Build) -> None:
    text = to_markdown(build({("a", "x"): ("1.00", [2.0], "")}))
    assert text.endswith("Paper: as printed in Table 1.\n")


@given(row=st.text(), column=st.text(), printed=st.text(), problem=st.text(), title=st.text())
def test_any_text_keeps_the_columns(
    build: Build, row: str, column: str, printed: str, problem: str, title: str
) -> None:
    filled = build({(row, column): (printed, [], problem), ("b", column): (None, [1.0], problem)}, title=title)
    lines = to_markdown(filled).splitlines()
    expected = 2 + 2 + len(filled.sheet.rows)
    assert lines[0].startswith("###")
    assert [columns(line) for line in lines[4 : expected + 2]] == [4] * (expected - 2)
    assert lines[expected + 2] == ""


@given(name=st.text(alphabet="\\|*_`[]#<>& a"))
def test_a_name_is_read_as_it_was_given(build: Build, name: str) -> None:
    row = to_markdown(build({(name, "x"): (None, [1.0], "")})).splitlines()[6]
    cell = re.match(r"\| ((?:\\.|[^|\\])*) \|", row)
    assert cell is not None
    plain = re.sub(r"\\(.)", r"\1", cell[1])
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        plain = plain.replace(entity, sign)
    assert plain == " ".join(name.split())
